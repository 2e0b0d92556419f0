/* The canonical record: what spoolwire stores, once, about one thing that happened.
 *
 * Everything stateful has been decided when a record exists: which execution a
 * token belongs to, which section, what must be closed.  A dialect needs nothing
 * but the record and the record that it names as its header.
 *
 * The header: real events repeat kilobytes of constant metadata with every token.  A
 * run's constant part (`struct run_info`) is stored once, in the record that
 * starts the run (or in a later `run.info`), and every further record of the run
 * names that record instead of repeating it.  record_info() gives the constant
 * part wherever it stands.
 *
 * Texts are borrowed.  Fields marked JSON hold compact JSON text on one line;
 * the others hold plain text.  An absent text has p == NULL, an absent number is
 * RECORD_NO_NUMBER, an absent flag is false.
 *
 * The stored form is one JSON object on one line, written and read by the one
 * table of fields in record.c. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/buf.h"
#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct error;
struct json_reader;

#define RECORD_NO_NUMBER INT64_MIN

enum record_kind {
    /* The job.  job.start is always record 1, job.end always the last one. */
    REC_JOB_START, /* job, agent, attempt */
    REC_JOB_END,   /* status: succeeded|failed|cancelled; outcome, error, error_type, details,
                      elapsed, output */
    REC_JOB_ERROR, /* before a failed end: error, error_type, details, phase */
    REC_JOB_CANCELLED,        /* before a cancelled end: error = the reason */
    REC_JOB_CANCEL_REQUESTED, /* error = the reason */
    REC_JOB_UPDATE,           /* title = "retry", "warning" or the sender's word; text */
    REC_JOB_INTERRUPT, /* a question: id, question, context, data = the raw value, open */
    REC_JOB_PAUSED,    /* waiting without a question: id, data */
    REC_JOB_RESUMED,   /* resolves = JSON list of interrupt ids */
    /* Runs that are neither node, model, tool nor retriever: graphs, chains, prompts, parsers.
     */
    REC_RUN_START,  /* input */
    REC_RUN_STREAM, /* data = the chunk; of a node run too; percent = its progress */
    REC_RUN_END,    /* status, error, error_type, elapsed, output */
    REC_RUN_INFO,   /* nothing but a new constant part, for the run's later records */
    /* Node runs of a graph, at any depth; the top-level ones are the executions. */
    REC_NODE_START,    /* input, seen */
    REC_NODE_END,      /* as run.end, and chains, llms, tools; owes */
    REC_NODE_COMPLETE, /* what an execution's end owed: node, step */
    /* Models. */
    REC_LLM_START,  /* count = messages or prompts; model_version, prompt_id */
    REC_LLM_DELTA,  /* message, text, reasoning, content, calls, usage, response, extra, index,
                       first */
    REC_LLM_END,    /* message, text = final text, calls, usage, response, reasoning, status,
                       error, elapsed,    last = an end delta is due because no chunk carried the
                       finish */
    REC_LLM_REPEAT, /* this run only repeats another one's tokens; shown by no dialect */
    /* Tools and retrievers. */
    REC_TOOL_START,      /* input, preview, call; both: mirror when a state.tools has told it */
    REC_TOOL_END,        /* output, preview, call, status, error, error_type, elapsed */
    REC_RETRIEVER_START, /* input */
    REC_RETRIEVER_END,   /* output, status, error, elapsed */
    /* The graph's state, as stream modes carry it; info.ns is the namespace. */
    REC_STATE_VALUES,
    REC_STATE_UPDATES,
    REC_STATE_TASKS,
    REC_STATE_CHECKPOINTS, /* info.step is the checkpoint's, of the outermost graph */
    REC_STATE_DEBUG,
    REC_STATE_TOOLS, /* all: data; a task's start: call, opens, cause; its end: closes, owes;
                        tools that events have told too: mirror */
    /* The rest. */
    REC_MESSAGE, /* a whole message that was not streamed: message = its id, data = its JSON */
    REC_SECTION_END, /* text = the section */
    REC_ARTIFACT,    /* title = its name (path, URL) or absent; data = {"type":"file",…} */
    REC_CUSTOM, /* title = the event's name or absent; id = the channel of a stream transformer
                   or absent; data; tool = true inside a tool run */
    REC_PROGRESS, /* data as sent; percent and note taken out of it */
    REC_KIND_MAX
};

/* What stays the same for a run from its first to its last record. */
struct run_info {
    struct str run;    /* id of the run */
    struct str parent; /* id of the run that called it */
    struct str exec;   /* run id of the top-level node run it is inside of (or is): the agent id
                        */
    struct str node;   /* the execution's node name: top-level, also for what is nested */
    struct str ns;     /* langgraph_checkpoint_ns, or the part's namespace joined by '|' */
    struct str name;   /* the run's own name */
    struct str type;   /* chain, prompt, parser, chat_model, llm, tool, retriever */
    struct str section; /* output section */
    struct str model;   /* model runs: ls_model_name, else the name */
    struct str path;    /* chain:LangGraph > chain:node > llm:Model */
    struct str tags;    /* JSON list */
    struct str meta;    /* JSON object */
    struct str parents; /* JSON list, root first, where the source has it */
    int64_t step;       /* langgraph_step of this run */
    int64_t depth;      /* node runs: 0 at the top level */
    bool root;          /* a root run of the job */
    bool top;           /* this run is a top-level execution */
    bool card;          /* the execution has an agent card (agent.*) */
    bool panel;         /* the execution writes to the output panel (output.*) */
    bool counted;       /* the execution's end is a graph.node_complete */
    bool derived;       /* made up by the fold from stream parts: no such run was announced */
    bool outer; /* its sender counts it to the graph around its node (record_graph_ns) */
};

