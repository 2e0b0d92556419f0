#include "transport/places.h"

#include "base/error.h"
#include "base/table.h"
#include "jobs/job.h"

#include <stdlib.h>

enum { MARK_DIGITS = 8 };

/* --- the list ------------------------------------------------------------------------- */

static size_t count_items(struct str list)
{
    size_t n = list.n > 0;

    for (size_t i = 0; i < list.n; i++)
        n += list.p[i] == ',';
    return n;
}

/* "job" or "job@57.1" */
static bool read_item(struct str item, struct str *ret_job, struct cursor *ret)
{
    *ret_job = str_head(item, str_find(item, '@'));
    return job_id_valid(*ret_job) && cursor_read(str_skip(item, ret_job->n + 1), ret) == 0;
}

static bool has_job(const struct places *p, size_t n, struct str job)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(p->jobs[i], job))
            return true;
    return false;
}

static int read_list(struct places *p, struct str list, struct error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        struct str item = str_head(list, str_find(list, ','));

        if (!read_item(item, &p->jobs[i], &p->at[i]))
            return error_set(err, ERR_SYNTAX,
                             "jobs must be ids with commas between, such as a,b@57");
        if (has_job(p, i, p->jobs[i]))
            return error_set(err, ERR_SYNTAX, "a job is in the list twice: %.*s",
                             STR_ARG(p->jobs[i]));
        list = str_skip(list, item.n + 1);
    }
    return 0;
}

int places_init(struct places *p, struct str list, size_t max, struct error *err)
{
    size_t n = count_items(list);

    *p = (struct places){ .mark = (uint32_t)key_stable(0, list).a };
    if (n > max)
        return error_set(err, ERR_LIMIT, "at most %zu jobs share a connection", max);
    p->jobs = calloc(n + 1, sizeof(*p->jobs));
    p->at = calloc(n + 1, sizeof(*p->at));
    if (p->jobs == NULL || p->at == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    p->n = n;
    return read_list(p, list, err);
}

void places_done(struct places *p)
{
    free(p->jobs);
    free(p->at);
    *p = (struct places){ .n = 0 };
}

/* --- ids ------------------------------------------------------------------------------ */

static void put_mark(struct buf *out, uint32_t mark)
{
    static const char hex[] = "0123456789abcdef";

    for (int i = MARK_DIGITS - 1; i >= 0; i--)
        buf_char(out, hex[mark >> 4 * i & 15]);
}

void places_put_id(const struct places *p, struct buf *out)
{
    put_mark(out, p->mark);
    for (size_t i = 0; i < p->n; i++) {
        buf_char(out, i == 0 ? ':' : ',');
        buf_u64(out, p->at[i].seq);
        if (p->at[i].k != 0) {
            buf_char(out, '.');
            buf_u64(out, p->at[i].k);
        }
    }
}

static int parse_id(const struct places *p, struct str id, struct cursor *ret)
{
    char digits[MARK_DIGITS];
    /* Large enough for all digits; never grows. */
    struct buf b = { .p = digits, .cap = sizeof(digits), .max = sizeof(digits) };

    put_mark(&b, p->mark);
    if (!str_starts(id, buf_text(&b)))
        return ERR_SYNTAX;
    id = str_skip(id, MARK_DIGITS);
    for (size_t i = 0; i < p->n; i++) {
        if (id.n == 0 || id.p[0] != (i == 0 ? ':' : ','))
            return ERR_SYNTAX;
        id = str_skip(id, 1);
        struct str place = str_head(id, str_find(id, ','));
        if (cursor_parse(place, &ret[i]) != 0)
            return ERR_SYNTAX;
        id = str_skip(id, place.n);
    }
    return id.n == 0 ? 0 : ERR_SYNTAX;
}

int places_resume(struct places *p, struct str id)
{
    struct cursor *at = calloc(p->n + 1, sizeof(*at));
    int err = at != NULL ? parse_id(p, id, at) : ERR_NOMEM;

    if (err != 0) {
        free(at);
        return err;
    }
    free(p->at);
    p->at = at;
    return 0;
}
