#include "hub/page.h"

#include "base/container_of.h"
#include "base/error.h"
#include "dialect/gathered.h"
#include "journal/reader.h"
#include "store/era.h"

#include <stdlib.h>

/* Reserves room for the record that fills the page, so that the buffer rarely has to grow. */
enum { PAGE_BYTES = 256 * 1024, PAGE_ROOM = PAGE_BYTES + 8 * 1024, PAGE_ROWS = 5000 };

/* State while a page is being read. */
struct page_reading {
    struct page *page;
    struct store *store;
    int64_t key;
    struct str job;
    struct record_reader records;
    struct frames frames;
    size_t n_rows, n_good;
    uint64_t lost; /* the last damaged record at its beginning; 0: none */
    bool full;
    bool hole;  /* a record is missing, */
    bool skips; /* and reading again will not find it */
};

static void page_read(struct thread_task *task, struct store *store);

int page_new(struct str job,
             const struct job_scope *scope,
             const struct stream_format *format,
             struct cursor after,
             struct page **ret)
{
    struct page *p = calloc(1, sizeof(*p));

    if (p == NULL || job.n > sizeof(p->job)) {
        free(p);
        return p == NULL ? ERR_NOMEM : ERR_NOT_FOUND;
    }
    str_copy(p->job, job);
    p->job_n = job.n;
    job_scope_share(&p->scope, scope);
    p->format = *format;
    p->asked = after;
    p->max_bytes = PAGE_BYTES;
    p->task.run = page_read;
    *ret = p;
    return 0;
}

void page_free(struct page *p)
{
    if (p == NULL)
        return;
    cached_page_unref(p->cached);
    gathered_free(p->gathered);
    job_scope_done(&p->scope);
    free(p);
}

bool page_is_beyond_end(const struct page *p)
{
    return p->cached->n_frames == 0 && p->cached->at_end && job_state_is_final(p->state);
}

static void on_dropped(struct loop_call *call)
{
    page_free(container_of(call, struct page, task.loop_call));
}

void page_ask(struct page *p,
              struct thread_pool *pool,
              struct mailbox *home,
              void *owner,
              void (*answered)(struct loop_call *call))
{
    p->task.loop_call = (struct loop_call){
        .home = home, .owner = owner, .answered = answered, .dropped = on_dropped
    };
    p->page_cache = thread_pool_page_cache(pool);
    thread_pool_post(pool, &p->task);
}

/* Skips a damaged record at the beginning of a page; a gap frame takes its place.  A damaged
 * record later ends the page before it.  True to continue. */
static bool pass_over(struct page_reading *r, uint64_t seq)
{
    struct cached_page *cached = r->page->cached;

    if (cached->last_seq >= seq)
        return true;
    r->full = r->n_good > 0;
    if (!r->full)
        cached->last_seq = r->lost = seq;
    return !r->full;
}

static void say_what_is_lost(struct page_reading *r)
{
    struct page *p = r->page;

    if (r->lost == 0 || r->n_good > 0)
        return;
    stream_format_put_gap(&p->format, str_make(p->job, p->job_n), p->after.seq, r->lost,
                          p->job_seq, &p->cached->bytes);
    p->cached->n_frames++;
}

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct page_reading *r = arg;
    struct cached_page *cached = r->page->cached;
    struct record rec;
    size_t n = 0;

    r->n_rows++;
    r->hole = seq != cached->last_seq + 1 && !r->skips;
    if (r->hole || !pass_over(r, seq - 1))
        return 1;
    int err = record_reader_read(&r->records, seq, stored, &rec);
    if (record_is_damage(err))
        return !pass_over(r, seq);
    say_what_is_lost(r);
    if (err == 0)
        err = stream_format_render(&r->page->format, &rec, r->page->after, &r->frames,
                                   &cached->bytes, &n);
    if (err != 0) {
        r->page->code = err;
        return 1;
    }
    cached->last_seq = seq;
    r->n_good++;
    cached->n_frames += n;
    cached->ended |= rec.kind == REC_JOB_END;
    r->full = cached->bytes.n >= r->page->max_bytes ||
              (r->page->max_frames > 0 && cached->n_frames >= r->page->max_frames);
    return r->full;
}

/* The expected size: most pages are the short end of a job. */
static size_t expected(const struct page *p, uint64_t after)
{
    uint64_t n = (p->job_seq - after) * 200;

    return p->job_seq < after ? 0 : n < PAGE_ROOM ? (size_t)n : PAGE_ROOM;
}

/* All records were read, or the page is full. */
static void end_page(struct page_reading *r)
{
    struct page *p = r->page;
    struct cached_page *cached = p->cached;

    cached->at_end = !r->full && !r->hole && r->n_rows < PAGE_ROWS;
    /* The job may have grown since its row was read, but cannot shrink: if the page ends before
     * the row's last record, records are missing. */
    r->hole |= cached->at_end && p->code == 0 && cached->last_seq < p->job_seq;
    if (r->hole && r->skips) {
        r->hole = false;
        cached->at_end = pass_over(r, p->job_seq);
    }
    say_what_is_lost(r);
    if (cached->n_frames > 0 && !cached->ended)
        stream_format_put_cursor(&p->format, cached->last_seq, &cached->bytes);
    if (p->code == 0)
        p->code = cached->bytes.error;
}

