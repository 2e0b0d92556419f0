#include "agents/arq/context.h"

#include <stdio.h>

void arq_context_say(const struct arq_context *d, struct str job, const char *what)
{
    if (d->opt.log != NULL)
        d->opt.log(d->opt.arg, job, str_of(what));
}

struct str arq_context_queue(const struct arq_context *d)
{
    return str_of(d->opt.queue);
}

struct arq_number arq_context_number_of(int64_t value)
{
    struct arq_number n;

    (void)snprintf(n.text, sizeof(n.text), "%lld", (long long)value); /* fits */
    return n;
}

bool arq_context_send(struct arq_context *d,
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
