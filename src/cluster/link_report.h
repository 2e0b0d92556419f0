/* What is told of a link: that it came up, went down, or does not come up, and why.
 *
 * A link tries to connect many times a second.  A reason is told once, after it has been down
 * for a moment, and one that comes and goes is told every few seconds at most.
 *
 * Of one thread. */
#ifndef CLUSTER_LINK_REPORT_H
#define CLUSTER_LINK_REPORT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct link_report {
    /* @why it is down; absent: it is up.  NULL: nobody wants to know. */
    void (*tell)(void *arg, struct str url, struct str why);
    void *arg;
    /* What was told last, and when; why[0] == '\0': that it is up, or nothing yet. */
    char url[256], why[160];
    int64_t told_at;
    bool is_up;         /* as it was told */
    int64_t down_since; /* 0: it is up, or was not tried */
};

/* It is connected to @url. */
void link_report_up(struct link_report *r, const char *url, int64_t now);
/* It was lost, or could not be made. */
void link_report_down(struct link_report *r, const char *url, const char *why, int64_t now);
/* It goes to another gateway from now on. */
void link_report_turn(struct link_report *r);

#endif
