/* Any bytes from a worker, through the whole pipeline, read the way strict clients would.
 *
 * The first byte chooses settings, how the job ends and where its fold is rebuilt.  Whatever
 * a worker sends: frames are valid and cannot be forged, every start has its end once the
 * job has one, nothing follows the end, stored records read back, and a rebuilt fold goes on
 * with the same bytes. */
#include "fuzz.h"

#include "base/error.h"
#include "support/ledger.h"
#include "support/play.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 1 << 16 };

static void check(const char *wrong, size_t view, struct str bytes)
{
    if (wrong == NULL)
        return;
    fprintf(stderr, "%s: %s: %.*s\n", views[view].name, wrong, STR_ARG(bytes));
    abort();
}

static struct play_options options_of(uint8_t choice)
{
    return (struct play_options){
        .agent = (choice & 1) != 0 ? STR("other") : STR("triage"),
        .field_limit = (choice & 2) != 0 ? 24 : 0,
        .render = true,
    };
}

static enum job_end end_of(uint8_t choice)
{
    static const enum job_end ends[] = { JOB_END_NONE, JOB_END_FAILED, JOB_END_CANCELLED,
                                         JOB_END_SUCCEEDED };

    return ends[choice >> 2 & 3];
}

static size_t next_line(struct str bytes, size_t from)
{
    size_t n = str_find(str_skip(bytes, from), '\n');

    return from + n < bytes.n ? from + n + 1 : bytes.n;
}

/* Line by line, each at its own time. */
static void feed(struct play *p, struct str bytes, size_t from, size_t to)
{
    while (from < to) {
        size_t next = next_line(bytes, from);
        int err = play_feed(p, str_make(bytes.p + from, next - from), (int64_t)from);

        check(err == 0 ? NULL : "cannot be fed", 0, bytes);
        from = next;
    }
}

static void end(struct play *p, struct str bytes, uint8_t choice)
{
    int err = play_end(p, (int64_t)bytes.n);

    if (err == 0 && end_of(choice) != JOB_END_NONE && !fold_ended(p->fold))
        err = play_finish(p, end_of(choice), STR_NONE, (int64_t)bytes.n);
    check(err == 0 ? NULL : "cannot be ended", 0, bytes);
}

/* --- the oracles ---------------------------------------------------------------------- */

static void check_record(const struct play *p, size_t view, size_t i, struct ledger *ledger)
{
    struct str frames = tape_at(&p->frames_of[view], i), rest = frames;
    size_t n = 0;

    while (rest.n > 0) {
        struct sse_frame frame;
        struct entry entry;

        check(sse_frame_next(&rest, &frame) ? NULL : "not an SSE frame", view, frames);
        check(ledger_read_frame(view, frame.event, frame.data, p->opt.job, &entry), view,
              frames);
        check(ledger_take(ledger, &entry), view, frames);
        n++;
    }
    check(view == VIEW_AIQ && n > 1 ? "more than one frame" : NULL, view, frames);
}

static void check_frames(const struct play *p)
{
    for (size_t view = 0; view < N_VIEWS; view++) {
        struct ledger ledger;

        ledger_init(&ledger);
        for (size_t i = 0; i < p->stored.n; i++)
            check_record(p, view, i, &ledger);
        if (fold_ended(p->fold))
            check(ledger_settle(&ledger, view), view, STR("the end"));
        ledger_done(&ledger);
    }
}

static void check_closed(struct play *p)
{
    size_t n = p->stored.n;

    if (!fold_ended(p->fold))
        return;
    check(play_finish(p, JOB_END_FAILED, STR("x"), 0) == ERR_CLOSED ? NULL : "ends twice", 0,
          STR(""));
    check(play_feed(p, STR("{\"type\":\"job.update\",\"data\":{}}\n"), 0) == 0 &&
                  p->stored.n == n
              ? NULL
              : "goes on after its end",
          0, STR(""));
}

static void same(const struct tape *whole, const struct tape *tail, size_t view)
{
    size_t from = whole->n - tail->n;

    check(tail->n <= whole->n ? NULL : "a rebuilt fold gives more records", view, STR(""));
    for (size_t i = 0; i < tail->n; i++)
        check(str_eq(tape_at(tail, i), tape_at(whole, from + i))
                  ? NULL
                  : "a rebuilt fold goes on with other bytes",
              view, tape_at(tail, i));
}

/* A message of server-sent events that is cut in two is lost, so those are cut elsewhere. */
static bool can_cut(struct str bytes, size_t at)
{
    bool lines = true;

    for (size_t from = 0; from < bytes.n && lines; from = next_line(bytes, from))
        lines = bytes.p[from] == '{' || bytes.p[from] == '[';
    return lines || (at >= 2 && bytes.p[at - 2] == '\n');
}

/* Rebuilt after the @n records that the bytes before @cut gave. */
static void check_rebuild(const struct play *whole,
                          struct str bytes,
                          size_t cut,
                          size_t n,
                          uint8_t choice)
{
    struct loaded loaded;
    struct play p;

    play_init(&p, whole->opt);
    check(loaded_init(&loaded, &whole->stored), 0, STR("loading"));
    for (size_t i = 0; i < n; i++) {
        struct record rec = *loaded.rec[i];

        rec.header = NULL;
        check(fold_replay(p.fold, &rec) == 0 ? NULL : "cannot be replayed", 0,
              tape_at(&whole->stored, i));
    }
    feed(&p, bytes, cut, bytes.n);
    end(&p, bytes, choice);
    check(n + p.stored.n == whole->stored.n ? NULL
                                            : "a rebuilt fold gives fewer or more records",
          0, bytes);
    same(&whole->stored, &p.stored, 0);
    for (size_t view = 0; view < N_VIEWS; view++)
        same(&whole->frames_of[view], &p.frames_of[view], view);
    loaded_done(&loaded);
    play_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play p;

    if (size < 1 || size > MAX_BYTES)
        return 0;
    uint8_t choice = data[0];
    struct str bytes = str_make((const char *)data + 1, size - 1);
    size_t cut = next_line(bytes, (size_t)(choice >> 4) * bytes.n / 16);

    play_init(&p, options_of(choice));
    feed(&p, bytes, 0, cut);
    size_t n = p.stored.n;
    feed(&p, bytes, cut, bytes.n);
    end(&p, bytes, choice);
    check_frames(&p);
    if (can_cut(bytes, cut))
        check_rebuild(&p, bytes, cut, n, choice);
    check_closed(&p);
    play_done(&p);
    return 0;
}
