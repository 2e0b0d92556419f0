#include "agents/assignment.h"

#include "base/json.h"
#include "jobs/lease.h"
#include "journal/journal.h"

/* Writes JSON on one line: between its tokens there may be newlines. */
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
    json_begin(b);
    json_add_str(b, "job", job);
    json_add_int(b, "attempt", attempt);
}

void assignment_put_beat(struct buf *b, int64_t lease_ms)
{
    int64_t ms = lease_ms / 4;
    char fraction[] = "0.000";

    json_key(b, "heartbeat_seconds");
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
    json_add_text(b, "thread", run->thread);
    json_add_object(b, "run");
    json_add_str(b, "run_id", job);
    json_add_text(b, "assistant_id", run->assistant);
    json_add_str(b, "graph_id", agent);
    json_key(b, "metadata");
    put_json(b, run->metadata);
    if (run->kwargs.n > 2)
        buf_char(b, ',');
    put_json(b, str_skip(run->kwargs, 1)); /* without its opening brace: more members come
                                              before */
}

void assignment_put(struct buf *b, const struct assignment *assignment)
{
    put_job(b, assignment->job, assignment->attempt);
    if (assignment->lease_key != NULL) {
        json_add_parts(b, "lease");
        lease_put(b, assignment->lease_key, assignment->job, assignment->key,
                  assignment->attempt, STR_NONE);
        json_end_parts(b);
    }
    json_add_str(b, "agent", assignment->agent);
    json_key(b, "input");
    put_json(b, assignment->input);
    if (assignment->resume.p != NULL) {
        json_key(b, "resume");
        put_json(b, assignment->resume);
    }
    assignment_put_run(b, assignment->job, assignment->agent, assignment->run);
    json_add_int(b, "lease_seconds", (assignment->lease_ms + 999) / 1000);
    if (assignment->needs_beats)
        assignment_put_beat(b, assignment->lease_ms);
    buf_lit(b, "}\n");
}

void assignment_put_cancel(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    json_add_const(b, "cancel", "true}\n");
}

void assignment_put_pause(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    json_add_const(b, "pause", "true}\n");
}

void assignment_put_call(struct buf *b, const struct taken_call *call, struct str agent)
{
    json_begin(b);
    json_add_object(b, "call");
    json_add_str(b, "id", call->id);
    json_add_str(b, "name", call->name);
    json_key(b, "params");
    put_json(b, call->params);
    json_end(b);
    json_add_str(b, "agent", agent);
    buf_lit(b, "}\n");
}
