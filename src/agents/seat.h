/* A seat: one job in a process of a pool.
 *
 *     WORKING ──cancel, lost──▶ TOLD ("cancel" on stdin) ──▶ LEFT ──duty over──▶ closed
 *        └──────────────── finish, return ────────────────────▲
 *
 * The process has the job until the seat is LEFT: it said so, or it is gone, or it did not
 * stop within the grace time.  What is still to be said to the journal is said after that.
 *
 * Loop thread only. */
#ifndef AGENTS_SEAT_H
#define AGENTS_SEAT_H

#include "agents/duty.h"

struct child;
struct duty_word;
struct report;
struct seat;

enum seat_state { SEAT_WORKING, SEAT_TOLD, SEAT_LEFT, SEAT_STATE_MAX };

struct seat_events {
    /* The process was told to stop it: seat_next has changed. */
    void (*told)(struct seat *s);
    /* Once: the process has nothing to do with it any more; @finished: by its own word. */
    void (*left)(struct seat *s, bool finished);
    /* Lines are stored: there is room. */
    void (*stored)(struct seat *s);
    /* Its memory goes. */
    void (*closed)(struct seat *s);
};

struct seat {
    struct seat *next; /* the owner's */
    void *owner;
    const struct seat_events *events;
    struct child *child; /* borrowed: the process */
    struct duty duty;
    enum seat_state state;
    int64_t grace_ms;
    int64_t heard; /* the last sign of life; on the loop's clock, like the next */
    int64_t stop_by;
    bool is_cancelled;
    bool is_paused;  /* and was told so */
    bool is_doubted; /* its lease has run out, and what is in the pipe is read first */
};

/* Gives the job of @lease to the process.  The seat is LEFT already when the job was cancelled
 * before, or could not be given.  ERR_NOMEM: there is no seat. */
int seat_new(const struct host *host,
             struct str agent,
             struct child *child,
             int64_t grace_ms,
             const struct journal_request *lease,
             const struct seat_events *events,
             void *owner,
             struct seat **ret);

/* What the process says about it. */
void seat_hear(struct seat *s, const struct report *report);
/* A cancel was requested. */
void seat_cancel(struct seat *s);

/* What time brings: a lease without a sign of life.  @is_heard: we have listened to the
 * process, so silence is its own. */
void seat_look(struct seat *s, bool is_heard);
/* It was to stop, and did not in time: seat_desert is next. */
bool seat_is_stuck(const struct seat *s);
/* When one of these two is to be called, on the loop's clock; INT64_MAX: never. */
int64_t seat_next(const struct seat *s);

/* The process is gone, or not to be waited for; @word is what that means for the job, unless
 * it was cancelled or has its last word. */
void seat_desert(struct seat *s, const struct duty_word *word);

#endif
