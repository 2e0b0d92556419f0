#include "agents/arq_desk.h"

#include <stdio.h>

void desk_say(const struct arq_desk *d, struct str job, const char *what)
{
    if (d->opt.log != NULL)
        d->opt.log(d->opt.arg, job, str_of(what));
}

struct str desk_queue(const struct arq_desk *d)
{
    return str_of(d->opt.queue);
}

struct desk_number desk_number_of(int64_t value)
{
    struct desk_number n;

    (void)snprintf(n.text, sizeof(n.text), "%lld", (long long)value); /* fits */
    return n;
}

bool desk_send(struct arq_desk *d,
               const struct str *args,
               size_t n,
               redis_reply_cb cb,
               void *arg,
               unsigned *flying)
{
    bool sent = redis_send(d->redis, args, n, 0, cb, arg) == 0;

    if (sent && flying != NULL)
        ++*flying;
    return sent;
}
