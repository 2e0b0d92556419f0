/* Any bytes as what an exec worker writes or a pull worker posts: pieces of any size become
 * batches of whole lines, and each batch is taken the way the journal takes it.
 *
 * The first byte chooses the sizes of the pieces and how often the journal is asked.  Every
 * byte arrives once and in order; a batch is whole lines and the same when it is sent again;
 * numbers of records are dense; nothing follows the end that the worker's own word has
 * brought, and it is the end that the record says. */
#include "fuzz.h"

#include "agents/outbox.h"
#include "base/error.h"
#include "ingest/agent.h"
#include "ingest/fold.h"
#include "ingest/intake.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

struct job {
    struct agent *agent;
    struct fold *fold;
    struct intake *intake;
    struct buf sent; /* all batches, one after another */
    uint64_t seq;
    enum job_end end; /* by the terminal record */
    bool ended;
};

static int on_record(void *arg, const struct record *rec)
{
    struct job *job = arg;

    check(rec->seq == ++job->seq, "a number is missing");
    check(!job->ended, "something after the end");
    job->ended = rec->kind == REC_JOB_END;
    if (job->ended)
        job->end = str_is(rec->status, "succeeded")   ? JOB_END_SUCCEEDED
                   : str_is(rec->status, "cancelled") ? JOB_END_CANCELLED
                                                      : JOB_END_FAILED;
    if (job->ended && job->end != JOB_END_SUCCEEDED)
        check(rec->output.p == NULL, "an output without a success");
    return 0;
}

static void begin(struct job *job)
{
    *job = (struct job){ 0 };
    check(agent_new(STR("triage"), &job->agent) == 0, "memory");
    struct fold_options fold = {
        .job = STR("job-1"), .agent = job->agent, .attempt = 1, .emit = on_record, .arg = job
    };
    struct intake_options intake = { .max_line = 1 << 15, .max_depth = 64 };
    check(fold_new(&fold, &job->fold) == 0, "memory");
    check(intake_new(&intake, &job->intake) == 0, "memory");
    check(fold_begin(job->fold, 1) == 0, "it does not begin");
    buf_init(&job->sent, SIZE_MAX / 4);
}

static void done(struct job *job)
{
    intake_free(job->intake);
    fold_free(job->fold);
    agent_free(job->agent);
    buf_done(&job->sent);
}

/* As journal/append.c does it. */
static void append(struct job *job, struct str batch)
{
    intake_begin(job->intake, job->fold);
    int err = intake_feed(job->intake, batch, 2);
    if (err == 0)
        err = intake_end(job->intake, 2);
    check(err == 0, "a batch cannot be taken");
    check(job->ended == fold_ended(job->fold), "an end without its record");
    if (job->ended) {
        struct fold_end end;

        fold_end(job->fold, &end);
        check(end.end == job->end, "the record says another end");
    }
}

static void send(struct job *job, struct outbox *o, size_t most)
{
    for (; most > 0 && outbox_next(o) == 0; most--) {
        struct str batch = buf_text(&o->batch);
        char *again = malloc(batch.n);

        check(batch.n > 0 && batch.p[batch.n - 1] == '\n', "a batch of half a line");
        check(again != NULL, "memory");
        memcpy(again, batch.p, batch.n);
        check(outbox_next(o) == 0 && str_eq(buf_text(&o->batch), str_make(again, batch.n)),
              "another batch with the same number");
        free(again);
        buf_str(&job->sent, batch);
        append(job, batch);
        outbox_stored(o);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outbox o;
    struct job job;

    if (size == 0)
        return 0;
    struct str bytes = str_make((const char *)data + 1, size - 1);
    size_t step = 1 + (size_t)(data[0] & 15) * 37, lazy = data[0] >> 4;
    outbox_init(&o);
    begin(&job);
    for (size_t i = 0, n = 0; i < bytes.n; i += step, n++) {
        check(outbox_put(&o, str_head(str_skip(bytes, i), step)) == 0, "it is not taken");
        if (n % (lazy + 1) == 0)
            send(&job, &o, 1);
    }
    check(outbox_end(&o) == 0, "the end is not taken");
    send(&job, &o, SIZE_MAX);
    check(outbox_waiting(&o) == 0, "lines are left");
    check(job.sent.n == bytes.n + (bytes.n > 0 && bytes.p[bytes.n - 1] != '\n'),
          "bytes are lost or made up");
    check(memcmp(job.sent.p != NULL ? job.sent.p : "", bytes.p, bytes.n) == 0,
          "other bytes arrive");
    done(&job);
    outbox_done(&o);
    return 0;
}
