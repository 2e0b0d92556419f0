/* Retention.
 *
 * Nothing is deleted in one go, because a job may have a million records and a long transaction
 * delays all others.  First the records become invisible (of a deleted job; of an expired one,
 * by its first_seq), and a row in `leavings` says when they must be deleted; postgres_expire()
 * deletes them in small steps.
 *
 * The records of a deleted job are deleted at once.  Those of an expired one go with their
 * partition (partitions.c), if jobs are kept for a day or longer; what is still there after
 * twice that time and a day, because another job of the partition is open or kept for longer,
 * is deleted as well. */
#include "store/postgres/postgres.h"

/* A job, and a number that belongs to it. */
struct expiring {
    int64_t key; /* 0: none */
    int64_t n;
};

static int find(struct postgres_params *p, struct expiring *ret, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    *ret = (struct expiring){ 0 };
    if (code == 0 && PQntuples(r) == 1)
        *ret = (struct expiring){ cell_int(r, 0, 0), cell_int(r, 0, 1) };
    PQclear(r);
    return code;
}

/* Deletes at most @room invisible chunks. */
static int sweep(struct store *s, int64_t now, size_t room, size_t *ret_n, struct error *err)
{
    struct postgres_params p;
    struct expiring leaving;
    size_t n = 0, noted = 0;

    params_init(&p, s, SQL_LEAVING);
    params_int(&p, now);
    int code = find(&p, &leaving, err);
    if (code != 0 || leaving.key == 0)
        return code;
    params_init(&p, s, SQL_RECORDS_DELETE);
    params_int(&p, leaving.key);
    params_int(&p, leaving.n);
    params_int(&p, (int64_t)room);
    code = write_rows(&p, &n, err);
    if (code == 0 && n < room) {
        params_init(&p, s, SQL_LEAVING_DELETE);
        params_int(&p, leaving.key);
        code = write_rows(&p, &noted, err);
    }
    *ret_n = n + noted;
    return code;
}

/* Keeps the records from @seq on; the chunk that contains it is cut. */
static int keep_ending(struct store *s, int64_t key, uint64_t seq, struct error *err)
{
    struct postgres_params p;
    struct str chunk;
    int64_t last;
    int code = chunk_from(s, key, seq, &chunk, &last, err);

    if (code != 0)
        return code == ERR_NOT_FOUND ? 0 : code;
    params_init(&p, s, SQL_ENDING_KEEP);
    params_int(&p, key);
    params_int(&p, (int64_t)seq);
    params_int(&p, last);
    params_text(&p, chunk);
    return write_rows(&p, NULL, err);
}

/* An expired job keeps only its ending, never its job.start. */
static int withdraw(struct store *s, int64_t now, size_t *ret_n, struct error *err)
{
    struct postgres_params p;
    struct expiring job;

    params_init(&p, s, SQL_WHOLE_JOB);
    params_int(&p, now);
    params_int(&p, postgres_of(s)->shard);
    int code = find(&p, &job, err);
    if (code != 0 || job.key == 0)
        return code;
    code = keep_ending(s, job.key, (uint64_t)job.n, err);
    params_init(&p, s, SQL_JOB_WITHDRAW);
    params_int(&p, job.key);
    params_int(&p, job.n);
    params_int(&p, now);
    return code == 0 ? write_rows(&p, ret_n, err) : code;
}

static int forget(struct store *s, int64_t before, size_t *ret_n, struct error *err)
{
    struct postgres_params p;
    struct expiring job;

    params_init(&p, s, SQL_EXPIRED_JOB);
    params_int(&p, before);
    params_int(&p, postgres_of(s)->shard);
    int code = find(&p, &job, err);
    if (code != 0 || job.key == 0)
        return code;
    *ret_n = 1;
    return postgres_job_delete(s, job.key, err);
}

static int expire_items(struct store *s,
                        int64_t now,
                        size_t room,
                        size_t *ret_n,
                        struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_ITEMS_EXPIRE);
    params_int(&p, now);
    params_int(&p, (int64_t)room);
    return write_rows(&p, ret_n, err);
}

int postgres_expire(struct store *s,
                    int64_t now,
                    int64_t keep_ms,
                    size_t limit,
                    size_t *ret_n,
                    struct error *err)
{
    size_t n = 0, done = 1;
    int code = 0;

    bool is_first = postgres_of(s)->shard == 0; /* it does what belongs to no shard */

    while (code == 0 && n < limit && done > 0) {
        done = 0;
        if (is_first)
            code = sweep(s, now, limit - n, &done, err);
        if (code == 0 && done == 0)
            code = withdraw(s, now, &done, err);
        if (code == 0 && done == 0)
            code = forget(s, now - keep_ms, &done, err);
        if (code == 0 && done == 0 && is_first)
            code = expire_items(s, now, limit - n, &done, err);
        if (code == 0 && done == 0 && is_first)
            code = postgres_webhooks_expire(s, now, limit - n, &done, err);
        n += done;
    }
    if (code == 0)
        *ret_n = n;
    /* Last, because a partition that is dropped is locked until the commit. */
    return code == 0 && n < limit ? partitions_tend(postgres_of(s), err) : code;
}
