/* A lease session: one leased job, and the requests to the journal about it.
 *
 *     lines ──▶ APPEND, one at a time ──▶ … ──▶ the final request ──▶ over
 *
 * Its owner puts in the output of the job's process, and at the end one final request. ERR_BUSY
 * means "not stored": the same request is sent again later.
 *
 * Loop thread only. */
#ifndef AGENTS_LEASE_SESSION_H
#define AGENTS_LEASE_SESSION_H

#include "agents/assignment.h"
#include "agents/outbox.h"
#include "journal/journal.h"

struct lease_session;
struct host;

struct lease_session_events {
    /* The journal wants the work to stop; maybe more than once. */
    void (*cancel)(struct lease_session *d);
    /* The job is to pause at its next step; may be called again.  NULL: it cannot pause. */
    void (*pause)(struct lease_session *d);
    /* Another worker has the job (or it is deleted: ERR_REFUSED, ERR_NOT_FOUND), or it has
     * ended (ERR_CLOSED).  Once; nothing more is sent, and `over` follows. */
    void (*lost)(struct lease_session *d, int code);
    /* The journal refused a batch for good; it is dropped, and what waited behind it. */
    void (*refused)(struct lease_session *d, struct str why);
    /* Lines are stored: there is room. */
    void (*stored)(struct lease_session *d);
    /* Once: the final request was answered, or can no longer be sent. */
    void (*over)(struct lease_session *d);
    /* After lease_session_close: the memory is the owner's again. */
    void (*closed)(struct lease_session *d);
};

/* The final request. */
struct last_report {
    enum journal_op op; /* FINISH, RETURN or LOSE */
    enum job_end end;
    bool interrupted, end_of_stream;
    struct str error, error_type;
    struct str output;  /* JSON */
    struct str details; /* JSON: what else is known of the error */
    struct str phase;   /* of a failure; absent: the journal decides */
};

struct lease_session {
    void *owner;
    const struct lease_session_events *events;
    const struct host *host; /* borrowed */
    struct str job;          /* in `mem` */
    struct str agent;        /* borrowed */
    const char *source;      /* of its lines, for people: "stdout", unless the owner says so */
    int64_t key, attempt;
    int64_t lease_ms;
    struct arena mem;
    struct outbox outbox;
    struct journal_request report; /* APPEND, then the final request */
    struct journal_request beat;
    uv_timer_t retry;
    int64_t retry_ms; /* the last delay; 0: the last try went well */
    struct last_report last;
    bool has_last;    /* it is known */
    bool is_retrying; /* `retry` runs */
    bool last_sent, last_heard;
    bool is_gone; /* lost */
    bool is_over;
    bool is_closing, is_closed;
};

/* Of the job that @lease brought.  ERR_NOMEM: nothing is to be closed. */
int lease_session_init(struct lease_session *d,
                       const struct host *host,
                       struct str agent,
                       const struct journal_request *lease,
                       const struct lease_session_events *events,
                       void *owner);

/* What its worker is to be told; @lease lends the texts. */
struct assignment lease_session_assignment(const struct lease_session *d,
                                           const struct journal_request *lease);

bool lease_session_is(const struct lease_session *d, int64_t key, int64_t attempt);

/* The beginning, the middle or the end of lines; nothing is sent before lease_session_go_on.
 * ERR_TOO_LARGE: a line over the limit, ERR_NOMEM. */
int lease_session_put(struct lease_session *d, struct str bytes);
/* There is no more: what is left is the last line, without a newline. */
int lease_session_put_end(struct lease_session *d);
void lease_session_go_on(struct lease_session *d);
/* Sets the final request, which is sent when all lines are stored.  It may be changed until
 * then. */
void lease_session_end(struct lease_session *d, const struct last_report *last);
/* Sends a heartbeat now; its answer says whether to cancel or pause. */
void lease_session_ask(struct lease_session *d);
/* Sends nothing more; the lease stays valid for the server that asks for it again. */
void lease_session_leave(struct lease_session *d);
/* The manager stops: what waits to be tried again is tried at once, for the last time. */
void lease_session_hurry(struct lease_session *d);

/* Bytes of lines that wait. */
static inline size_t lease_session_waiting(const struct lease_session *d)
{
    return outbox_waiting(&d->outbox);
}

/* A line about the job for people: "spoolwire: @what: @why". */
void lease_session_remark(const struct lease_session *d, const char *what, const char *why);

/* Only when it is over. */
void lease_session_close(struct lease_session *d);

#endif
