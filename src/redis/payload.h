/* The few members of a message that the subscriber needs before it hands the message to the
 * journal. Pure. */
#ifndef REDIS_PAYLOAD_H
#define REDIS_PAYLOAD_H

#include "base/str.h"

#include <stdint.h>

struct json_reader;

struct payload_about {
    int64_t producer_seq; /* the member producer_seq; -1: none */
    bool asks;            /* the event is graph.interrupt or graph.paused */
    bool ends;            /* the event is job.done or job.failed */
};

/* For a message that is not JSON, everything is absent. */
struct payload_about payload_read(struct json_reader *reader, struct str payload);

#endif
