#include "agents/arq_desk.h"

#include <stdio.h>
#include <time.h>

int64_t desk_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
