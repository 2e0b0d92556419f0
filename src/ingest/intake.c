#include "ingest/intake.h"

#include "base/json.h"
#include "base/utf8.h"
#include "ingest/fold.h"
#include "ingest/sse.h"

#include <stdlib.h>

struct intake {
    struct intake_options opt;
    struct fold *fold; /* borrowed */
    struct json_reader reader;
    struct sse sse;
    struct buf partial; /* a line that has begun */
    struct buf scratch; /* what one event had to put together */
    bool skipping;      /* the rest of a line that is too long */
    struct error error;
    struct intake_stats stats;
    uint64_t line;      /* of the current job, from 1 */
    uint64_t data_line; /* where the SSE message at hand has its data */
    uint64_t told_line; /* the number that a report of a bad line gives */
};

int intake_new(const struct intake_options *options, struct intake **ret)
{
    struct intake *in = calloc(1, sizeof(*in));

    if (in == NULL)
        return ERR_NOMEM;
    in->opt = *options;
    if (in->opt.max_line == 0)
        in->opt.max_line = INTAKE_MAX_LINE;
    if (in->opt.max_depth == 0)
        in->opt.max_depth = INTAKE_MAX_DEPTH;
    json_reader_init(&in->reader, in->opt.max_line, in->opt.max_depth);
    sse_init(&in->sse, in->opt.max_line);
    buf_init(&in->partial, in->opt.max_line + 1);
    buf_init(&in->scratch, SIZE_MAX / 4);
    *ret = in;
    return 0;
}

void intake_free(struct intake *in)
{
    if (in == NULL)
        return;
    json_reader_done(&in->reader);
    sse_done(&in->sse);
    buf_done(&in->partial);
    buf_done(&in->scratch);
    free(in);
}

void intake_begin(struct intake *in, struct fold *fold)
{
    in->fold = fold;
    in->line = 0;
    in->skipping = false;
    buf_clear(&in->partial);
    sse_done(&in->sse);
    sse_init(&in->sse, in->opt.max_line);
}

/* Memory and sink failures end the stream; anything else is only a bad line. */
static int bad_line(struct intake *in, int code)
{
    if (code == ERR_NOMEM)
        return error_set(&in->error, code, "%s", error_name(code));
    in->stats.bad++;
    if (in->opt.bad != NULL)
        in->opt.bad(in->opt.arg, in->told_line, &in->error);
    return in->opt.strict ? code : 0;
}

static int take_message(struct intake *in, const struct sse_message *m, int64_t ts)
{
    struct event ev;
    struct json j;

    if (m->data.n == 0)
        return 0; /* `event: end` and the like */
    if (utf8_valid(m->event) < m->event.n)
        return bad_line(in,
                        error_set(&in->error, ERR_SYNTAX, "an event name that is not UTF-8"));
    int code = json_read(&in->reader, m->data, &j, &in->error);
    if (code == 0)
        code = event_read(&j, m->event, in->opt.from, &in->scratch, &ev, &in->error);
    if (code != 0)
        return bad_line(in, code);
    in->stats.events++;
    code = fold_event(in->fold, &j, &ev, ts);
    if (code == ERR_CLOSED) {
        (void)error_set(&in->error, code, "the job has ended: this event came too late");
        return bad_line(in, code);
    }
    if (code != 0)
        return error_set(&in->error, code, "%s", error_name(code));
    return 0;
}

static int take_line(struct intake *in, struct str line, int64_t ts)
{
    struct sse_message m;
    bool had_data = in->sse.has_data && !in->sse.delivered;

    in->told_line = ++in->line;
    in->stats.lines++;
    int code = sse_line(&in->sse, line, &m);
    if (code == 0 && in->sse.has_data && !had_data)
        in->data_line = in->line;
    if (code == 1 && m.data.p != line.p)
        in->told_line = in->data_line;
    if (code < 0) {
        in->error = in->sse.error;
        return bad_line(in, code);
    }
    return code == 1 ? take_message(in, &m, ts) : 0;
}

static int too_long(struct intake *in, struct str piece)
{
    sse_lose_line(&in->sse, in->partial.n > 0 ? buf_text(&in->partial) : piece);
    buf_clear(&in->partial);
    in->skipping = true;
    in->told_line = ++in->line;
    in->stats.lines++;
    (void)error_set(&in->error, ERR_TOO_LARGE, "line longer than %zu bytes", in->opt.max_line);
    return bad_line(in, ERR_TOO_LARGE);
}

/* Keeps the beginning of a line until its end comes. */
static int keep(struct intake *in, struct str piece)
{
    if (in->skipping)
        return 0;
    if (in->partial.n + piece.n > in->opt.max_line)
        return too_long(in, piece);
    buf_str(&in->partial, piece);
    return in->partial.error != 0
               ? error_set(&in->error, in->partial.error, "%s", error_name(in->partial.error))
               : 0;
}

/* A line is complete: @piece is its end, the beginning may have been kept. */
static int complete(struct intake *in, struct str piece, int64_t ts)
{
    if (in->skipping) {
        in->skipping = false;
        return 0;
    }
    if (in->partial.n == 0 && piece.n <= in->opt.max_line)
        return take_line(in, piece, ts);
    int code = keep(in, piece);
    if (code != 0 || in->skipping) {
        in->skipping = false;
        return code;
    }
    code = take_line(in, buf_text(&in->partial), ts);
    buf_clear(&in->partial);
    return code;
}

int intake_feed(struct intake *in, struct str bytes, int64_t ts)
{
    in->stats.bytes += bytes.n;
    while (bytes.n > 0) {
        size_t n = str_find(bytes, '\n');
        struct str piece = str_head(bytes, n);
        int code = n < bytes.n ? complete(in, piece, ts) : keep(in, piece);

        if (code != 0)
            return code;
        bytes = str_skip(bytes, n + 1);
    }
    return 0;
}

int intake_end(struct intake *in, int64_t ts)
{
    struct sse_message m;
    int code = 0;

    if (in->partial.n > 0 || in->skipping)
        code = complete(in, STR(""), ts);
    in->told_line = in->data_line;
    if (code == 0 && sse_end(&in->sse, &m) == 1)
        code = take_message(in, &m, ts);
    return code;
}

const struct error *intake_error(const struct intake *in)
{
    return &in->error;
}

void intake_stats(const struct intake *in, struct intake_stats *ret)
{
    *ret = in->stats;
}
