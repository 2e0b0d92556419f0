/* LangChain's messages as the LangGraph server writes them: pydantic's model_dump, flat. */
#ifndef DEMO_MESSAGE_H
#define DEMO_MESSAGE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/* A call of a tool, by a model. */
struct demo_call {
    struct str tool;
    struct str args; /* JSON */
    struct str id;
};

struct demo_usage {
    uint64_t input, output;
};

/* @id may be absent, which is null. */
void demo_put_human(struct buf *b, struct str text, struct str id);
void demo_put_system(struct buf *b, struct str text);
/* @call may be NULL; @usage too: then the message was not made by a model. */
void demo_put_ai(struct buf *b,
                 struct str text,
                 struct str id,
                 const struct demo_call *call,
                 const struct demo_usage *usage);
void demo_put_tool(struct buf *b, struct str text, struct str id, const struct demo_call *call);

/* What a chunk of a streamed message carries; everything else about it is the same. */
struct demo_chunk {
    struct str id;
    struct str text;
    const struct demo_call *call;   /* opens a call: its name and id */
    struct str args;                /* a piece of its arguments, or absent */
    const char *finish;             /* "stop", "tool_calls", or NULL */
    const struct demo_usage *usage; /* only on the last one */
};
void demo_put_chunk(struct buf *b, const struct demo_chunk *chunk);

#endif
