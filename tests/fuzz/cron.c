/* Any text as a schedule, as the time at which it ends, and as the file of a time zone: what is
 * taken has ticks that come one after the other, and a refusal has a sentence.
 *
 * Up to the first newline it is the schedule, behind it the file. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/calendar.h"
#include "base/error.h"
#include "schedule/cron.h"
#include "schedule/zone.h"

#include <stdlib.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void expect_order(const struct cron *cron, const struct zone *zone, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t next = 0;

        if (!cron_next(cron, zone, at, &next))
            return;
        check(next > at && next % 1000 == 0);
        at = next;
    }
}

static void expect_times(const struct zone *zone, int64_t local)
{
    int64_t times[2] = { 0, 0 };
    int n = zone_times(zone, local, times);

    for (int i = 0; i < n; i++)
        check(times[i] + zone_offset(zone, times[i]) == local);
}

/* A time that was read is the same when it is written and read again. */
static void expect_same_time(struct str text)
{
    struct buf b LOCAL_BUF(100);
    int64_t at = 0, again = 0;

    if (!calendar_read(text, &at))
        return;
    calendar_put(&b, at);
    check(calendar_read(buf_text(&b), &again) && again == at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size),
               line = str_head(text, str_find(text, '\n'));
    struct zone *zone = NULL;
    struct error err = { 0 };
    struct cron cron;

    expect_same_time(line);
    if (zone_parse(str_skip(text, line.n + 1), &zone) == 0)
        expect_times(zone, INT64_C(1774747800));
    if (cron_parse(line, &cron, &err) == 0) {
        expect_order(&cron, NULL, INT64_C(1774747800000));
        if (zone != NULL)
            expect_order(&cron, zone, INT64_C(1774747800000));
    } else {
        check(err.text[0] != '\0');
    }
    zone_free(zone);
    return 0;
}
