/* The events of LangGraph's thread-scoped protocol (v2).
 *
 * Not in dialect/list.h: an event's id contains the number of its run in the thread
 * (variant.run), so only LangGraph's routes can ask for it.  Each frame is one whole event, and
 * begins in the same way, so that readers can be filtered without parsing it
 * (transport/thread_line.h):
 *
 *     {"type":"event","event_id":"<ms>-<seq>","seq":<seq>,"method":"messages",
 *      "params":{"namespace":["agent:1"],"timestamp":<ms>,"data":{…}}} */
#ifndef DIALECT_THREAD_EVENTS_H
#define DIALECT_THREAD_EVENTS_H

#include "dialect/dialect.h"

extern const struct dialect dialect_thread_events;

/* The number of an event in its thread: rises with every event, is never given twice, and stays
 * below 2^53, where JavaScript's numbers end. */
enum { THREAD_SEQ_FRAME_BITS = 5, THREAD_SEQ_RECORD_BITS = 28 };

static inline uint64_t thread_seq(uint64_t run, uint64_t record, uint32_t frame)
{
    return run << (THREAD_SEQ_RECORD_BITS + THREAD_SEQ_FRAME_BITS) |
           record << THREAD_SEQ_FRAME_BITS | frame;
}

static inline uint64_t thread_seq_run(uint64_t seq)
{
    return seq >> (THREAD_SEQ_RECORD_BITS + THREAD_SEQ_FRAME_BITS);
}

static inline uint64_t thread_seq_record(uint64_t seq)
{
    return seq >> THREAD_SEQ_FRAME_BITS & ((UINT64_C(1) << THREAD_SEQ_RECORD_BITS) - 1);
}

#endif
