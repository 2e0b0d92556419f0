#include "agents/assignment.h"

#include "base/json.h"
#include "jobs/lease.h"
#include "journal/journal.h"

/* On one line: outside of its strings JSON may have newlines. */
static void put_json(struct buf *b, struct str input)
{
    size_t from = b->n;

    json_put_raw_or_null(b, input);
    for (size_t i = from; i < b->n; i++)
        if (b->p[i] == '\n' || b->p[i] == '\r')
            b->p[i] = ' ';
}

static void put_job(struct buf *b, struct str job, int64_t attempt)
{
    buf_lit(b, "{\"job\":");
    json_put_str(b, job);
    buf_lit(b, ",\"attempt\":");
    buf_i64(b, attempt);
}

void assignment_put_beat(struct buf *b, int64_t lease_ms)
{
    int64_t ms = lease_ms / 4;
    char fraction[] = "0.000";

    buf_lit(b, ",\"heartbeat_seconds\":");
    if (ms >= 1000) {
        buf_i64(b, ms / 1000);
        return;
    }
    for (size_t i = sizeof(fraction) - 1; i-- > 2; ms /= 10)
        fraction[i] = (char)('0' + ms % 10);
    buf_str(b, str_of(fraction));
}

void assignment_put_run(struct buf *b,
                        struct str job,
                        struct str agent,
                        const struct run_row *run)
{
    if (run == NULL || str_absent(run->kwargs))
        return;
    buf_lit(b, ",\"thread\":");
    json_put_str_or_null(b, run->thread);
    buf_lit(b, ",\"run\":{\"run_id\":");
    json_put_str(b, job);
    buf_lit(b, ",\"assistant_id\":");
    json_put_str_or_null(b, run->assistant);
    buf_lit(b, ",\"graph_id\":");
    json_put_str(b, agent);
    buf_lit(b, ",\"metadata\":");
    put_json(b, run->metadata);
    if (run->kwargs.n > 2)
        buf_char(b, ',');
    put_json(b, str_skip(run->kwargs, 1)); /* without its brace: more members follow */
}

void assignment_put(struct buf *b, const struct assignment *assignment)
{
    put_job(b, assignment->job, assignment->attempt);
    if (assignment->lease_key != NULL) {
        buf_lit(b, ",\"lease\":\"");
        lease_put(b, assignment->lease_key, assignment->job, assignment->key,
                  assignment->attempt);
        buf_char(b, '"');
    }
    buf_lit(b, ",\"agent\":");
    json_put_str(b, assignment->agent);
    buf_lit(b, ",\"input\":");
    put_json(b, assignment->input);
    if (assignment->resume.p != NULL) {
        buf_lit(b, ",\"resume\":");
        put_json(b, assignment->resume);
    }
    assignment_put_run(b, assignment->job, assignment->agent, assignment->run);
    buf_lit(b, ",\"lease_seconds\":");
    buf_i64(b, (assignment->lease_ms + 999) / 1000);
    if (assignment->needs_beats)
        assignment_put_beat(b, assignment->lease_ms);
    buf_lit(b, "}\n");
}

void assignment_put_cancel(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    buf_lit(b, ",\"cancel\":true}\n");
}

void assignment_put_pause(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    buf_lit(b, ",\"pause\":true}\n");
}

void assignment_put_call(struct buf *b, const struct worker_call *call, struct str agent)
{
    buf_lit(b, "{\"call\":{\"id\":");
    json_put_str(b, call->id);
    buf_lit(b, ",\"name\":");
    json_put_str(b, call->name);
    buf_lit(b, ",\"params\":");
    put_json(b, call->params);
    buf_lit(b, "},\"agent\":");
    json_put_str(b, agent);
    buf_lit(b, "}\n");
}
