/* What the readers of the five source formats share: the line they read, the members of
 * its outermost object, and the few shapes that occur in all formats.
 *
 * Internal to the normaliser. */
#ifndef INGEST_SOURCES_H
#define INGEST_SOURCES_H

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "ingest/event.h"

/* The members of a line's outermost object that most formats have, found in one pass over
 * it.  NULL: not there; their types are not checked. */
struct members {
    const yyjson_val *event;
    const yyjson_val *type;
    const yyjson_val *method;
    const yyjson_val *name;
    const yyjson_val *id;
    const yyjson_val *run_id;
    const yyjson_val *parent_ids;
    const yyjson_val *parent_run_id;
    const yyjson_val *tags;
    const yyjson_val *metadata;
    const yyjson_val *metadata_key;
    const yyjson_val *data;
};

struct source_line {
    const struct json *json; /* borrowed */
    struct str sse_event;    /* absent for JSON lines */
    struct members top;      /* all NULL when the line is no object */
    struct buf *scratch;     /* borrowed; large enough for all that is put together */
    struct error *err;       /* borrowed, or NULL */
};

int events_read(const struct source_line *in, struct event *ev);
int callbacks_read(const struct source_line *in, struct event *ev);
int envelope_read(const struct source_line *in, struct event *ev);
int modes_read(const struct source_line *in, struct event *ev);
int native_read(const struct source_line *in, struct event *ev);

/* SSE event `error`: the server reports that the run has failed. */
void modes_read_error(const struct source_line *in, struct event *ev);

/* Is @s the name of a stream mode? */
bool part_mode_find(struct str s, enum part_mode *ret);
/* NAME of the mode `custom:NAME`, which is PART_CUSTOM; absent for others. */
struct str part_channel(struct str mode);

/* Is it what astream_events(version="v3") yields?  All of that is refused. */
bool is_v3(const struct source_line *in);
int refuse_v3(const struct source_line *in);

/* --- types ------------------------------------------------------------------- */

/* @v is not what @member must be: a sentence, and ERR_TYPE. */
int wrong_type(const struct source_line *in,
               const yyjson_val *v,
               const char *member,
               const char *expected);

/* Text of @v.  Absent when it is missing or null; ERR_TYPE when it is anything but a string. */
static inline int want_text(const struct source_line *in,
                            const yyjson_val *v,
                            const char *member,
                            struct str *ret)
{
    *ret = json_text(v);
    return !str_absent(*ret) || json_is_null(v) ? 0 : wrong_type(in, v, member, "a string");
}

/* The same, and it must be there and not be empty. */
static inline int need_text(const struct source_line *in,
                            const yyjson_val *v,
                            const char *member,
                            struct str *ret)
{
    *ret = json_text(v);
    return ret->n > 0 ? 0 : wrong_type(in, v, member, "a string that is not empty");
}

/* @v when it is an object (a list), NULL when missing or null, else ERR_TYPE. */
static inline int want_object(const struct source_line *in,
                              const yyjson_val *v,
                              const char *member,
                              const yyjson_val **ret)
{
    *ret = yyjson_is_obj((yyjson_val *)v) ? v : NULL;
    return *ret != NULL || json_is_null(v) ? 0 : wrong_type(in, v, member, "an object");
}

static inline int want_list(const struct source_line *in,
                            const yyjson_val *v,
                            const char *member,
                            const yyjson_val **ret)
{
    *ret = yyjson_is_arr((yyjson_val *)v) ? v : NULL;
    return *ret != NULL || json_is_null(v) ? 0 : wrong_type(in, v, member, "a list");
}

enum { QUOTED_BYTES = 48 };
/* A sender's text for an error message: cut, and made printable. */
const char *quoted(struct str s, char out[QUOTED_BYTES]);

/* --- shapes ------------------------------------------------------------------ */

/* Sets meta, meta_key, and node, step, ns, section out of it. */
void read_meta(const yyjson_val *meta, const yyjson_val *key, struct event *ev);

/* Sets error and error_type from an exception in any encoding; never leaves error absent. */
void read_error(const yyjson_val *v, struct buf *scratch, struct event *ev);

/* message_read() into a message that is all zero already, as an event's is. */
void message_fill(const yyjson_val *v, struct buf *scratch, struct message *ret);

/* The message of a model's chunk or output, out of its generations where it is in some. */
void read_model_message(const yyjson_val *v, struct buf *scratch, struct event *ev);
/* A tool's output: the message and its call id, when it is a message. */
void read_tool_message(const yyjson_val *v, struct buf *scratch, struct event *ev);
/* A model's text where the source has nothing but that. */
void set_text_message(struct event *ev, struct str text, bool chunk);

/* As text: a string's text, compact JSON of anything else, absent for null. */
struct str text_of(const yyjson_val *v, struct buf *scratch);

/* The first of the two that is there and not null, else NULL. */
static inline const yyjson_val *either(const yyjson_val *a, const yyjson_val *b)
{
    return !json_is_null(a) ? a : !json_is_null(b) ? b : NULL;
}

/* What follows @v in its container, or what follows the container itself.  An object is
 * walked like this, without a look-up per member:
 *
 *     for (key = object + 1, end = next_value(object); key < end; key = next_value(key + 1)) */
static inline const yyjson_val *next_value(const yyjson_val *v)
{
    /* A branch is faster than yyjson's own function, which waits for the offset of every
     * value. */
    if (__builtin_expect(!unsafe_yyjson_is_ctn((yyjson_val *)v), 1))
        return v + 1;
    return unsafe_yyjson_get_next((yyjson_val *)v);
}

/* "key" == literal, where their lengths are known to be equal. */
#define key_is(key, literal) (memcmp((key), (literal), sizeof(literal) - 1) == 0)

#endif
