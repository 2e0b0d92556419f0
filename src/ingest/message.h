/* A LangChain message, whatever its encoding.
 *
 * Accepted: JavaScript and Python `lc` constructors, flat model_dump, {type,data},
 * generation chunks around a message, plain generations ({"text":…}), bare
 * strings, and the repr string of json.dumps(default=str), which is lossy. */
#ifndef INGEST_MESSAGE_H
#define INGEST_MESSAGE_H

#include "base/buf.h"
#include "base/json.h"

enum message_class {
    MESSAGE_NONE, /* not a message */
    MESSAGE_AI,
    MESSAGE_HUMAN,
    MESSAGE_SYSTEM,
    MESSAGE_TOOL,
    MESSAGE_OTHER,      /* function, remove, developer, chat … */
    MESSAGE_GENERATION, /* text of a completion model */
    MESSAGE_CLASS_MAX
};

struct message {
    enum message_class cls;
    bool chunk; /* a delta rather than a whole message */
    bool lossy;
    bool finish; /* response_metadata or generation_info says why it ended */
    struct str id;
    struct str text;      /* by Python's .text rule; may be empty, never absent */
    struct str reasoning; /* thinking and reasoning blocks, reasoning_content; or absent */
    struct str name;
    struct str call;               /* tool_call_id of a tool message */
    struct str status;             /* of a tool message */
    const yyjson_val *content;     /* as sent when it is a list, else NULL */
    const yyjson_val *call_chunks; /* tool_call_chunks, when not empty */
    const yyjson_val *calls;       /* tool_calls, when not empty */
    const yyjson_val *usage;       /* usage_metadata, when an object */
    const yyjson_val *response;    /* response_metadata, when an object that is not empty */
    const yyjson_val *extra;       /* additional_kwargs, when an object that is not empty */
};

/* Reads @v; text that must be put together goes to @scratch (appended; reserve
 * nothing in it across calls that may grow it).  cls is MESSAGE_NONE when @v is no message. */
void message_read(const yyjson_val *v, struct buf *scratch, struct message *ret);

/* A chunk of a model's message of which only the content came: a text or a list of blocks. */
void message_read_content(const yyjson_val *content, struct buf *scratch, struct message *ret);

/* Is @v a message in one of the object forms (not a bare string)? */
bool message_is(const yyjson_val *v);

/* Writes @v compactly with every `lc` constructor and {type,data} message in it made
 * flat, as a LangGraph server would send it; everything else as it is.  @skip is a
 * member of the outermost object to leave out, or absent.  Numbers byte for byte. */
void message_flatten(struct buf *out, const yyjson_val *v, struct str skip);

#endif
