#include "cluster/hints.h"

#include "base/clock.h"
#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_PENDING = 256, MAX_BYTES = 64 * 1024, MAX_QUESTION = 1000 };

/* A line that was not sent yet.  A later one of the same job only moves its seq. */
struct pending_hint {
    int64_t key; /* 0: it is not merged */
    size_t from;
};

struct hints {
    pthread_mutex_t lock;
    /* Under lock: */
    struct gateways *gateways; /* borrowed; NULL: nobody sends */
    struct buf lines;
    struct pending_hint pending[MAX_PENDING];
    size_t n_pending;
    bool is_lost; /* lines did not fit */
};

int hints_new(struct hints **ret)
{
    struct hints *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&h->lock, NULL); /* cannot fail on Linux */
    buf_init(&h->lines, 2 * MAX_BYTES);
    *ret = h;
    return 0;
}

void hints_free(struct hints *h)
{
    if (h == NULL)
        return;
    (void)pthread_mutex_destroy(&h->lock);
    buf_done(&h->lines);
    free(h);
}

/* --- gathering ---------------------------------------------------------------------------- */

void hints_send_with(struct hints *h, struct gateways *g)
{
    (void)pthread_mutex_lock(&h->lock);
    h->gateways = g;
    (void)pthread_mutex_unlock(&h->lock);
}

/* Is it merged with one that waits? */
static bool merge(struct hints *h, const struct wakeup *w, int64_t key)
{
    for (size_t i = h->n_pending; key != 0 && i-- > 0;)
        if (h->pending[i].key == key) {
            wakeup_set_seq(&h->lines, h->pending[i].from, w->change.last_seq);
            return true;
        }
    return false;
}

/* @key: hints of this job may be merged; 0: this one may not. */
static void add(struct hints *h, const struct wakeup *w, int64_t key)
{
    (void)pthread_mutex_lock(&h->lock);
    bool was_empty = h->n_pending == 0 && !h->is_lost;
    if (h->gateways != NULL && !merge(h, w, key)) {
        if (h->n_pending == MAX_PENDING || h->lines.n > MAX_BYTES) {
            h->is_lost = true;
        } else {
            h->pending[h->n_pending++] = (struct pending_hint){ key, h->lines.n };
            wakeup_put(&h->lines, w);
        }
        if (was_empty)
            gateways_wake(h->gateways);
    }
    (void)pthread_mutex_unlock(&h->lock);
}

void hints_add(struct hints *h, const struct wakeup *wakeup)
{
    add(h, wakeup, 0);
}

bool hints_is_plain(const struct publication *p)
{
    return !p->state_changed && !p->gone && !p->cancel_requested && !p->pause_requested &&
           p->questions == NULL;
}

void hints_add_publication(struct hints *h, const struct publication *p)
{
    struct wakeup w = { .kind = WAKEUP_JOB,
                        .change = change_of(p),
                        .is_cancelled = p->cancel_requested,
                        .is_paused = p->pause_requested };

    for (const struct question_news *q = p->questions; q != NULL; q = q->next) {
        struct wakeup asked = w;

        asked.kind = WAKEUP_QUESTION;
        asked.change.question = *q;
        asked.change.question.next = NULL;
        if (q->question.n > MAX_QUESTION)
            asked.change.question.question = STR_NONE;
        add(h, &asked, 0);
    }
    add(h, &w, hints_is_plain(p) ? p->key : 0);
}

/* --- sending ------------------------------------------------------------------------------ */

/* As many whole lines as one NOTIFY may have.  The only newline of a line is at its end: ids
 * and names have none, and questions are JSON. */
static struct str piece_of(struct str text)
{
    if (text.n <= GATEWAY_MAX_HINT)
        return text;
    size_t n = GATEWAY_MAX_HINT;
    while (n > 0 && text.p[n - 1] != '\n')
        n--;
    return str_head(text, n);
}

void hints_send(struct hints *h, struct gateways *g)
{
    struct buf lines;

    (void)pthread_mutex_lock(&h->lock);
    lines = h->lines;
    buf_init(&h->lines, 2 * MAX_BYTES);
    bool is_lost = h->is_lost || lines.error != 0;
    h->is_lost = false;
    h->n_pending = 0;
    (void)pthread_mutex_unlock(&h->lock);
    struct str rest = buf_text(&lines);
    while (rest.n > 0 && !is_lost) {
        struct str piece = piece_of(rest);

        is_lost = piece.n == 0 || gateways_tell(g, piece, NULL) != 0;
        rest = str_skip(rest, piece.n);
    }
    if (is_lost)
        (void)gateways_tell(g, STR("L\n"), NULL); /* or they look by themselves */
    buf_done(&lines);
}

/* --- hearing ------------------------------------------------------------------------------ */

static void note_lag(struct hint_listener *to, const struct change *c)
{
    int64_t lag = clock_wall_ms() - c->ts;

    if (c->ts > 0)
        to->lag_ms = lag > 0 ? lag : 0;
}

void hints_hear(struct hint_listener *to,
                const struct wakeup *w,
                const struct live_records *live)
{
    to->n_heard++;
    to->n_pushed += live != NULL ? live->n : 0;
    switch (w->kind) {
    case WAKEUP_JOB:
        note_lag(to, &w->change);
        if (w->is_cancelled || w->change.gone || w->is_paused)
            to->stopped(to->arg, w->change.key, w->change.attempt,
                        !w->is_cancelled && !w->change.gone);
        to->notifier->hear(to->notifier->arg, &w->change, live);
        break;
    case WAKEUP_QUESTION:
        to->notifier->hear(to->notifier->arg, &w->change, NULL);
        break;
    case WAKEUP_AGENT:
        to->queued(to->arg, w->change.agent);
        break;
    case WAKEUP_WRITER:
        to->moved(to->moved_arg, w->shard);
        hub_shared_missed(to->hub); /* hints of the last one may be lost, and so may records */
        break;
    case WAKEUP_LOST:
        hub_shared_missed(to->hub);
        to->queued(to->arg, STR_NONE);
        break;
    }
}

void hints_take(struct hint_listener *to, struct str text)
{
    struct wakeup w;

    while (text.n > 0) {
        if (!wakeup_take(&text, &w)) {
            hub_shared_missed(to->hub);
            return;
        }
        hints_hear(to, &w, NULL);
    }
}
