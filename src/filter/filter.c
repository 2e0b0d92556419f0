#include "filter/filter.h"

#include "dialect/dialect.h"

#include <stdlib.h>

enum { WRITE_AT = 256 * 1024 }; /* bytes: write when this much is ready */

struct filter {
    struct filter_options opt;
    struct intake *intake;
    struct fold *fold; /* of the current job, or NULL */
    struct frames frames;
    struct buf out;
    struct error error;
    struct filter_stats stats;
    bool counted; /* the job at hand is in the stats */
};

int filter_new(const struct filter_options *options, struct filter **ret)
{
    struct filter *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return ERR_NOMEM;
    f->opt = *options;
    frames_init(&f->frames, SIZE_MAX / 4);
    buf_init(&f->out, SIZE_MAX / 4);
    int err = intake_new(&options->intake, &f->intake);
    if (err != 0) {
        filter_free(f);
        return err;
    }
    *ret = f;
    return 0;
}

void filter_free(struct filter *f)
{
    if (f == NULL)
        return;
    fold_free(f->fold);
    intake_free(f->intake);
    frames_done(&f->frames);
    buf_done(&f->out);
    free(f);
}

static int flush(struct filter *f)
{
    if (f->out.error != 0)
        return error_set(&f->error, f->out.error, "%s", error_name(f->out.error));
    if (f->out.n == 0)
        return 0;
    int err = f->opt.write(f->opt.arg, buf_text(&f->out));
    f->stats.bytes_out += f->out.n;
    buf_clear(&f->out);
    return err != 0 ? error_set(&f->error, err, "cannot write the output") : 0;
}

static int on_record(void *arg, const struct record *rec)
{
    struct filter *f = arg;
    int err = f->opt.record != NULL ? f->opt.record(f->opt.arg, rec) : 0;

    if (err == 0)
        err = dialect_render(f->opt.dialect, rec, &f->opt.variant, &f->frames);
    if (err != 0)
        return err;
    for (size_t i = 0; i < f->frames.n; i++) {
        const struct frame *fr = &f->frames.frame[i];
        struct message_out m = {
            .seq = rec->seq,
            .k = fr->k,
            .total = f->frames.total,
            .event = frame_name(&f->frames, fr),
            .data = frame_data(&f->frames, fr),
            .wrap = f->opt.wrap || !f->opt.dialect->names_itself,
            .job = f->opt.name_jobs ? rec->job_id : STR_NONE,
        };

        if (!cursor_before(f->opt.after, rec->seq, fr->k))
            continue;
        f->opt.framing->put(&m, &f->out);
        f->stats.frames++;
    }
    return f->out.n >= WRITE_AT ? flush(f) : f->out.error;
}

static void add_stats(const struct filter *f, struct fold_stats *all)
{
    struct fold_stats job;

    fold_stats(f->fold, &job);
    for (size_t i = 0; i < REC_KIND_MAX; i++)
        all->records[i] += job.records[i];
    all->repeats += job.repeats;
    all->orphans += job.orphans;
    all->lossy += job.lossy;
    all->late += job.late;
    all->open_runs = job.open_runs;
    all->open_questions = job.open_questions;
}

int filter_begin(struct filter *f, struct str id)
{
    struct fold_options options = {
        .job = id,
        .agent = f->opt.agent,
        .field_limit = f->opt.field_limit,
        .attempt = 1,
        .emit = on_record,
        .arg = f,
    };

    fold_free(f->fold);
    f->fold = NULL;
    int err = fold_new(&options, &f->fold);
    if (err != 0)
        return error_set(&f->error, err, "%s", error_name(err));
    intake_begin(f->intake, f->fold);
    f->stats.jobs++;
    f->counted = false;
    return 0;
}

int filter_feed(struct filter *f, struct str bytes)
{
    int err = intake_feed(f->intake, bytes, f->opt.clock(f->opt.arg));

    if (err != 0)
        f->error = *intake_error(f->intake);
    int wrote = flush(f); /* also what came before an error */
    return err != 0 ? err : wrote;
}

int filter_end(struct filter *f)
{
    int64_t now = f->opt.clock(f->opt.arg);
    int err = intake_end(f->intake, now);

    if (err != 0)
        f->error = *intake_error(f->intake);
    if (err == 0) {
        err = fold_end_of_stream(f->fold, now);
        if (err != 0)
            (void)error_set(&f->error, err, "%s", error_name(err));
    }
    add_stats(f, &f->stats.fold);
    f->counted = true;
    int wrote = flush(f);
    return err != 0 ? err : wrote;
}

bool filter_job_ended(const struct filter *f)
{
    return f->fold != NULL && fold_ended(f->fold);
}

const struct error *filter_error(const struct filter *f)
{
    return &f->error;
}

void filter_stats(const struct filter *f, struct filter_stats *ret)
{
    *ret = f->stats;
    if (f->fold != NULL && !f->counted) /* a job that was stopped */
        add_stats(f, &ret->fold);
    intake_stats(f->intake, &ret->in);
}
