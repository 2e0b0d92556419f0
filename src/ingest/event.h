/* An event: what one line of a worker says, in one form for all source formats.
 *
 * Normalising is stateless: it looks at one line (and the SSE event name that came
 * with it) and knows nothing of earlier ones.  All texts and values are borrowed
 * from the line and live until the next one.  The fold decides what it means. */
#ifndef INGEST_EVENT_H
#define INGEST_EVENT_H

#include "base/json.h"
#include "base/must_check.h"
#include "base/str.h"
#include "ingest/message.h"

#include <stdint.h>

struct error;

enum event_source {
    SOURCE_AUTO,     /* decide per line */
    SOURCE_EVENTS,   /* LangChain astream_events v1, v2 */
    SOURCE_CALLBACK, /* LangChain callback methods */
    SOURCE_ENVELOPE, /* {"event","timestamp","run_id","data"} */
    SOURCE_MODES,    /* LangGraph stream-mode parts */
    SOURCE_NATIVE,   /* the events of `aiq` (category.state) and of `agent` */
    SOURCE_MAX
};

enum event_kind {
    EVENT_NOTHING,    /* understood, nothing to store: heartbeats, stream.mode, SSE metadata */
    EVENT_RUN_START,  /* type, run, name, input, … */
    EVENT_RUN_STREAM, /* chunk; models: message */
    EVENT_RUN_END,    /* output; models: message */
    EVENT_RUN_ERROR,  /* error, error_type; a callback's interrupt has `interrupted` set */
    EVENT_CUSTOM,     /* name, data */
    EVENT_PART,       /* mode, ns, data (messages: message and meta too) */
    EVENT_INTERRUPT,  /* data = one interrupt's value, id; pause set when it asks nothing */
    EVENT_RESUMED,
    EVENT_UPDATE,      /* job.update: name, text */
    EVENT_ARTIFACT,    /* name, data */
    EVENT_PANEL_TOKEN, /* `agent`'s output.token: text, section */
    EVENT_SECTION_END, /* section */
    EVENT_NODE_DONE,   /* `agent`'s graph.node_complete: node, step */
    EVENT_JOB_END,     /* the worker ends the job: end, error, error_type */
    EVENT_KIND_MAX
};

enum run_type {
    RUN_CHAIN,
    RUN_PROMPT,
    RUN_PARSER,
    RUN_CHAT, /* chat_model */
    RUN_LLM,
    RUN_TOOL,
    RUN_RETRIEVER,
    RUN_TYPE_MAX
};

enum part_mode {
    PART_VALUES,
    PART_UPDATES,
    PART_MESSAGES,
    PART_CUSTOM,
    PART_TASKS,
    PART_CHECKPOINTS,
    PART_DEBUG,
    PART_TOOLS,
    PART_MODE_MAX
};

enum job_end { JOB_END_NONE, JOB_END_SUCCEEDED, JOB_END_FAILED, JOB_END_CANCELLED };

struct event {
    enum event_source source;
    enum event_kind kind;
    enum run_type type;
    enum part_mode mode;
    enum job_end end;

    struct str run;            /* id of the run; absent where the source has none */
    struct str parent;         /* callbacks: parent_run_id; events: last of parents */
    const yyjson_val *parents; /* list, root first, where the source has it and it is not empty
                                */
    bool parents_known; /* the source names the parents; an empty list or null means none */
    struct str name;
    const yyjson_val *tags;     /* list, or NULL */
    const yyjson_val *meta;     /* object, or NULL */
    const yyjson_val *meta_key; /* its key, for the place in the line; or NULL */
    /* Out of meta: */
    struct str node;    /* langgraph_node */
    int64_t step;       /* langgraph_step, or RECORD_NO_NUMBER */
    struct str ns;      /* langgraph_checkpoint_ns; parts: the namespace joined by '|' */
    struct str section; /* metadata.section, or the section an event names */

    const yyjson_val *input;
    const yyjson_val *output;
    const yyjson_val *chunk;
    const yyjson_val *data;
    struct message message; /* of a model's chunk or output, or of a messages part */
    bool has_message;

    struct str id;      /* interrupt id; */
    struct str call;    /* tool call id */
    struct str text;    /* a native token, preview or result in words */
    struct str preview; /* tools of `agent`'s events: the preview that was sent */
    struct str error;
    struct str error_type;
    const yyjson_val *details; /* job ends: what else is known of the error, or NULL */
    struct str phase;          /* job ends: where it failed, if the sender says so */
    struct str model_version;  /* model starts: as sent */
    struct str prompt_id;
    const yyjson_val *progress; /* streams: a number, or NULL */
    int64_t count;              /* model starts: messages or prompts, if the sender says it */
    int64_t elapsed;            /* as sent, or RECORD_NO_NUMBER */
    bool interrupted;           /* a callback error that is GraphInterrupt */
    bool pause;
    bool lossy;
    bool top;       /* run starts: certainly a top-level execution (native agents) */
    bool derived;   /* run starts: derived by the fold, the worker did not announce the run */
    bool outer;     /* models, tools: counted to the graph around the node (record_graph_ns) */
    bool is_mirror; /* tools: readers of threads have been told by a stream part */
    bool run_is_name; /* `run` is a name, which every visit and every call repeats */
    bool owes;        /* `agent`'s agent.done: the node's graph.node_complete comes by itself */
};

/* Everything absent. */
void event_init(struct event *ev);

/* Says what @line is: one JSON document, with @sse_event the SSE event name that it
 * came with (absent for JSON lines).  @from is SOURCE_AUTO or the one format to take.
 * @scratch holds texts that had to be put together (several text blocks, joined
 * namespaces); it is the caller's and is cleared by this call.
 * ERR_TYPE: JSON, but no format that we know; ERR_REFUSED: known and not taken. */
MUST_CHECK int event_read(const struct json *line,
                          struct str sse_event,
                          enum event_source from,
                          struct buf *scratch,
                          struct event *ret,
                          struct error *err);

/* A root's chunk in one of the forms [mode, payload] and [ns, mode, payload]: sets mode, ns,
 * data (and the message of a messages part) in @ret.  ERR_TYPE when it is neither. */
MUST_CHECK int event_part_of_chunk(const yyjson_val *chunk,
                                   struct buf *scratch,
                                   struct event *ret);

bool event_source_find(struct str name, enum event_source *ret);
const char *run_type_name(enum run_type type); /* "chat_model" */
const char *part_mode_name(enum part_mode mode);

#endif