struct record {
    uint64_t seq;
    int64_t ts; /* our receive time, milliseconds since 1970 */
    enum record_kind kind;
    uint64_t header_seq;         /* 0: none */
    const struct record *header; /* borrowed; not stored; set by the code that loads the record
                                  */
    struct str job_id;           /* borrowed; not stored but in job.start */
    struct run_info info;        /* only where there is no header */
    struct str info_json;        /* info as JSON members, made by record_new; not stored */

    struct str job;   /* job.start */
    struct str agent; /* job.start */
    struct str id;
    struct str title;
    struct str status;  /* ok error cancelled interrupted retried; job.end: succeeded failed
                           cancelled */
    struct str outcome; /* "interrupted", when a job ends at a question */
    struct str phase;   /* queue worker node server */
    struct str error;
    struct str error_type;
    struct str message;       /* message id */
    struct str text;          /* the new text of a delta; the final text of an end */
    struct str reasoning;     /* the new reasoning text */
    struct str preview;       /* cut input or result, for a card */
    struct str call;          /* tool call id */
    struct str cause;         /* id of the tool call that opened the namespace */
    struct str model_version; /* of a model start, where the worker says it */
    struct str prompt_id;     /* likewise */
    struct str percent;       /* JSON number, as sent */
    struct str note;          /* text beside percent */

    struct str content;  /* JSON: list content of a delta, where it is not just text */
    struct str calls;    /* JSON: tool_call_chunks of a delta; tool_calls of an end */
    struct str usage;    /* JSON: usage_metadata */
    struct str response; /* JSON: response_metadata */
    struct str extra;    /* JSON: additional_kwargs */
    struct str input;    /* JSON */
    struct str output;   /* JSON */
    struct str data;     /* JSON */
    struct str question; /* JSON */
    struct str context;  /* JSON */
    struct str resolves; /* JSON list */
    struct str open;     /* JSON list: all questions that are open, when there are several; of a
                          * pause: empty, when it was said in place of the state; of job.end:
                          * namespaces that were not closed */
    struct str seen;     /* JSON list: message ids that were there before */
    struct str details;  /* JSON: what else is known of an error */
    struct str closes;   /* JSON list: namespaces that end with this record */
    struct str asks;     /* JSON list: of job.end, the questions at which it ends */

    int64_t attempt;
    int64_t elapsed; /* milliseconds since the run's start */
    int64_t index;   /* of the delta within its run, from 0 */
    int64_t count;   /* messages or prompts of a model start */
    int64_t chains;  /* nested runs of an execution, by type */
    int64_t llms;
    int64_t tools;
    int64_t half;  /* a surrogate half that waits for the other one */
    int64_t opens; /* this many segments at the end of its namespace begin with this record */

    bool first;  /* the run's first delta */
    bool last;   /* llm.end: an end delta is due */
    bool lossy;  /* the sender's encoding lost something */
    bool tool;   /* custom: dispatched inside a tool run */
    bool mirror; /* a delta that repeats another one, for the output panel only; of a root's
                  * end, its output has been sent as a state; of a tool, see their kinds */
    bool owes;   /* node.end: its graph.node_complete is a record of its own, node.complete;
                  * state.tasks: what it closes is told by a later record */
};

/* All absent. */
void record_init(struct record *rec, enum record_kind kind);

const char *record_kind_name(enum record_kind kind); /* "llm.delta" */

/* The constant part, from the record or from its header. */
static inline const struct run_info *record_info(const struct record *rec)
{
    return rec->header != NULL ? &rec->header->info : &rec->info;
}

/* The namespace of the graph that a message or tool belongs to for readers: LangGraph.js counts
 * them to the node itself, Python's LangGraph to the graph around it. */
struct str record_graph_ns(const struct run_info *info);
/* All segments of a namespace but the last. */
struct str record_outer_ns(struct str ns);

/* Appends the stored form (without a line end). */
void record_encode(const struct record *rec, struct buf *out);
/* The same with the header's constant part in it, so that it is self-contained. */
void record_encode_alone(const struct record *rec, struct buf *out);

/* Reads a stored form.  Texts point into @stored or into @reader's memory and are
 * valid until the next decode; `header` is left NULL. */
MUST_CHECK int record_decode(struct json_reader *reader,
                             struct str stored,
                             struct record *ret,
                             struct error *err);

/* --- a record that outlives its event: immutable, counted -------------------- */

/* A deep copy in one block, without its header, with one reference. */
MUST_CHECK int record_new(const struct record *rec, struct record **ret);
/* The same with a reference to its header, which must be a counted one (or NULL). */
MUST_CHECK int record_new_with_header(const struct record *rec, struct record **ret);
struct record *record_ref(struct record *rec);
void record_unref(struct record *rec); /* accepts NULL */

#endif
