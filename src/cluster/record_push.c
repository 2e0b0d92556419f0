#include "cluster/record_push.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/table.h"
#include "record/record.h"

#include <stdlib.h>

static bool is_header(const struct record *rec)
{
    return rec->header_seq == 0 && rec->info.run.p != NULL;
}

/* --- writing ------------------------------------------------------------------------------ */

static void set_u32(struct buf *b, size_t at, size_t n)
{
    for (size_t i = 4; i-- > 0 && b->error == 0; n >>= 8)
        b->p[at + i] = (char)(n & 0xff);
}

static size_t put_u32(struct buf *b, size_t n)
{
    size_t at = b->n;

    buf_lit(b, "\0\0\0\0");
    set_u32(b, at, n);
    return at;
}

static bool has(const struct record_push_headers *known, uint64_t seq)
{
    for (size_t i = 0; i < RECORD_PUSH_HEADERS; i++)
        if (known->seqs[i] == seq)
            return true;
    return false;
}

static void remember(struct record_push_headers *known, uint64_t seq)
{
    known->seqs[known->next] = seq;
    known->next = (known->next + 1) % RECORD_PUSH_HEADERS;
}

static void put_record(struct buf *b,
                       const struct record *rec,
                       struct record_push_headers *known)
{
    size_t at = put_u32(b, 0);

    record_encode(rec, b);
    set_u32(b, at, b->n - at - 4);
    if (is_header(rec))
        remember(known, rec->seq);
}

/* Those that are older than the records themselves. */
static size_t put_headers(struct buf *b,
                          const struct publication *p,
                          struct record_push_headers *known)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_records; i++) {
        const struct record *rec = p->records[i];

        if (rec->header == NULL || rec->header_seq >= p->records[0]->seq ||
            has(known, rec->header_seq))
            continue;
        put_record(b, rec->header, known);
        n++;
    }
    return n;
}

void record_push_put(struct buf *b,
                     const struct publication *p,
                     struct record_push_headers *known)
{
    struct wakeup w = { .kind = WAKEUP_JOB, .change = change_of(p) };

    if (known->key != p->key)
        *known = (struct record_push_headers){ .key = p->key };
    w.change.state_changed = false;
    w.change.agent = w.change.owner = STR_NONE; /* nobody asks for them */
    wakeup_put(b, &w);
    size_t counts = put_u32(b, 0);
    (void)put_u32(b, p->n_records);
    set_u32(b, counts, put_headers(b, p, known));
    for (size_t i = 0; i < p->n_records; i++)
        put_record(b, p->records[i], known);
}

/* --- reading ------------------------------------------------------------------------------ */

/* The header records of one job, as its struct record_push_headers has them. */
struct received_headers {
    int64_t key;
    size_t next;
    struct record *list[RECORD_PUSH_HEADERS]; /* refs */
};

struct record_push_reader {
    struct table jobs; /* id -> struct received_headers, owned */
    struct json_reader json;
    struct record **records; /* refs, of the last push */
    size_t n_records, cap_records;
};

int record_push_reader_new(struct record_push_reader **ret)
{
    struct record_push_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return ERR_NOMEM;
    table_init(&r->jobs);
    json_reader_init(&r->json, SIZE_MAX / 64, 256);
    *ret = r;
    return 0;
}

static void drop_records(struct record_push_reader *r)
{
    for (size_t i = 0; i < r->n_records; i++)
        record_unref(r->records[i]);
    r->n_records = 0;
}

static void headers_free(struct received_headers *h)
{
    for (size_t i = 0; h != NULL && i < RECORD_PUSH_HEADERS; i++)
        record_unref(h->list[i]);
    free(h);
}

void record_push_reader_forget(struct record_push_reader *r, struct str job)
{
    struct key k = table_key(&r->jobs, 0, job);

    if (!str_absent(job)) {
        headers_free(table_get(&r->jobs, k));
        table_remove(&r->jobs, k);
        return;
    }
    for (size_t i = 0; i < r->jobs.cap; i++)
        headers_free(r->jobs.slots[i].value);
    table_done(&r->jobs);
    table_init(&r->jobs);
}

void record_push_reader_free(struct record_push_reader *r)
{
    if (r == NULL)
        return;
    drop_records(r);
    record_push_reader_forget(r, STR_NONE);
    table_done(&r->jobs);
    json_reader_done(&r->json);
    free(r->records);
    free(r);
}

static struct received_headers *headers_of(struct record_push_reader *r, const struct change *c)
{
    struct key k = table_key(&r->jobs, 0, c->job);
    struct received_headers *h = table_get(&r->jobs, k);

