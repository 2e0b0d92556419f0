#include "jobs/lease.h"

#include "base/error.h"
#include "store/store.h"

#include <stdio.h>

/* Ids of jobs are short; a longer one has no leases. */
enum { MAX_SIGNED = 256 + EXECUTOR_MAX };

/* The job comes last: nothing in it can be taken for another part. */
static struct str signed_text(char text[MAX_SIGNED],
                              struct str job,
                              int64_t key,
                              int64_t attempt,
                              struct str executor)
{
    bool is_bound = !str_absent(executor);
    int n =
        snprintf(text, MAX_SIGNED, "%s%.*s %lld %lld %.*s", is_bound ? "bound-lease " : "lease",
                 STR_ARG(executor), (long long)key, (long long)attempt, STR_ARG(job));

    return n > 0 && n < MAX_SIGNED ? str_make(text, (size_t)n) : STR_NONE;
}

static bool is_executor_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
}

bool executor_is_valid(struct str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (!is_executor_char(id.p[i]))
            return false;
    return id.n > 0 && id.n <= EXECUTOR_MAX;
}

void lease_put(struct buf *b,
               const unsigned char secret[MAC_KEY],
               struct str job,
               int64_t key,
               int64_t attempt,
               struct str executor)
{
    char text[MAX_SIGNED], mac[MAC_CHARS];
    struct str whole = signed_text(text, job, key, attempt, executor);

    if (str_absent(whole) || !mac_make(secret, whole, mac)) {
        b->error = ERR_NOMEM;
        return;
    }
    buf_i64(b, key);
    buf_char(b, '.');
    buf_i64(b, attempt);
    buf_char(b, '.');
    buf_put(b, mac, MAC_CHARS);
    if (str_absent(executor))
        return;
    buf_char(b, '.');
    buf_str(b, executor);
}

/* The signature, and whom it is bound to. */
static bool read_signed(struct str text, struct lease_text *lease)
{
    size_t dot = str_find(text, '.');

    lease->mac = str_head(text, dot);
    if (dot < text.n)
        lease->executor = str_skip(text, dot + 1);
    return mac_valid(lease->mac) &&
           (str_absent(lease->executor) || executor_is_valid(lease->executor));
}

bool lease_read_text(struct str text, struct lease_text *ret)
{
    struct lease_text lease = { .mac = STR_NONE, .executor = STR_NONE };
    size_t dot = str_find(text, '.');

    if (dot == text.n || !str_number(str_head(text, dot), &lease.key))
        return false;
    text = str_skip(text, dot + 1);
    dot = str_find(text, '.');
    if (!str_number(str_head(text, dot), &lease.attempt))
        return false;
    if (dot < text.n && !read_signed(str_skip(text, dot + 1), &lease))
        return false;
    *ret = lease;
    return true;
}

int lease_check(const struct lease_text *lease,
                const unsigned char secret[MAC_KEY],
                struct str job)
{
    char text[MAX_SIGNED];
    struct str whole = signed_text(text, job, lease->key, lease->attempt, lease->executor);

    return str_absent(lease->mac) || str_absent(whole) ? ERR_REFUSED
                                                       : mac_check(secret, whole, lease->mac);
}

/* --- who shows it -------------------------------------------------------------- */

bool agents_have(struct str list, struct str name)
{
    if (str_absent(list))
        return true;
    while (list.n > 0) {
        struct str one = str_head(list, str_find(list, ','));

        if (str_eq(one, name))
            return true;
        list = str_skip(list, one.n + 1);
    }
    return false;
}

static bool is_holder(const struct lease_caller *c, struct str holder)
{
    if (str_absent(c->holder) || str_absent(holder))
        return (str_absent(c->holder) && str_absent(holder)) ||
               str_is(c->holder, LEASE_ANYBODY);
    return c->is_admin || str_eq(c->holder, holder);
}

bool lease_is_callers(const struct lease_caller *c, struct str holder, struct str agent)
{
    return is_holder(c, holder) && agents_have(c->agents, agent);
}

enum lease_verdict lease_judge(const struct lease_caller *c,
                               const struct lease_shown *shown,
                               const struct job_row *row)
{
    bool is_last = shown->key == row->key && shown->attempt == row->attempt;
    bool is_mine = lease_is_callers(c, row->holder, row->agent);

    if (shown->key == 0 || (c->only_key != 0 && c->only_key != shown->key))
        return LEASE_FOREIGN;
    if (shown->is_unsigned) /* anybody can write one: it must be known to have been given */
        return is_mine && shown->key == row->key && shown->attempt == row->unsigned_attempt
                   ? LEASE_LOST
                   : LEASE_FOREIGN;
    if (is_last && is_mine)
        return str_is(row->state, "running") ? LEASE_HELD : LEASE_LOST;
    /* Who held an earlier attempt is not known any more, but its agent is. */
    return is_last || !agents_have(c->agents, row->agent) ? LEASE_FOREIGN : LEASE_LOST;
}
