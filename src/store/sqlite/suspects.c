/* Jobs that the server was folding when it crashed.  In a table of their own, because rows of
 * jobs are written all the time, and these rarely. */
#include "store/sqlite/sqlite.h"

int sqlite_suspect(struct store *s,
                   int64_t job,
                   int64_t crashed,
                   int64_t set_aside,
                   struct error *err)
{
    bool is_one = crashed != 0 || set_aside != 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b =
        statement_bind(s, is_one ? STATEMENT_SUSPECT_PUT : STATEMENT_SUSPECT_DELETE);
    bind_int(&b, job);
    if (is_one) {
        bind_int(&b, crashed);
        bind_int(&b, set_aside);
    }
    return write_run(s, &b, NULL, err);
}

int sqlite_jobs_set_aside(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_JOBS_SET_ASIDE);

    return jobs_each(s, &b, SIZE_MAX, cb, arg, err);
}
