/* A lease session: one leased job, and the requests to the journal about it.
 *
 *     lines ──▶ APPEND, one at a time ──▶ … ──▶ the final request ──▶ over
 *
 * Its owner adds the output of the job's process, and at the end one final request.  ERR_BUSY
 * from the journal means "not stored": the same request is sent again later.
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
    /* The journal asks to stop the job; may be called again. */
    void (*cancel)(struct lease_session *d);
    /* The job should pause at its next step; may be called again.  NULL: it cannot pause. */
    void (*pause)(struct lease_session *d);
    /* Another worker has the job (or it is deleted: ERR_REFUSED, ERR_NOT_FOUND), or it has
     * ended (ERR_CLOSED).  Once; nothing more is sent, and `over` follows. */
    void (*lost)(struct lease_session *d, int code);
    /* The journal refused a batch for good; the batch and the lines after it are dropped. */
    void (*refused)(struct lease_session *d, struct str why);
    /* Lines were stored: there is room for more. */
    void (*stored)(struct lease_session *d);
    /* Called once: the final request was answered, or can no longer be sent. */
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
    struct str details; /* JSON: more about the error */
    struct str phase;   /* of a failure; absent: the journal decides */
};

struct lease_session {
    void *owner;
    const struct lease_session_events *events;
    const struct host *host; /* borrowed */
    struct str job;          /* in `mem` */
    struct str agent;        /* borrowed */
    const char *source; /* the name of its output in log messages: "stdout", unless the owner
                           sets it */
    int64_t key, attempt;
    int64_t lease_ms;
    struct arena mem;
    struct outbox outbox;
    struct journal_request report; /* APPEND, then the final request */
    struct journal_request beat;
    uv_timer_t retry;
    int64_t retry_ms; /* the last delay; 0: the last request succeeded */
    struct last_report last;
    bool has_last;    /* the final request is known */
    bool is_retrying; /* `retry` runs */
    bool last_sent, last_heard;
    bool is_gone; /* the job is lost */
    bool is_over;
    bool is_closing, is_closed;
};

/* Starts the session for the job of @lease.  ERR_NOMEM: nothing is to be closed. */
int lease_session_init(struct lease_session *d,
                       const struct host *host,
                       struct str agent,
                       const struct journal_request *lease,
                       const struct lease_session_events *events,
                       void *owner);

/* The assignment for its worker; borrows the texts of @lease. */
struct assignment lease_session_assignment(const struct lease_session *d,
                                           const struct journal_request *lease);

bool lease_session_is(const struct lease_session *d, int64_t key, int64_t attempt);

/* Adds output, which need not end with a line; nothing is sent before lease_session_go_on.
 * ERR_TOO_LARGE: a line over the limit, ERR_NOMEM. */
int lease_session_put(struct lease_session *d, struct str bytes);
/* End of the output: the rest is the last line, without a newline. */
int lease_session_put_end(struct lease_session *d);
void lease_session_go_on(struct lease_session *d);
/* Sets the final request, which is sent when all lines are stored.  It may be changed until
 * then. */
void lease_session_end(struct lease_session *d, const struct last_report *last);
/* Sends a heartbeat now; its answer says whether to cancel or pause. */
void lease_session_ask(struct lease_session *d);
/* Sends nothing more; the lease stays valid for the next server, which asks for it again. */
void lease_session_leave(struct lease_session *d);
/* The manager stops: a request that waits for a retry is sent at once, for the last time. */
void lease_session_hurry(struct lease_session *d);

/* Bytes of lines that wait to be sent. */
static inline size_t lease_session_waiting(const struct lease_session *d)
{
    return outbox_waiting(&d->outbox);
}

/* Logs a line about the job: "spoolwire: @what: @why". */
void lease_session_remark(const struct lease_session *d, const char *what, const char *why);

/* Only when it is over. */
void lease_session_close(struct lease_session *d);

#endif
