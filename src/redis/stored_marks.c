#include "redis/stored_marks.h"

#include "base/buf.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>

#define JOB_OF_MARKS STR("!mark")

struct stored_marks {
    pthread_mutex_t lock;
    struct stored_mark *first; /* under lock, with all in it */
    struct buf channel;
};

int stored_marks_new(const struct channel *c, struct stored_marks **ret)
{
    struct stored_marks *ms = calloc(1, sizeof(*ms));

    if (ms == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&ms->lock, NULL); /* cannot fail on Linux */
    buf_init(&ms->channel, 1 << 16);
    channel_put(c, JOB_OF_MARKS, &ms->channel);
    int err = ms->channel.error;
    if (err != 0)
        stored_marks_free(ms);
    else
        *ret = ms;
    return err;
}

void stored_marks_free(struct stored_marks *ms)
{
    if (ms == NULL)
        return;
    buf_done(&ms->channel);
    (void)pthread_mutex_destroy(&ms->lock);
    free(ms);
}

struct str stored_marks_channel(const struct stored_marks *ms)
{
    return buf_text(&ms->channel);
}

bool stored_marks_put(struct stored_marks *ms, struct stored_mark *m, struct str job)
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

bool stored_marks_drop(struct stored_marks *ms, struct stored_mark *m)
{
    struct stored_mark **at = &ms->first;

    (void)pthread_mutex_lock(&ms->lock);
    while (*at != NULL && *at != m)
        at = &(*at)->next;
    bool was_there = *at == m;
    if (was_there)
        *at = m->next;
    (void)pthread_mutex_unlock(&ms->lock);
    return was_there;
}

bool stored_marks_are_of(struct str job)
{
    return str_eq(job, JOB_OF_MARKS);
}

size_t stored_marks_read(struct stored_marks *ms, struct str text, char job[MARK_JOB_MAX])
{
    size_t n = 0;

    (void)pthread_mutex_lock(&ms->lock);
    struct stored_mark *m = ms->first;
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

static void on_told(struct loop_message *message)
{
    struct stored_mark *m = container_of(message, struct stored_mark, message);

    m->came(m);
}

void stored_marks_stored(struct stored_marks *ms, struct str job)
{
    (void)pthread_mutex_lock(&ms->lock);
    for (struct stored_mark **at = &ms->first; *at != NULL;) {
        struct stored_mark *m = *at;

        if (!m->is_read || !str_eq(job, str_make(m->job, m->job_n))) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->message.deliver = on_told;
        (void)mailbox_post(m->home, &m->message); /* one that is closed is waited for by nobody
                                                   */
    }
    (void)pthread_mutex_unlock(&ms->lock);
}