static int on_earlier(void *arg, uint64_t seq, struct str stored)
{
    struct page_reading *r = arg;
    struct record rec;

    if (seq > r->page->cached->last_seq)
        return 1;
    int err = record_reader_read(&r->records, seq, stored, &rec);
    if (err == 0)
        err = gathered_take(r->page->gathered, &rec);
    if (!record_is_damage(err))
        r->page->code = err;
    return r->page->code != 0;
}

/* Gathers from the records before the page, unless the previous page has done that. */
static void gather(struct page_reading *r)
{
    struct page *p = r->page;
    uint64_t after = p->cached->last_seq;

    if (p->gathered == NULL || p->gathered->seq != after) {
        gathered_free(p->gathered);
        p->gathered = NULL;
        p->code = gathered_new(&p->gathered);
        int err = p->code == 0 && after > 0
                      ? store_records(r->store, r->key, 0, after, SIZE_MAX, on_earlier, r, NULL)
                      : 0;
        if (err != 0)
            p->code = err;
    }
    r->frames.gathered = p->gathered;
}

static void read_rows(struct page_reading *r)
{
    struct page *p = r->page;
    struct cached_page *cached = p->cached;
    /* A cursor inside a record reads that record again. */
    uint64_t after = p->after.k != 0 ? p->after.seq - 1 : p->after.seq;

    r->n_rows = r->n_good = 0;
    r->lost = 0;
    r->full = r->hole = false;
    record_reader_init(&r->records, r->store, r->key, r->job);
    frames_init(&r->frames, SIZE_MAX / 4);
    cached->last_seq = after;
    (void)buf_reserve(&cached->bytes, expected(p, after)); /* later writes report the error */
    if (stream_format_gathers(&p->format))
        gather(r);
    int err = p->code != 0 ? p->code
                           : store_records(r->store, r->key, after, PAGE_ROWS, SIZE_MAX,
                                           on_record, r, NULL);
    if (err != 0)
        p->code = err;
    end_page(r);
    if (p->gathered != NULL)
        p->gathered->seq = cached->last_seq; /* also after skipped damaged records */
    frames_done(&r->frames);
    record_reader_done(&r->records);
}

/* From the page cache, or else from the store. */
static void read_cached(struct page_reading *r)
{
    struct page *p = r->page;
    struct page_key place = { .key = r->key,
                              .era = store_era(r->store),
                              .format = p->format,
                              .after = p->after,
                              .max_frames = p->max_frames,
                              .max_bytes = p->max_bytes };

    r->hole = false;
    cached_page_unref(p->cached);
    /* Gathering pages are not cached: they depend on earlier records. */
    p->cached = stream_format_gathers(&p->format)
                    ? NULL
                    : page_cache_get(p->page_cache, &place, p->job_seq);
    if (p->cached != NULL)
        return;
    p->cached = cached_page_new();
    if (p->cached != NULL)
        read_rows(r);
    else
        p->code = ERR_NOMEM;
    if (!stream_format_gathers(&p->format))
        page_cache_put(p->page_cache, &place, p->code == 0 && !r->hole ? p->cached : NULL);
}

static void take_worker(struct page *p, const struct job_row *row)
{
    struct str worker = p->state == JOB_RUNNING ? row->worker : STR_NONE;

    p->attempt = row->attempt;
    worker = str_head(worker, sizeof(p->worker));
    str_copy(p->worker, worker);
    p->worker_n = worker.n;
}

/* Finds where to begin, from the job's row. */
static int find_place(struct page_reading *r)
{
    struct page *p = r->page;
    struct job_row row;
    int err = store_job_get(r->store, r->job, &row, NULL);

    if (err == 0 && !job_scope_includes(&p->scope, row.id, row.owner))
        err = ERR_NOT_FOUND;
    if (err != 0)
        return err;
    r->key = p->key = row.key;
    p->job_seq = row.seq;
    p->first_seq = row.first_seq;
    (void)job_state_find(row.state, &p->state); /* written by us */
    take_worker(p, &row);
    p->foreign = p->asked.seq > row.seq;
    p->after = p->asked;
    if (p->foreign) /* a stream that is open goes on after what was lost */
        p->after = (struct cursor){ .seq = p->beginning_if_foreign ? 0 : row.seq };
    p->expired = p->after.seq + (p->after.k == 0) < row.first_seq;
    if (p->expired)
        p->after = (struct cursor){ .seq = row.first_seq - 1 };
    return 0;
}

static void page_read(struct thread_task *task, struct store *store)
{
    struct page *p = container_of(task, struct page, task);
    struct page_reading r = { .page = p, .store = store, .job = str_make(p->job, p->job_n) };
    uint64_t first;

    do {
        first = p->first_seq;
        p->code = find_place(&r);
        /* Retention may have deleted records between reading the row and the records: try
         * again.  If the first record has not changed since, they are lost: skip them. */
        r.skips = r.hole && p->first_seq == first;
        if (p->code == 0)
            read_cached(&r);
    } while (p->code == 0 && r.hole);
}
