/* Every property (support/properties.c) over every recording.
 *
 *     properties FILE...
 *
 * One line is printed for each property, and one for each file in which it failed. */
#include "support/properties.h"

#include <stdio.h>
#include <string.h>

enum { SHORT = 60 }; /* messages: of such recordings the frames are read as input, too */

struct suite {
    size_t passed[N_PROPERTIES], failed[N_PROPERTIES];
    size_t unplayed; /* recordings that could not even be played */
};

static void check_test(struct suite *s, struct test *t)
{
    for (size_t i = 0; i < N_PROPERTIES; i++) {
        const struct property *p = &properties[i];

        if (p->once && t->setting->field_limit != 0)
            continue;
        const char *why = p->holds(t);
        s->passed[i] += why == NULL;
        s->failed[i] += why != NULL;
        if (why != NULL)
            printf("not ok %s: %s, %s: %s\n", p->name, t->in.path, t->setting->name, why);
    }
    (void)fflush(stdout); /* so that a crash is seen behind the recording before */
}

/* What we write is also what we read: the same job again, from its own frames. */
static void check_as_input(struct suite *s, const struct test *t)
{
    static const size_t formats[] = { VIEW_AGENT, VIEW_ENVELOPE, VIEW_MESSAGES, VIEW_AIQ };

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char name[300];
        struct recording in;
        struct test again;

        (void)snprintf(name, sizeof(name), "%s as %s", t->in.path, views[formats[i]].name);
        recording_init(&in, name, buf_text(&t->play.frames_of[formats[i]].bytes));
        const char *wrong = test_init(&again, in, t->setting);
        s->unplayed += wrong != NULL;
        if (wrong != NULL)
            printf("not ok %s: %s\n", name, wrong);
        else
            check_test(s, &again);
        test_done(&again);
    }
}

static void check_file(struct suite *s, const char *path, const struct setting *setting)
{
    struct recording in;
    struct test t;

    if (!recording_open(&in, path)) {
        printf("not ok %s: cannot be read\n", path);
        s->unplayed++;
        return;
    }
    in.path = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    const char *wrong = test_init(&t, in, setting);
    s->unplayed += wrong != NULL;
    if (wrong != NULL)
        printf("not ok %s, %s: %s\n", in.path, setting->name, wrong);
    else
        check_test(s, &t);
    if (wrong == NULL && t.in.n_cuts <= SHORT)
        check_as_input(s, &t);
    test_done(&t);
}

int main(int argc, char **argv)
{
    static const struct setting settings[] = {
        { "as triage", { "triage", 6 }, 0 },
        { "as other, with small fields", { "other", 5 }, 48 },
    };
    struct suite suite = { 0 };
    size_t passed = 0;

    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
            check_file(&suite, argv[i], &settings[k]);
    size_t failed = suite.unplayed;
    for (size_t i = 0; i < N_PROPERTIES; i++) {
        if (suite.failed[i] == 0)
            printf("ok %s (%zu jobs)\n", properties[i].name, suite.passed[i]);
        passed += suite.passed[i];
        failed += suite.failed[i];
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
