#include "bus/marks.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>

#define JOB_OF_MARKS STR("!mark")

struct marks {
    pthread_mutex_t lock;
    struct mark *first; /* under lock, with all in it */
    struct buf channel;
};

int marks_new(const struct channel *c, struct marks **ret)
{
    struct marks *ms = calloc(1, sizeof(*ms));

    if (ms == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&ms->lock, NULL); /* cannot fail on Linux */
    buf_init(&ms->channel, 1 << 16);
    channel_put(c, JOB_OF_MARKS, &ms->channel);
    int err = ms->channel.error;
    if (err != 0)
        marks_free(ms);
    else
        *ret = ms;
    return err;
}

void marks_free(struct marks *ms)
{
    if (ms == NULL)
        return;
    buf_done(&ms->channel);
    (void)pthread_mutex_destroy(&ms->lock);
    free(ms);
}

struct str marks_channel(const struct marks *ms)
{
    return buf_text(&ms->channel);
}

bool marks_put(struct marks *ms, struct mark *m, struct str job)
{
    if (!random_uuid(m->text))
        return false;
    m->is_read = false;
    m->job_n = job.n < sizeof(m->job) ? job.n : sizeof(m->job);
    memcpy(m->job, job.p, m->job_n);
    (void)pthread_mutex_lock(&ms->lock);
    m->next = ms->first;
    ms->first = m;
    (void)pthread_mutex_unlock(&ms->lock);
    return true;
}

bool marks_drop(struct marks *ms, struct mark *m)
{
    struct mark **at = &ms->first;

    (void)pthread_mutex_lock(&ms->lock);
    while (*at != NULL && *at != m)
        at = &(*at)->next;
    bool was_there = *at == m;
    if (was_there)
        *at = m->next;
    (void)pthread_mutex_unlock(&ms->lock);
    return was_there;
}

bool marks_are_of(struct str job)
{
    return str_eq(job, JOB_OF_MARKS);
}

size_t marks_read(struct marks *ms, struct str text, char job[MARK_JOB_MAX])
{
    size_t n = 0;

    (void)pthread_mutex_lock(&ms->lock);
    struct mark *m = ms->first;
    while (m != NULL && !str_eq(text, str_make(m->text, sizeof(m->text))))
        m = m->next;
    if (m != NULL) {
        m->is_read = true;
        n = m->job_n;
        memcpy(job, m->job, n);
    }
    (void)pthread_mutex_unlock(&ms->lock);
    return n;
}

static void on_told(struct letter *letter)
{
    struct mark *m = (struct mark *)(void *)((char *)letter - offsetof(struct mark, letter));

    m->came(m);
}

void marks_stored(struct marks *ms, struct str job)
{
    (void)pthread_mutex_lock(&ms->lock);
    for (struct mark **at = &ms->first; *at != NULL;) {
        struct mark *m = *at;

        if (!m->is_read || !str_eq(job, str_make(m->job, m->job_n))) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->letter.deliver = on_told;
        (void)mailbox_post(m->home, &m->letter); /* one that is closed is waited for by nobody
                                                  */
    }
    (void)pthread_mutex_unlock(&ms->lock);
}
