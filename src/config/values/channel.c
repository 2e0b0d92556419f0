#include "config/values/channel.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "base/error.h"

#define MARK STR("{job_id}")

/* Where {job_id} stands, or s.n. */
static size_t find_mark(struct str s)
{
    for (size_t i = 0; i + MARK.n <= s.n; i++)
        if (str_starts(str_skip(s, i), MARK))
            return i;
    return s.n;
}

int channel_parse(struct str pattern, struct channel *ret, struct error *err)
{
    size_t at = find_mark(pattern);
    struct str after = str_skip(pattern, at + MARK.n);

    if (at == pattern.n || find_mark(after) < after.n)
        return error_set(err, ERR_SYNTAX,
                         "it must have {job_id} in it once, as in jobs:{job_id}:events");
    if (str_has(pattern, '\0'))
        return error_set(err, ERR_SYNTAX, "it has a NUL in it");
    *ret = (struct channel){ .before = str_head(pattern, at), .after = after };
    return 0;
}

void channel_put(const struct channel *c, struct str job, struct buf *out)
{
    text_format(out, "%s%s%s", c->before, job, c->after);
}

static void put_literally(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("*?[]^\\", s.p[i]) != NULL)
            buf_char(out, '\\');
        buf_char(out, s.p[i]);
    }
}

void channel_put_glob(const struct channel *c, struct buf *out)
{
    put_literally(c->before, out);
    buf_char(out, '*');
    put_literally(c->after, out);
}

bool channel_find_job(const struct channel *c, struct str name, struct str *ret)
{
    if (name.n < c->before.n + c->after.n || !str_starts(name, c->before) ||
        !str_ends(name, c->after))
        return false;
    *ret = str_make(name.p + c->before.n, name.n - c->before.n - c->after.n);
    return true;
}
