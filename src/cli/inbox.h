/* An inbox: the questions that are open, told as they come and go.
 *
 * It follows the system topic, which is a hint and nothing more: what is open is asked of the
 * server, when the stream begins, after a gap, and when a question is said to be new. */
#ifndef CLI_INBOX_H
#define CLI_INBOX_H

#include "base/json.h"

struct args;
struct pages;

struct inbox_events {
    /* A question is open that was not told before; @q is an item of GET /v1/interrupts. */
    void (*opened)(void *arg, yyjson_val *q);
    /* One of those is open no longer; @how is answered, expired or closed. */
    void (*left)(void *arg, struct str job, struct str id, struct str how);
    /* All that has happened was told.  Anything but EXIT_OK ends it. */
    int (*rest)(void *arg);
    void *arg;
};

/* Follows what @pages would list, until it fails; an exit code. */
int inbox_follow(const struct args *args,
                 const struct pages *pages,
                 const struct inbox_events *events);

#endif
