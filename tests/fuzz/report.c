/* Any bytes as what a process of a pool writes: lines are the same however they are cut into
 * pieces, and whatever is taken from one is what it says. */
#include "fuzz.h"

#include "agents/lines.h"
#include "agents/pool/report.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LINE = 1 << 14, MAX_DEPTH = 256 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

struct hub_listener {
    struct report_reader reader;
    struct json_reader again;
    uint64_t sum; /* of what was understood */
    size_t n;
};

static void add(struct hub_listener *l, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        l->sum = (l->sum ^ (unsigned char)s.p[i]) * 0x100000001b3;
    l->sum += s.n;
}

static void check_report(struct hub_listener *l, const struct report *r)
{
    struct json json;

    if (r->kind == REPORT_READY)
        return;
    if (r->kind == REPORT_CALL) {
        check(r->call.n > 0 && (r->answer.p == NULL) != (r->error.p == NULL), "no answer");
        check(str_find(r->answer, '\n') == r->answer.n, "an answer of two lines");
        check(r->answer.p == NULL || json_read(&l->again, r->answer, &json, NULL) == 0,
              "an answer that is no JSON");
        return;
    }
    check(r->job.n > 0 && r->attempt >= 0, "about no job");
    if (r->kind == REPORT_EVENT) {
        check(str_find(r->event, '\n') == r->event.n, "an event of two lines");
        check(json_read(&l->again, r->event, &json, NULL) == 0, "an event that is no JSON");
        check(yyjson_is_ctn(json.root), "an event that is no object and no list");
    }
    if (r->kind == REPORT_FINISH)
        check((r->finish.end != JOB_END_NONE) != r->finish.interrupted, "an end that is none");
}

static void on_line(void *arg, struct str line)
{
    struct hub_listener *l = arg;
    struct report r;
    struct error err = { 0 };

    l->n++;
    check(str_find(line, '\n') == line.n, "two lines at a time");
    add(l, report_job(&l->reader, line));
    int code = report_read(&l->reader, line, &r, &err);
    check((code != 0) == (err.code != 0), "an error without words, or words without an error");
    if (code != 0)
        return;
    check_report(l, &r);
    add(l, r.job);
    add(l, r.event);
    add(l, r.call);
    add(l, r.answer);
    add(l, r.error);
    add(l, r.finish.error);
    l->sum += (uint64_t)r.attempt * 31 + (uint64_t)r.kind + (uint64_t)r.finish.end;
}

/* In pieces of @step bytes.  Returns what lines_put said, or 0. */
static int listen_in(struct str bytes, size_t step, struct hub_listener *ret)
{
    struct lines lines;
    int err = 0;

    *ret = (struct hub_listener){ 0 };
    report_reader_init(&ret->reader, MAX_LINE);
    json_reader_init(&ret->again, 2 * MAX_LINE, MAX_DEPTH);
    lines_init(&lines, MAX_LINE, on_line, ret);
    for (size_t i = 0; i < bytes.n && err == 0; i += step)
        err = lines_put(&lines, str_head(str_skip(bytes, i), step));
    if (err == 0)
        lines_end(&lines);
    lines_done(&lines);
    json_reader_done(&ret->again);
    report_reader_done(&ret->reader);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);
    struct hub_listener whole, pieces;
    int err = listen_in(bytes, size + 1, &whole);

    check(listen_in(bytes, 1 + size % 7, &pieces) == err, "the pieces make a difference");
    check(whole.n == pieces.n && whole.sum == pieces.sum, "pieces are understood otherwise");
    return 0;
}
