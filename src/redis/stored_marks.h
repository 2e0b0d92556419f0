/* Marks: how somebody learns that all that was said on a job's channel until now is stored.
 *
 *     asks: marks_put, PUBLISH marks_channel() mark->text ──▶ Redis
 *                                                               │ to each subscriber in order
 *     told: came ◀──message── stored: stored_marks_stored ◀── stored_marks_read ◀┘
 *
 * Redis hands a subscriber what was published in the order in which it was, whatever the
 * channel: behind the mark comes nothing that was said before it.  The channel is one of those
 * that are listened to, of a job that cannot be, so that nobody else takes a mark for an event.
 *
 * From any thread. */
#ifndef REDIS_STORED_MARKS_H
#define REDIS_STORED_MARKS_H

#include "base/channel.h"
#include "base/table.h"
#include "loop/mailbox.h"

struct stored_marks;

enum { MARK_JOB_MAX = 64 };

/* Its owner's memory; all but the first two are ours. */
struct stored_mark {
    struct mailbox *home;                /* borrowed; where it is told */
    void (*came)(struct stored_mark *m); /* on the thread of that loop */
    struct loop_message message;
    struct stored_mark *next;
    bool is_read;
    size_t job_n;
    char job[MARK_JOB_MAX];
    char text[KEY_UUID_CHARS];
};

int stored_marks_new(const struct channel *c, struct stored_marks **ret);
void stored_marks_free(struct stored_marks *ms);

/* Where marks are published. */
struct str stored_marks_channel(const struct stored_marks *ms);
/* False: there are no random numbers, and it will not come. */
bool stored_marks_put(struct stored_marks *ms, struct stored_mark *m, struct str job);
/* True: it will not come.  False: it is on its way. */
bool stored_marks_drop(struct stored_marks *ms, struct stored_mark *m);

/* By the subscriber: */

/* Is @job (of a channel's name) that of marks? */
bool stored_marks_are_of(struct str job);
/* A mark has come: puts the job that it is about.  Returns its length; 0: nobody here waits
 * for it. */
size_t stored_marks_read(struct stored_marks *ms, struct str text, char job[MARK_JOB_MAX]);
/* All that has come of @job is stored. */
void stored_marks_stored(struct stored_marks *ms, struct str job);

#endif
