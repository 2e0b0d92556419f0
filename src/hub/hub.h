/* The hub of one loop: the topics of jobs that have readers here, and their recent bytes.
 *
 *     journal ──▶ notifier ──▶ hub_shared ──message──▶ hub ──▶ channel ──▶ readers
 *
 * A topic is a job.  A channel is the job in one stream format; it keeps a window of recent
 * records (hub/window.h), rendered once.  A reader is a place in a channel: inside the window
 * it takes bytes from the blocks there, behind it it reads pages from the store (hub/page.h).
 * A change is only a hint: if a record is missing, for whatever reason, the window is emptied
 * and readers read the store.
 *
 * Loop thread only, except for hub_shared. */
#ifndef HUB_HUB_H
#define HUB_HUB_H

#include "base/must_check.h"
#include "hub/notifier.h"
#include "hub/stream_format.h"
#include "loop/mailbox.h"

struct block;
struct topic_channel;
struct hub;
struct hub_shared;
struct histogram;
struct thread_pool;

/* --- between threads ---------------------------------------------------------- */

enum { HUB_MAX_LOOPS = 64 };

/* @notifier is borrowed and outlives it. */
MUST_CHECK int hub_shared_new(struct notifier *notifier, struct hub_shared **ret);
void hub_shared_free(struct hub_shared *s);
/* For journal_events: from the journal's thread. */
bool hub_wanted(void *shared, struct str job);
void hub_published(void *shared, const struct publication *pubs, size_t n);

/* From any thread: changes were lost, so all readers read the store. */
void hub_shared_missed(struct hub_shared *s);
/* From any thread: a change of @job may be lost; loops with readers of it ask the store soon,
 * as with a re-check. */
void hub_shared_look(struct hub_shared *s, struct str job);

/* Before there are readers: @watch is told on a loop that readers there wait for records of a
 * job, and later that they no longer do.  For a gateway that hears of them from another one. */
void hub_shared_set_watch(struct hub_shared *s,
                          void (*watch)(void *arg, struct str job, bool on),
                          void *arg);

/* --- on a loop ---------------------------------------------------------------- */

MUST_CHECK int hub_new(struct hub_shared *shared, struct mailbox *box, struct hub **ret);
/* Do changes come from another process (by NOTIFY, from the gateway that writes)? */
bool hub_hears_others(const struct hub *h);
/* About twice a second, where changes can get lost: asks the store for missed ones; see
 * hub/recheck.h. */
void hub_recheck(struct hub *h, struct thread_pool *pool);
/* Before the mailbox is closed: ignores later answers of the store. */
void hub_stop(struct hub *h);
/* After all readers have left and the thread pool was freed. */
void hub_free(struct hub *h);

/* A buffer for rendering before the bytes are copied elsewhere: it is empty, and the next call
 * reuses it. */
struct buf *hub_scratch(struct hub *h);
struct frames *hub_frames(struct hub *h);

/* One reader.  The owner embeds it and sets `wake`; the rest is the hub's. */
struct reader {
    struct reader *prev, *next;
    struct topic_channel *channel;
    int64_t key;         /* of the job, known from the first page on */
    uint64_t seq;        /* the last record that was returned */
    struct block *block; /* ref; the block with the next bytes; NULL: search it */
    size_t offset;
    bool done;       /* the terminal record was returned */
    bool gone;       /* the job was deleted */
    bool has_missed; /* a change was lost: read the store */
    /* New bytes may be available, or the job was deleted.  Never called from inside a
     * hub_reader call. */
    void (*wake)(struct reader *r);
};

/* Joins the channel of @job for @format; from now on no change is missed. */
MUST_CHECK int hub_join(struct hub *h,
                        struct str job,
                        const struct stream_format *format,
                        struct reader *r);
void hub_leave(struct hub *h, struct reader *r);

enum hub_next {
    HUB_BYTES,  /* @ret is the next piece; keep the block until it was sent */
    HUB_WAIT,   /* no more bytes: `wake` follows */
    HUB_BEHIND, /* outside the window: read pages after r->seq */
    HUB_END,    /* the terminal record was returned */
    HUB_GONE    /* the job was deleted */
};

/* The next bytes for @r.  HUB_BYTES moves the reader past them; r->block keeps them valid until
 * the next call. */
enum hub_next hub_reader_next(struct reader *r, struct str *ret);
/* A page could not be read: the reader is woken about a second later, and is HUB_BEHIND then.
 * False: it is not, because this hub makes no re-checks. */
bool hub_reader_retry(struct reader *r);
/* The reader got everything up to @seq from a page of the job with that @key, which was in that
 * @state. */
void hub_reader_moved(struct reader *r,
                      int64_t key,
                      uint64_t seq,
                      enum job_state state,
                      bool ended);

/* Does a worker run the job now, as far as is known?  @attempt: its attempt; 0: as in the
 * reader's last page. */
bool hub_reader_runs(const struct reader *r, int64_t *attempt);

/* --- the states of all jobs ------------------------------------------------------ */

/* A listener to all changes.  The owner embeds it and sets `hear`, which gets NULL when changes
 * were lost. */
struct hub_listener {
    struct hub_listener *prev, *next;
    void (*hear)(struct hub_listener *l, const struct change *change);
};

void hub_listen(struct hub *h, struct hub_listener *l);
void hub_unlisten(struct hub *h, struct hub_listener *l);

const struct stream_format *hub_reader_format(const struct reader *r);
struct str hub_reader_job(const struct reader *r);

/* From any thread. */
size_t hub_readers(const struct hub *h);
/* From any thread: the delivery delay, from the arrival of an append until its bytes are passed
 * to the sockets of all readers on this loop that waited for them; one value per commit and
 * channel; while readers are being served, further commits are not measured. */
const struct histogram *hub_delivery(const struct hub *h);

#endif
