/* The frames that one record gives: named payloads, each one line of JSON.
 *
 * Frames are counted before any filter, so that frame k keeps its id whatever a
 * reader has asked for.  A dialect writes a frame like this:
 *
 *     struct buf *b = frames_begin(out, STR("agent.done"), MODE_ANY);
 *     if (b != NULL) {
 *         …append the payload…
 *         frames_end(out);
 *     }
 *
 * Memory is kept from record to record. */
#ifndef DIALECT_FRAMES_H
#define DIALECT_FRAMES_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

struct error;
struct gathered;

/* Stream modes of `messages`, as a filter.  Other dialects use MODE_ANY. */
enum {
    MODE_ANY = 0,
    MODE_VALUES = 1 << 0,
    MODE_UPDATES = 1 << 1,
    MODE_MESSAGES = 1 << 2,
    MODE_CUSTOM = 1 << 3,
    MODE_EVENTS = 1 << 4,
    MODE_TASKS = 1 << 5,
    MODE_CHECKPOINTS = 1 << 6,
    MODE_DEBUG = 1 << 7,
    MODE_TOOLS = 1 << 8,
    MODE_PARTIALS = 1 << 9, /* messages as they grow; only with what was gathered of them */
    MODE_ALL = MODE_PARTIALS - 1, /* the old form of messages is asked for by itself */
    MODE_DEFAULT = MODE_VALUES | MODE_UPDATES | MODE_MESSAGES | MODE_CUSTOM
};

/* The mode of that name ("messages-tuple" is messages too), or 0. */
uint32_t mode_find(struct str name);
/* Those of a list with commas, `all` among them; the default ones when it is absent.  ERR_TYPE:
 * there is no such mode, and the text says so. */
int mode_list(struct str list, uint32_t *ret, struct error *err);

/* The closed list of what a reader may choose within a dialect. */
struct error;
struct variant {
    uint32_t modes;   /* messages; nodes: MODE_EVENTS tells progress */
    bool subgraphs;   /* messages */
    bool aiq_compat;  /* aiq: lower-case statuses, as its 2.x page compares them */
    bool stored;      /* raw: the stored form, without the header inlined */
    bool reconnected; /* aiq: the terminal status is the first one of a reader who came back */
    uint64_t run;     /* thread events: the number of the run in its thread, for their ids */
};

enum { FRAMES_MAX = 31 }; /* of one record; fits into the ids of dialect/thread_events.h */

struct frame {
    size_t name_from, name_n; /* in names */
    size_t data_from, data_n; /* in body */
    uint32_t k;               /* from 1 */
};

struct frames {
    const struct variant *variant; /* borrowed */
    struct gathered *gathered;     /* borrowed; with the record at hand.  NULL: nobody asks */
    struct buf body;
    struct buf names;
    struct frame frame[FRAMES_MAX];
    size_t n;       /* frames to send */
    uint32_t total; /* frames counted, sent or not */
};

void frames_init(struct frames *f, size_t max_bytes);
void frames_done(struct frames *f);

/* Forgets the frames of the record before. */
void frames_clear(struct frames *f, const struct variant *variant);

/* Starts the next frame; NULL when the variant does not want it (it still counts). */
struct buf *frames_begin(struct frames *f, struct str name, uint32_t mode);

/* The same, named `name|suffix`.  Bytes of @suffix outside [A-Za-z0-9_.:|-] become '_',
 * so that no worker can write into an SSE line. */
struct buf *frames_begin_ns(struct frames *f,
                            struct str name,
                            struct str suffix,
                            uint32_t mode);

void frames_end(struct frames *f);

/* 0, or the error that stuck while rendering. */
int frames_error(const struct frames *f);

static inline struct str frame_name(const struct frames *f, const struct frame *fr)
{
    return str_make(f->names.p + fr->name_from, fr->name_n);
}

static inline struct str frame_data(const struct frames *f, const struct frame *fr)
{
    return str_make(f->body.p + fr->data_from, fr->data_n);
}

#endif
