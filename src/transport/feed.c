#include "transport/feed.h"

#include "base/container_of.h"
#include "base/error.h"
#include "dialect/gathered.h"
#include "transport/traffic.h"

#include <stdio.h>

/* --- pages ----------------------------------------------------------------------- */

static void on_page(struct loop_call *call)
{
    struct feed *f = call->owner;
    struct page *p = f->page;

    f->fetching = false;
    if (f->key == 0)
        f->key = p->key;
    if (p->code == 0 && p->key != f->key)
        p->code = ERR_NOT_FOUND; /* a new job with the same id, not this one */
    if (f->is_open && p->code == 0 && p->job_seq > p->after.seq)
        histogram_add(&f->loop->traffic->lag, p->job_seq - p->after.seq, 1);
    f->reader.wake(&f->reader);
}

static int fetch(struct feed *f, struct str job, struct cursor after)
{
    struct page *p;
    int err = page_new(job, f->job_scope, hub_reader_format(&f->reader), after, &p);

    if (err != 0)
        return err;
    p->gathered = f->gathered;
    f->gathered = NULL;
    p->max_frames = f->max_frames;
    p->format.variant.reconnected = f->reconnected;
    p->beginning_if_foreign = !f->is_open;
    if (f->loop->opt.page_bytes > 0)
        p->max_bytes = f->loop->opt.page_bytes;
    f->page = p;
    f->fetching = true;
    f->page_given = f->gap_given = false;
    page_ask(p, f->loop->pool, f->loop->box, f, on_page);
    return 0;
}

static void drop_page(struct feed *f)
{
    page_free(f->page);
    f->page = NULL;
}

static enum feed_next fetch_more(struct feed *f)
{
    struct cursor place = { .seq = f->reader.seq };

    return fetch(f, hub_reader_job(&f->reader), place) == 0 ? FEED_WAIT : FEED_FAILED;
}

static void take_worker(struct feed *f, const struct page *p)
{
    f->attempt = p->attempt;
    buf_clear(&f->worker);
    if (f->names_worker)
        buf_str(&f->worker, str_make(p->worker, p->worker_n));
}

/* Is the worker of this attempt known?  The page may be newer than the last change. */
static bool knows_worker(const struct feed *f, int64_t attempt)
{
    return f->attempt >= attempt;
}

struct str feed_worker(const struct feed *f)
{
    int64_t attempt;
    bool runs = hub_reader_runs(&f->reader, &attempt);

    /* Without memory it is not named. */
    return runs && knows_worker(f, attempt) && f->worker.error == 0 ? buf_text(&f->worker)
                                                                    : STR_NONE;
}

bool feed_ask_worker(struct feed *f)
{
    int64_t attempt;

    return hub_reader_runs(&f->reader, &attempt) && !knows_worker(f, attempt) &&
           f->page == NULL && fetch_more(f) == FEED_WAIT;
}

/* Joins the hub's window, or fetches the next page. */
static enum feed_next turn_page(struct feed *f)
{
    struct page *p = f->page;
    bool is_last = p->cached->at_end;

    f->state = (uint8_t)p->state;
    take_worker(f, p);
    counter_add(&f->loop->traffic->replayed, p->cached->n_frames);
    hub_reader_moved(&f->reader, p->key, p->cached->last_seq, p->state,
                     p->cached->ended || (is_last && job_state_is_final(p->state)));
    f->gathered = p->gathered;
    p->gathered = NULL;
    drop_page(f);
    if (!is_last)
        return fetch_more(f);
    f->reconnected = false;
    return FEED_CAUGHT_UP;
}

static bool has_gap(const struct page *p)
{
    return p->expired || p->foreign;
}

/* A stream stays open while the database is away.  What was gathered is lost with a page. */
static bool may_retry(const struct feed *f)
{
    return f->is_open && f->page->code != ERR_NOT_FOUND &&
           !stream_format_gathers(hub_reader_format(&f->reader));
}

static enum feed_next next_of_page(struct feed *f, struct str *ret)
{
    struct page *p = f->page;

