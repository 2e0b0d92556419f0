/* Schedules against a table that croniter has made (make_cases.py).
 *
 *     cron_test cron_cases.tsv */
#include "base/error.h"
#include "schedule/cron.h"
#include "schedule/zone.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LINE = 500 };

static struct str take_column(struct str *line)
{
    size_t at = str_find(*line, '\t');
    struct str column = str_head(*line, at);

    *line = str_skip(*line, at + 1);
    return column;
}

static bool has_ticks(const struct cron *cron,
                      const struct zone *zone,
                      int64_t at,
                      struct str line)
{
    while (line.n > 0) {
        struct str want = take_column(&line);
        int64_t tick = 0, seconds = 0;
        bool is_there = cron_next(cron, zone, at, &tick);

        if (str_is(want, "never"))
            return !is_there;
        if (!str_number(want, &seconds) || !is_there || tick != seconds * 1000) {
            printf("# after %lld: %lld, not %.*s\n", (long long)at / 1000,
                   is_there ? (long long)tick / 1000 : -1, STR_ARG(want));
            return false;
        }
        at = tick;
    }
    return true;
}

static bool is_right(struct str line)
{
    struct str text = take_column(&line), name = take_column(&line), start = take_column(&line);
    struct zone *zone = NULL;
    struct cron cron;
    int64_t at = 0;

    if (str_is(line, "invalid"))
        return cron_parse(text, &cron, NULL) == ERR_TYPE;
    if (cron_parse(text, &cron, NULL) != 0 || !str_number(start, &at))
        return false;
    if (!str_is(name, "UTC") && zone_open(name, &zone, NULL) != 0)
        return false;
    bool ok = has_ticks(&cron, zone, at * 1000, line);
    zone_free(zone);
    return ok;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;
    char line[MAX_LINE];
    int n = 0, n_wrong = 0;

    if (f == NULL)
        return EXIT_FAILURE;
    while (fgets(line, sizeof(line), f) != NULL) {
        struct str text = str_head(str_of(line), strcspn(line, "\n"));

        n++;
        if (is_right(text))
            continue;
        n_wrong++;
        printf("# wrong: %.*s\n", STR_ARG(text));
    }
    (void)fclose(f); /* it was only read */
    printf("%s 1 - %d of %d schedules have croniter's ticks\n1..1\n",
           n > 0 && n_wrong == 0 ? "ok" : "not ok", n - n_wrong, n);
    return n > 0 && n_wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
