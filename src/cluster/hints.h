/* Hints: what this gateway tells the others after a commit, and what it hears from them.
 *
 *     journal's thread ── hints_add ──▶ lines ── hints_send ──▶ NOTIFY ─ ─ ▶ the others
 *     their NOTIFY ─ ─ ▶ gateways_wait ── hints_take ──▶ notifier, agents
 *
 * A hint saves time and may get lost (law 6): who hears none looks at the store once a second.
 * Lines wait until the member sends them; those of one job are merged meanwhile, so that many
 * commits cost few NOTIFYs.  If they do not fit, one line "look at the store" replaces them. */
#ifndef CLUSTER_HINTS_H
#define CLUSTER_HINTS_H

#include "cluster/wakeup.h"
#include "hub/hub.h"
#include "store/gateways.h"

struct hints;

MUST_CHECK int hints_new(struct hints **ret);
void hints_free(struct hints *h);

/* From any thread.  @g is woken when there is something to send; NULL: nothing is gathered from
 * now on, and no hints_add() uses the former one any more. */
void hints_send_with(struct hints *h, struct gateways *g);
/* From any thread. */
void hints_add(struct hints *h, const struct wakeup *wakeup);
/* What a commit has changed in a job. */
void hints_add_publication(struct hints *h, const struct publication *p);
/* Has it nothing but new records?  Only who has readers of the job needs to know. */
bool hints_is_plain(const struct publication *p);
/* Sends what has gathered; on the thread of @g. */
void hints_send(struct hints *h, struct gateways *g);

/* Who is told what another gateway's hint says. */
struct hint_listener {
    struct hub_shared *hub;    /* borrowed */
    struct notifier *notifier; /* borrowed */
    /* Work may wait for @agent; absent: for any. */
    void (*queued)(void *arg, struct str agent);
    /* A job was cancelled or paused. */
    void (*stopped)(void *arg, int64_t key, int64_t attempt, bool is_pause);
    void *arg;
    /* Another gateway writes @shard now. */
    void (*moved)(void *moved_arg, int64_t shard);
    void *moved_arg;
    /* Out, for other threads: */
    _Atomic uint64_t n_heard;
    _Atomic uint64_t n_pushed; /* records that came with wake-ups */
    atomic_llong lag_ms;       /* from the commit to us, of the last one */
};
/* Reads the lines of one NOTIFY. */
void hints_take(struct hint_listener *to, struct str text);
/* A wake-up that came with its records.  From any thread. */
void hints_hear(struct hint_listener *to,
                const struct wakeup *w,
                const struct live_records *live);

#endif
