/* Emitting events: runs with their ids, parents, tags and metadata, and the lines that
 * Python's astream_events would write about them.
 *
 *     demo_send(e, &run, DEMO_CHAIN_START, "{'input':%j}", input);
 *
 * The first thing that goes wrong sticks in `outcome`: later events are dropped, so that the
 * script need not check after each line. */
#ifndef DEMO_EMIT_H
#define DEMO_EMIT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json_format.h"
#include "base/table.h"
#include "demo/demo.h"

enum demo_event {
    DEMO_CHAIN_START,
    DEMO_CHAIN_STREAM,
    DEMO_CHAIN_END,
    DEMO_MODEL_START,
    DEMO_MODEL_STREAM,
    DEMO_MODEL_END,
    DEMO_TOOL_START,
    DEMO_TOOL_END,
    DEMO_TOOL_ERROR,
    DEMO_PROMPT_START,
    DEMO_PROMPT_END,
    DEMO_PARSER_START,
    DEMO_PARSER_END,
    DEMO_CUSTOM,
    DEMO_EVENT_MAX
};

/* Which metadata a run has. */
enum demo_kind {
    DEMO_ROOT,
    DEMO_NODE,  /* a node, or the function of its conditional edge */
    DEMO_INNER, /* what a node calls */
    DEMO_MODEL
};

/* A task of the graph: what its runs say in langgraph_*. */
struct demo_task {
    const char *node;
    unsigned step;
    int push;                    /* the place among the Sends; -1: not sent */
    char id[KEY_UUID_CHARS + 1]; /* the same again when it is resumed or retried */
    struct str ns;               /* in the emitter's memory */
};

/* One run.  The caller's memory, alive as long as its children's. */
struct demo_run {
    const struct demo_run *parent; /* borrowed; NULL for the root */
    const struct demo_task *task;  /* borrowed; NULL for the root */
    const char *name;
    char id[KEY_UUID_CHARS + 1];
    struct str tags, metadata, parents; /* JSON, in the emitter's memory */
};

struct demo_emit {
    const struct demo_job *job; /* borrowed */
    struct demo_sink *sink;     /* borrowed */
    struct arena mem;           /* everything that the run's objects point at */
    struct key story;           /* for ids that are the same in every attempt */
    struct key attempt;         /* for ids of this attempt only */
    uint64_t n_ids;
    uint64_t chance; /* the seeded generator's state */
    uint64_t jitter; /* the same for pauses, which must not change what is said */
    unsigned lanes;  /* how many models are streaming at once */
    bool muted;      /* repeating, without output, what an earlier attempt has sent */
    enum demo_outcome outcome;
    struct buf line, chunk; /* work memory */
};

void demo_emit_init(struct demo_emit *e, const struct demo_job *job, struct demo_sink *sink);
void demo_emit_done(struct demo_emit *e);

static inline bool demo_going(const struct demo_emit *e)
{
    return e->outcome == DEMO_SUCCEEDED;
}

/* A copy in the emitter's memory; empty, with outcome set, when there is none left. */
struct str demo_keep(struct demo_emit *e, struct str s);
/* The same for what a buffer holds, which is then done with. */
struct str demo_keep_buf(struct demo_emit *e, struct buf *b);
/* The same for a template that is filled in (base/json_format.h). */
#define demo_json(e, template, ...) demo_json_holes((e), (template), JSON_HOLES(__VA_ARGS__))
struct str demo_json_holes(struct demo_emit *e,
                           const char *template,
                           const struct json_hole *holes,
                           size_t n);

/* A number below @n. */
uint64_t demo_chance(struct demo_emit *e, uint64_t n);

/* A new UUID of this attempt. */
void demo_new_id(struct demo_emit *e, char out[KEY_UUID_CHARS + 1]);
/* The UUID that this seed and job give to @label, whatever the attempt. */
void demo_fixed_id(const struct demo_emit *e, const char *label, char out[KEY_UUID_CHARS + 1]);

void demo_task_init(struct demo_emit *e,
                    struct demo_task *task,
                    const char *node,
                    unsigned step,
                    int push);

/* @tag is the run's structural tag ("seq:step:1"), or NULL. */
void demo_run_init(struct demo_emit *e,
                   struct demo_run *run,
                   enum demo_kind kind,
                   const struct demo_run *parent,
                   const struct demo_task *task,
                   const char *name,
                   const char *tag);

/* An event of @run; its data are a template that is filled in. */
#define demo_send(e, run, event, template, ...) \
    demo_send_holes((e), (run), (event), (template), JSON_HOLES(__VA_ARGS__))
void demo_send_holes(struct demo_emit *e,
                     const struct demo_run *run,
                     enum demo_event event,
                     const char *template,
                     const struct json_hole *holes,
                     size_t n);

/* Waits as a real model or tool would: scaled by speed, shared by the lanes, with jitter. */
void demo_pause(struct demo_emit *e, int64_t us);

#endif
