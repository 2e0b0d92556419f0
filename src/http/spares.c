#define _GNU_SOURCE /* accept4 */
#include "http/spares.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void refill(struct spares *s)
{
    while (s->n < SPARES) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return; /* tried again when a connection closes */
        s->fds[s->n++] = fd;
    }
}

static void give_up_one(struct spares *s)
{
    assert(s->n > 0);
    (void)close(s->fds[--s->n]); /* only /dev/null */
}

void spares_init(struct spares *s, uv_mutex_t *lock)
{
    *s = (struct spares){ .lock = lock };
    refill(s);
}

void spares_done(struct spares *s)
{
    while (s->n > 0)
        give_up_one(s);
}

int spares_accept(struct spares *s, int listener, bool lends, struct sockaddr_storage *from)
{
    socklen_t n = sizeof(*from);

    uv_mutex_lock(s->lock);
    if (lends)
        give_up_one(s);
    int fd = accept4(listener, (struct sockaddr *)from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int result = fd >= 0 ? fd : uv_translate_sys_error(errno);
    if (fd < 0 && lends)
        refill(s);
    uv_mutex_unlock(s->lock);
    return result;
}

/* Only this thread changes s->n, so spares_after_close sees the same. */
void spares_before_close(struct spares *s)
{
    if (s->n < SPARES)
        uv_mutex_lock(s->lock);
}

void spares_after_close(struct spares *s)
{
    if (s->n == SPARES)
        return;
    refill(s);
    uv_mutex_unlock(s->lock);
}

void spares_close(struct spares *s, int fd)
{
    spares_before_close(s);
    (void)close(fd); /* an error of close() cannot be handled */
    spares_after_close(s);
}
