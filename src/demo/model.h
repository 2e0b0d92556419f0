/* Calls of a chat model, and of a chain prompt | model | parser, one event at a time, so
 * that several can go on at once.
 *
 * All memory is the caller's and the emitter's; nothing needs freeing. */
#ifndef DEMO_MODEL_H
#define DEMO_MODEL_H

#include "demo/emit.h"
#include "demo/message.h"

struct demo_model {
    struct demo_run run;
    struct str input; /* JSON: the messages, without the outer brackets */
    struct str text;  /* what it says, or the arguments of its call */
    bool calls;       /* a tool */
    struct demo_call call;
    char message_id[64];
    bool raises; /* half way through */
    /* Where it is. */
    unsigned phase;
    struct str rest;
    struct demo_usage usage;
    uint64_t n_tokens, n_said;
};

/* @prompt is the text of the one human message. */
void demo_model_init(struct demo_emit *e,
                     struct demo_model *m,
                     const struct demo_run *parent,
                     const char *tag,
                     struct str prompt,
                     struct str text);
/* The same, but it calls @tool; m->call.id is made. */
void demo_model_init_call(struct demo_emit *e,
                          struct demo_model *m,
                          const struct demo_run *parent,
                          struct str prompt,
                          struct str tool,
                          struct str args);

/* From the first event to the last. */
void demo_model_play(struct demo_emit *e, struct demo_model *m);

/* The whole message, in the emitter's memory. */
struct str demo_model_message(struct demo_emit *e, const struct demo_model *m);

struct demo_chain {
    struct demo_run run, prompt_run, parser_run;
    struct demo_model model;
    struct str input; /* JSON object */
    struct str system;
    unsigned phase;
};

/* @tag is "seq:step:1" or "map:key:…". */
void demo_chain_init(struct demo_emit *e,
                     struct demo_chain *c,
                     const struct demo_run *parent,
                     const char *tag,
                     struct str input,
                     struct str system,
                     struct str prompt,
                     struct str text);

/* Plays @n of them at once, in an order that the seed decides.  @ended is called after the
 * last event of each; it may be NULL. */
void demo_chains_play(struct demo_emit *e,
                      struct demo_chain *chains,
                      size_t n,
                      void (*ended)(void *arg, size_t i),
                      void *arg);

/* A tool that is called by @parent: start, some time, end with a ToolMessage (or with the
 * bare @text, when the call has no id).  @raises: on_tool_error instead, and that is all. */
void demo_tool_play(struct demo_emit *e,
                    const struct demo_run *parent,
                    const struct demo_call *call,
                    struct str text,
                    struct str message_id,
                    bool raises);

#endif
