/* An inbox: reports open questions as they come and go.
 *
 * It follows the system topic, which is only a hint: it asks the server for the open questions
 * when the stream begins, after a gap, and when a new question is announced. */
#ifndef CLI_INBOX_H
#define CLI_INBOX_H

#include "base/json.h"

struct args;
struct pages;

struct inbox_events {
    /* A new open question; @q is an item of GET /v1/interrupts. */
    void (*opened)(void *arg, yyjson_val *q);
    /* A question was closed; @how is answered, expired or closed. */
    void (*left)(void *arg, struct str job, struct str id, struct str how);
    /* Everything so far was reported.  Anything but EXIT_OK ends it. */
    int (*rest)(void *arg);
    void *arg;
};

/* Follows what @pages would list, until it fails; an exit code. */
int inbox_follow(const struct args *args,
                 const struct pages *pages,
                 const struct inbox_events *events);

#endif