    if (h != NULL && h->key != c->key) { /* another job with this id */
        record_push_reader_forget(r, c->job);
        h = NULL;
    }
    if (h != NULL)
        return h;
    h = calloc(1, sizeof(*h));
    if (h != NULL && table_put(&r->jobs, k, h) != 0) {
        free(h);
        return NULL;
    }
    if (h != NULL)
        h->key = c->key;
    return h;
}

static void keep_header(struct received_headers *h, struct record *header)
{
    record_unref(h->list[h->next]);
    h->list[h->next] = record_ref(header);
    h->next = (h->next + 1) % RECORD_PUSH_HEADERS;
}

static const struct record *find_header(const struct received_headers *h, uint64_t seq)
{
    for (size_t i = 0; i < RECORD_PUSH_HEADERS; i++)
        if (h->list[i] != NULL && h->list[i]->seq == seq)
            return h->list[i];
    return NULL;
}

static bool take_u32(struct str *s, size_t *ret)
{
    size_t n = 0;

    if (s->n < 4)
        return false;
    for (size_t i = 0; i < 4; i++)
        n = n << 8 | (unsigned char)s->p[i];
    *s = str_skip(*s, 4);
    *ret = n;
    return true;
}

static int read_record(struct record_push_reader *r,
                       struct str *bytes,
                       struct str job,
                       struct received_headers *h,
                       struct record **ret)
{
    struct record rec;
    size_t n;

    if (!take_u32(bytes, &n) || n > bytes->n)
        return ERR_SYNTAX;
    int err = record_decode(&r->json, str_head(*bytes, n), &rec, NULL);
    *bytes = str_skip(*bytes, n);
    if (err != 0)
        return err == ERR_NOMEM ? err : ERR_SYNTAX;
    rec.job_id = job;
    rec.header = rec.header_seq != 0 ? find_header(h, rec.header_seq) : NULL;
    if (rec.header_seq != 0 && rec.header == NULL)
        return ERR_NOT_FOUND;
    err = record_new_with_header(&rec, ret);
    if (err == 0 && is_header(*ret))
        keep_header(h, *ret);
    return err;
}

static int read_headers(struct record_push_reader *r,
                        struct str *bytes,
                        size_t n,
                        struct str job,
                        struct received_headers *h)
{
    int err = 0;

    for (size_t i = 0; i < n && err == 0; i++) {
        struct record *header = NULL;

        err = read_record(r, bytes, job, h, &header);
        if (err == 0 && !is_header(header))
            err = ERR_SYNTAX;
        record_unref(header);
    }
    return err == ERR_NOT_FOUND ? ERR_SYNTAX : err;
}

/* They must be the job's latest, without a gap.  ERR_NOT_FOUND: a header record is missing; the
 * rest was read nevertheless, because header records may be among them. */
static int read_records(struct record_push_reader *r,
                        struct str *bytes,
                        size_t n,
                        const struct change *c,
                        struct received_headers *h)
{
    bool is_whole = true;

    for (size_t i = 0; i < n; i++) {
        if (!array_grow(&r->records, r->n_records, &r->cap_records, sizeof(struct record *)))
            return ERR_NOMEM;
        int err = read_record(r, bytes, c->job, h, &r->records[r->n_records]);

        if (err != 0 && err != ERR_NOT_FOUND)
            return err;
        is_whole &= err == 0;
        r->n_records += err == 0;
        if (is_whole && r->records[i]->seq != c->last_seq - n + 1 + i)
            return ERR_SYNTAX;
    }
    return is_whole ? 0 : ERR_NOT_FOUND;
}

int record_push_read(struct record_push_reader *r, struct str bytes, struct record_push *ret)
{
    const struct change *c = &ret->wakeup.change;
    size_t n_headers, n_records;

    drop_records(r);
    *ret = (struct record_push){ .live = { .since_us = clock_monotonic_us() } };
    if (!wakeup_take(&bytes, &ret->wakeup))
        return ERR_SYNTAX;
    if (ret->wakeup.kind != WAKEUP_JOB) /* or that pushes were lost */
        return ret->wakeup.kind == WAKEUP_LOST && bytes.n == 0 ? 0 : ERR_SYNTAX;
    if (!take_u32(&bytes, &n_headers) || !take_u32(&bytes, &n_records))
        return ERR_SYNTAX;
    struct received_headers *h = headers_of(r, c);
    int err = h != NULL ? read_headers(r, &bytes, n_headers, c->job, h) : ERR_NOMEM;
    if (err == 0)
        err = read_records(r, &bytes, n_records, c, h);
    if ((err == 0 || err == ERR_NOT_FOUND) && bytes.n > 0)
        err = ERR_SYNTAX;
    if (err == 0)
        ret->live = (struct live_records){ r->records, r->n_records, ret->live.since_us };
    return err == ERR_NOT_FOUND ? 0 : err;
}
