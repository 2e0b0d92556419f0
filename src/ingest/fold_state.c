/* The fold itself: how it is made, how a record leaves it, and how it is rebuilt.
 *
 *      decide (reads the state) ──▶ record ──▶ sink
 *                                     └──────▶ apply (changes the state)
 *      rebuild:        stored record ────────▶ apply
 *
 * fold_apply.c changes the state, fold_seen.c answers what was seen before. */
#include "ingest/fold_state.h"

#include "base/error.h"

#include <stdlib.h>

/* --- the two ways in --------------------------------------------------------- */

int64_t fold_since(const struct fold *f, int64_t ts)
{
    return f->ts > ts ? f->ts - ts : 0;
}

int fold_emit(struct fold *f, struct record *rec, struct run *run)
{
    if (f->owed.p != NULL && rec->kind != REC_NODE_COMPLETE) {
        int err = fold_complete(f, RECORD_NO_NUMBER);

        if (err != 0)
            return err;
    }
    rec->seq = f->seq + 1;
    rec->ts = f->ts;
    rec->job_id = f->job;
    if (run != NULL && run->header != NULL && rec->kind != REC_RUN_INFO) {
        rec->header = run->header;
        rec->header_seq = run->header->seq;
    }
    int err = f->opt.emit(f->opt.arg, rec);
    if (err == 0)
        err = fold_apply(f, rec, run);
    return err;
}

int fold_complete(struct fold *f, int64_t step)
{
    struct record rec;

    record_init(&rec, REC_NODE_COMPLETE);
    rec.info.node = f->owed;
    rec.info.step = step;
    return fold_emit(f, &rec, NULL);
}

int fold_emit_start(struct fold *f, struct record *rec, struct run **ret_run)
{
    int err = fold_emit(f, rec, NULL);

    if (err == 0)
        *ret_run = f->open.prev; /* the newest */
    return err;
}

static struct run *find_by_header(const struct fold *f, uint64_t seq)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->header->seq == seq)
            return r;
    return NULL;
}

int fold_replay(struct fold *f, const struct record *rec)
{
    struct run *run = NULL;

    if (rec->seq != f->seq + 1)
        return ERR_TYPE;
    arena_reset(&f->work);
    if (rec->header_seq != 0)
        run = find_by_header(f, rec->header_seq);
    else if (rec->kind == REC_RUN_INFO || rec->kind == REC_SECTION_END)
        run = table_get(&f->seen, fold_key(f, SEEN_RUN, rec->info.run));
    if (run != NULL && rec->kind == REC_RUN_INFO && run->header == NULL)
        run = NULL;
    return fold_apply(f, rec, run);
}

/* --- life -------------------------------------------------------------------- */

int fold_new(const struct fold_options *options, struct fold **ret)
{
    struct fold *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return ERR_NOMEM;
    f->opt = *options;
    if (f->opt.field_limit == 0)
        f->opt.field_limit = 64 * 1024;
    f->open.next = f->open.prev = &f->open;
    f->step = RECORD_NO_NUMBER;
    arena_init(&f->keep);
    arena_init(&f->work);
    buf_init(&f->tmp, SIZE_MAX / 4);
    buf_init(&f->answer, SIZE_MAX / 4);
    table_init(&f->seen);
    json_reader_init(&f->reader, SIZE_MAX / 64, 256);
    if (!arena_copy(&f->keep, options->job, &f->job)) {
        fold_free(f);
        return ERR_NOMEM;
    }
    *ret = f;
    return 0;
}

void fold_free(struct fold *f)
{
    if (f == NULL)
        return;
    while (f->open.next != &f->open)
        fold_forget_run(f, f->open.next);
    arena_done(&f->keep);
    arena_done(&f->work);
    buf_done(&f->tmp);
    buf_done(&f->answer);
    table_done(&f->seen);
    json_reader_done(&f->reader);
    free(f);
}

uint64_t fold_seq(const struct fold *f)
{
    return f->seq;
}

bool fold_ended(const struct fold *f)
{
    return f->ended;
}

void fold_end(const struct fold *f, struct fold_end *ret)
{
    *ret = (struct fold_end){ f->end, f->failure, f->failure_type };
}

void fold_stats(const struct fold *f, struct fold_stats *ret)
{
    *ret = f->stats;
    ret->open_runs = f->n_open;
    ret->open_questions = f->n_questions + f->paused;
}
