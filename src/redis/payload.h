/* The few members of a message that the subscriber needs before it hands the message to the
 * journal. Pure. */
#ifndef REDIS_PAYLOAD_H
#define REDIS_PAYLOAD_H

#include "base/str.h"

#include <stdint.h>

struct json_reader;

struct payload_about {
    int64_t producer_seq; /* its member of that name; -1: none */
    bool asks;            /* graph.interrupt, graph.paused */
    bool ends;            /* job.done, job.failed */
};

/* Of what is not JSON, nothing is known. */
struct payload_about payload_read(struct json_reader *reader, struct str payload);

#endif