    if (p->code != 0 && may_retry(f) && hub_reader_retry(&f->reader)) {
        drop_page(f);
        return FEED_WAIT;
    }
    if (p->code != 0)
        return p->code == ERR_NOT_FOUND ? FEED_GONE : FEED_FAILED;
    f->is_open = true;
    if (has_gap(p) && !f->gap_given) {
        f->gap_given = true;
        return FEED_GAP;
    }
    if (!f->page_given) {
        f->page_given = true;
        *ret = buf_text(&p->cached->bytes);
        if (ret->n > 0)
            return FEED_BYTES;
    }
    return turn_page(f);
}

/* --- live events ----------------------------------------------------------------- */

static enum feed_next next_live(struct feed *f, struct str *ret)
{
    switch (hub_reader_next(&f->reader, ret)) {
    case HUB_BYTES:
        return FEED_BYTES;
    case HUB_WAIT:
        return FEED_WAIT;
    case HUB_BEHIND:
        break;
    case HUB_END:
        return FEED_END;
    case HUB_GONE:
        return FEED_GONE;
    }
    return fetch_more(f);
}

enum feed_next feed_next(struct feed *f, struct str *ret)
{
    if (f->fetching)
        return FEED_WAIT;
    return f->page != NULL ? next_of_page(f, ret) : next_live(f, ret);
}

/* --- life ------------------------------------------------------------------------ */

int feed_open(struct feed *f,
              struct streams *l,
              void (*wake)(struct reader *r),
              const struct feed_request *what)
{
    *f = (struct feed){ .loop = l,
                        .job_scope = what->job_scope,
                        .max_frames = what->max_frames,
                        .names_worker = what->names_worker,
                        .reconnected = what->reconnected };
    buf_init(&f->worker, sizeof(f->page->worker));
    f->reader.wake = wake;
    if (what->job.n > sizeof(f->page->job))
        return ERR_NOT_FOUND;
    int err = hub_join(l->hub, what->job, &what->format, &f->reader);
    if (err != 0)
        return err;
    err = fetch(f, what->job, what->after);
    if (err != 0)
        hub_leave(l->hub, &f->reader);
    return err;
}

int feed_reopen(struct feed *f, struct cursor after)
{
    drop_page(f);
    return fetch(f, hub_reader_job(&f->reader), after);
}

void feed_close(struct feed *f)
{
    hub_leave(f->loop->hub, &f->reader);
    gathered_free(f->gathered);
    buf_done(&f->worker);
    if (f->fetching)
        loop_call_cancel(&f->page->task.loop_call);
    else
        drop_page(f);
}

const struct page *feed_page(const struct feed *f)
{
    return f->page;
}

void feed_count_resume(const struct feed *f)
{
    const struct page *p = f->page;
    enum stream_resume result = p->foreign || p->expired ? RESUME_GAP
                                : page_is_beyond_end(p)  ? RESUME_EMPTY
                                                         : RESUME_OK;

    if (p->asked.seq > 0)
        counter_add(&f->loop->traffic->resumed[result], 1);
}

struct feed_refusal feed_refusal(int code, struct str job)
{
    struct feed_refusal r = { .status = code == ERR_NOT_FOUND ? 404
                                        : code == ERR_NOMEM   ? 503
                                                              : 500 };

    if (code == ERR_NOT_FOUND)
        (void)snprintf(r.text, sizeof(r.text), "Job not found: %.*s",
                       STR_ARG(str_head(job, 100))); /* fits */
    else
        (void)snprintf(r.text, sizeof(r.text), "%s",
                       code == ERR_NOMEM ? "out of memory"
                                         : "the job's events cannot be read from the store");
    return r;
}

void feed_put_gap(const struct feed *f, struct buf *out)
{
    const struct page *p = f->page;

    json_begin(out);
    json_add_lit(out, "type", "stream.gap");
    json_add_uint(out, "requested", p->asked.seq);
    if (p->expired)
        json_add_uint(out, "oldest", p->first_seq);
    json_add_uint(out, "tail", p->job_seq);
    json_end(out);
}
