/* A duty: one leased job, and what is said to the journal about it.
 *
 *     lines ──▶ APPEND, one at a time ──▶ … ──▶ the last word ──▶ over
 *
 * Its owner puts in what the job's process says, and at the end one last word.  ERR_BUSY
 * means "not stored": the same words again, later.
 *
 * Loop thread only. */
#ifndef AGENTS_DUTY_H
#define AGENTS_DUTY_H

#include "agents/order.h"
#include "agents/outbox.h"
#include "bus/post.h"

struct duty;
struct host;

struct duty_events {
    /* The journal wants the work to stop; maybe more than once. */
    void (*cancel)(struct duty *d);
    /* It is to stop at its next step, as often as that is said; NULL: it cannot hear it. */
    void (*pause)(struct duty *d);
    /* Another has the job (or it is deleted: ERR_REFUSED, ERR_NOT_FOUND), or it has ended
     * (ERR_CLOSED).  Once; nothing more is said, and `over` follows. */
    void (*lost)(struct duty *d, int code);
    /* A batch was never to be taken; it is dropped, and what waited behind it. */
    void (*refused)(struct duty *d, struct str why);
    /* Lines are stored: there is room. */
    void (*stored)(struct duty *d);
    /* Once: the last word was heard, or there is nobody to say it to. */
    void (*over)(struct duty *d);
    /* After duty_close: the memory is the owner's again. */
    void (*closed)(struct duty *d);
};

/* The last word. */
struct duty_word {
    enum journal_op op; /* FINISH, RETURN or LOSE */
    enum job_end end;
    bool interrupted, end_of_stream;
    struct str error, error_type;
    struct str output;  /* JSON */
    struct str details; /* JSON: what else is known of the error */
    struct str phase;   /* of a failure; absent: the journal decides */
};

struct duty {
    void *owner;
    const struct duty_events *events;
    const struct host *host; /* borrowed */
    struct str job;          /* in `mem` */
    struct str agent;        /* borrowed */
    const char *source;      /* of its lines, for people: "stdout", unless the owner says so */
    int64_t key, attempt;
    int64_t lease_ms;
    struct arena mem;
    struct outbox outbox;
    struct post word; /* APPEND, then the last word */
    struct post beat;
    uv_timer_t retry;
    int64_t retry_ms; /* the last delay; 0: the last try went well */
    struct duty_word last;
    bool has_last;    /* it is known */
    bool is_retrying; /* `retry` runs */
    bool last_sent, last_heard;
    bool is_gone; /* lost */
    bool is_over;
    bool is_closing, is_closed;
};

/* Of the job that @lease brought.  ERR_NOMEM: nothing is to be closed. */
int duty_init(struct duty *d,
              const struct host *host,
              struct str agent,
              const struct journal_request *lease,
              const struct duty_events *events,
              void *owner);

/* What its worker is to be told; @lease lends the texts. */
struct order duty_order(const struct duty *d, const struct journal_request *lease);

bool duty_is(const struct duty *d, int64_t key, int64_t attempt);

/* The beginning, the middle or the end of lines; nothing is sent before duty_go_on.
 * ERR_TOO_LARGE: a line over the limit, ERR_NOMEM. */
int duty_put(struct duty *d, struct str bytes);
/* There is no more: what is left is the last line, without a newline. */
int duty_put_end(struct duty *d);
void duty_go_on(struct duty *d);
/* What is said when all lines are stored.  It may be changed until it is sent. */
void duty_end(struct duty *d, const struct duty_word *word);
/* A heartbeat now: also to hear whether there is news. */
void duty_ask(struct duty *d);
/* Nothing more is said: it stays ours, for who asks for the same lease again. */
void duty_leave(struct duty *d);
/* The manager stops: what waits to be tried again is tried at once, for the last time. */
void duty_hurry(struct duty *d);

/* Bytes of lines that wait. */
static inline size_t duty_waiting(const struct duty *d)
{
    return outbox_waiting(&d->outbox);
}

/* A line about the job for people: "spoolwire: @what: @why". */
void duty_remark(const struct duty *d, const char *what, const char *why);

/* Only when it is over. */
void duty_close(struct duty *d);

#endif
