/* What the fold remembers, and the two ways to change it: emit and apply.
 *
 * Internal to ingest/fold_*.c.
 *
 * An open run holds its header record; a closed run keeps only this small entry, because late
 * children may still name it.  Message ids, sections and cited URLs are remembered as sixteen
 * bytes each. */
#ifndef INGEST_FOLD_STATE_H
#define INGEST_FOLD_STATE_H

#include "base/must_check.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"
#include "ingest/fold.h"

/* Name spaces of the one table of things seen. */
enum seen_space {
    SEEN_RUN = 1, /* run id -> struct run */
    SEEN_OWNER,   /* execution and message id -> the run whose tokens count */
    SEEN_MESSAGE, /* message id -> struct sent, or the fold itself: not sent, but known */
    SEEN_CALL,    /* tool call id whose message was sent */
    SEEN_SECTION, /* execution and section -> the run that makes it */
    SEEN_SECTION_END,
    SEEN_URL,
    SEEN_CITED,
    SEEN_DERIVED, /* for derived ids, which depend on this constant; never stored */
    SEEN_REPORT,  /* for telling reports apart; never stored */
    SEEN_TEXT,    /* for telling messages apart; never stored */
    SEEN_UPDATES, /* node -> how many of its ended executions have no update yet */
    SEEN_SCOPE,   /* namespace -> struct scope */
    SEEN_TASK     /* id of a task -> the tool call that it is for */
};

struct run {
    struct run *prev, *next; /* open runs, oldest first */
    struct record *header;   /* ref; NULL once closed */
    struct run *exec;        /* the execution it is inside of, itself for an execution */
    struct run *root;        /* the root run above it, itself for a root */
    struct str id;           /* executions only, after closing too */
    struct str node;         /* executions only, after closing too */
    struct str message;      /* models: the message id of its first delta */
    struct buf text; /* models, while open: the text of its deltas, to the field limit */
    struct key said; /* models, after closing: hash of that text */
    size_t said_n, streamed; /* bytes of that text, and of all deltas */
    char *meta_raw;          /* owned; metadata as it last stood in a line: only a cache */
    size_t meta_raw_n;
    size_t meta_raw_cap;
    int64_t start_ts;
    uint64_t start_seq;
    uint32_t deltas;
    uint32_t chains, llms, tools; /* inside an execution */
    uint32_t half;
    uint32_t depth; /* node runs above it, itself included when it is one */
    enum run_type type;
    bool node_run, top, card, panel, counted, derived, repeat, finish;
    bool keeps_text; /* a model whose end event may come without its text */
};

/* A namespace in which something has happened. */
struct scope {
    struct scope *next;
    struct str ns;
    bool is_open;
    bool is_due; /* it has ended, but readers were not told yet */
};

/* What was sent last under a message id. */
struct sent {
    const struct run *run; /* that streamed it; NULL: it was sent whole */
    struct key data;       /* hash of a whole message's JSON */
};

/* A tool call that a model has announced and no tool run has taken yet. */
struct announced_call {
    struct key name;
    struct run *exec;
    char id[64]; /* longer ids are not matched at a tool's start, only at its end */
    size_t id_n;
};

/* A question that is open; texts in keep. */
struct open_question {
    struct str id;
    struct str value; /* JSON */
    struct str ns;    /* of the graph that asks */
    uint64_t seq;
};

enum { MAX_PENDING_CALLS = 64, MAX_QUESTIONS = 64, MAX_MESSAGE_ID = 256 };

struct fold {
    struct fold_options opt;
    struct arena keep; /* as long as the job: runs, ids of executions */
    struct arena work; /* as long as one event */
    struct buf tmp;
    struct json_reader reader; /* for reading our own fields back */
    struct table seen;
    struct run open; /* list head */
    size_t n_open;
    struct run *last_found; /* the run of the event before: most often the same */
    struct str job;         /* in keep */
    uint64_t seq;
    int64_t ts; /* of the event at hand */
    int64_t start_ts;
    bool started, ended;
    bool cancel_requested; /* the job ends as cancelled, whatever the worker sends later */
    enum job_end end;
    bool step_tags;     /* graph:step tags have been seen: the sender keeps them */
    bool events_seen;   /* runs were announced: parts give no executions and no tokens */
    bool message_parts; /* stream parts have carried messages */
    bool state_parts;   /* and the state of the graph that runs */
    bool paused;
    bool root_failed; /* the root run that ended last has failed */
    bool node_failed; /* so has the execution that ended last; no other has begun since */
    struct str failure, failure_type; /* why, in keep */
    int64_t step; /* of the outermost graph's newest checkpoint, or RECORD_NO_NUMBER */
    uint64_t n_derived;
    uint64_t epoch;                               /* how many attempts have begun anew */
    struct open_question question[MAX_QUESTIONS]; /* the open ones */
    size_t n_questions;
    uint64_t event_seq; /* of the last record before the event at hand */
    uint64_t n_asked;
    struct key report;    /* the newest; zeros: none */
    bool has_report;      /* this attempt has one */
    struct buf answer;    /* text of the last execution's output, where no root is around it */
    struct key last_node; /* of the execution that ended last */
    bool last_had_card;
    struct str owed; /* the node whose graph.node_complete is still owed, in keep */
    struct announced_call call[MAX_PENDING_CALLS];
    size_t n_calls;
    struct scope *scopes; /* of this attempt, newest first; in keep */
    struct fold_stats stats;
};

/* --- the fold (fold_state.c) -------------------------------------------------- */

/* Milliseconds since @ts; never less than 0, even when the clock was set back. */
int64_t fold_since(const struct fold *f, int64_t ts);

/* Numbers @rec, hands it to the sink, then takes it into the state.  @run is the run
 * that it belongs to, whose header it then names; NULL for records without one. */
MUST_CHECK int fold_emit(struct fold *f, struct record *rec, struct run *run);

/* Emits the node.complete that the end of an execution owes (node.end, `owes`). fold_emit()
 * calls it before any other record. */
MUST_CHECK int fold_complete(struct fold *f, int64_t step);

/* The same for a record that starts a run; the new entry leaves through @ret_run. */
MUST_CHECK int fold_emit_start(struct fold *f, struct record *rec, struct run **ret_run);

/* --- taking in a record (fold_apply.c) ----------------------------------------- */

/* Changes the state by @rec; @run is the run that it belongs to, or NULL. */
MUST_CHECK int fold_apply(struct fold *f, const struct record *rec, struct run *run);
/* @run is no longer open: keeps only what its late children may need. */
void fold_forget_run(struct fold *f, struct run *run);

/* --- what was seen (fold_seen.c) ----------------------------------------------- */

struct run *fold_find(struct fold *f, struct str run_id);
struct run *fold_open_root(const struct fold *f);
/* The same for the id in @ev, a line of the envelope, whose ids may be names: the visit of the
 * node that is open now, where the one of that id has ended. */
struct run *fold_find_visit(struct fold *f, const struct event *ev, struct str id);
/* Newest open execution whose namespace is @segment. */
struct run *fold_find_exec(struct fold *f, struct str segment);

/* The key of an id in @space.  A new attempt may use the ids of the one before again, so
 * what is remembered of runs and messages is told apart by attempt; sources are the job's. */
static inline struct key fold_key(const struct fold *f, enum seen_space space, struct str text)
{
    return table_key(&f->seen, (uint64_t)space + f->epoch * 64, text);
}

bool fold_seen(const struct fold *f, struct key k);
static inline int fold_mark(struct fold *f, struct key k, void *value)
{
    return table_put(&f->seen, k, value);
}
/* Executions of @node in the graph that runs which have ended well, and whose update the root
 * has not sent yet. */
uint64_t fold_updates_due(const struct fold *f, struct str node);
struct key fold_updates_key(const struct fold *f, const struct run *root, struct str node);
/* @exec has ended well: one more update of its node is due. */
MUST_CHECK int fold_expect_update(struct fold *f, const struct run *exec);
struct key fold_owner_key(const struct fold *f, const struct run *exec, struct str message);
/* Was this what was sent last under the id @id: @text streamed, or @data whole? */
bool fold_was_sent(const struct fold *f, struct str id, struct str text, struct str data);
MUST_CHECK int fold_mark_sent(struct fold *f, struct str id, struct sent what);
struct key fold_section_key(const struct fold *f,
                            enum seen_space space,
                            const struct run *exec,
                            struct str section);

/* --- namespaces (fold_scope.c) --------------------------------------------------- */

/* How many segments at the end of @ns are not open; RECORD_NO_NUMBER: all are. */
int64_t fold_scopes_to_open(const struct fold *f, struct str ns);
/* A JSON list with the namespace of @task in the graph @ns, if it is open; else absent. */
struct str fold_scope_of_task(struct fold *f, struct str ns, const yyjson_val *task, int *err);
/* JSON lists of those that are open, and of those whose end is to be told; inner ones before
 * those around them; absent when there are none. */
struct str fold_open_scopes(struct fold *f, int *err);
struct str fold_due_scopes(struct fold *f, int *err);
/* The tool call that @task is for; absent when it is for none. */
struct str fold_call_of_task(const yyjson_val *task);
/* The tool call that has started the graph in @ns; absent when none has. */
struct str fold_cause_of_scope(const struct fold *f, struct str ns);
MUST_CHECK int fold_apply_scopes(struct fold *f, const struct record *rec);

/* --- helpers of the deciding files (fold_text.c) ----------------------------- */

/* @v flattened into work memory, or a marker with size and preview when over the field
 * limit (not where @exempt); absent for NULL.  ERR_NOMEM through @err. */
struct str fold_json(struct fold *f, const yyjson_val *v, bool exempt, int *err);
struct str fold_json_skip(struct fold *f, const yyjson_val *v, struct str skip, int *err);
/* What is in f->tmp, as work memory. */
struct str fold_tmp(struct fold *f, int *err);
/* Compact JSON of @v as it was sent, whatever its size; absent for NULL. */
struct str fold_json_whole(struct fold *f, const yyjson_val *v, int *err);
/* Compact JSON of @v, cut to @points code points. */
struct str fold_preview(struct fold *f, const yyjson_val *v, size_t points, int *err);
/* A text cut to the field limit with a mark that says so. */
struct str fold_limit_text(struct fold *f, struct str text, int *err);
/* The text of @run's deltas, limited likewise; absent when there were none. */
struct str fold_streamed_text(struct fold *f, const struct run *run, int *err);
/* JSON that is there already; a marker as above when it is over the field limit. */
struct str fold_limit_json(struct fold *f, struct str json, int *err);
/* Reads @v as a message, whose texts live as long as the event. */
MUST_CHECK int fold_read_message(struct fold *f, const yyjson_val *v, struct message *ret);
/* An id that is new in this job and the same in every rebuild, which means that @salt is.  With
 * salt 0 the record that takes the id must be `derived`: these are counted. */
struct str fold_derive_id(struct fold *f, uint64_t salt, int *err);

/* --- deciding ---------------------------------------------------------------- */

/* Fills rec->info for a run that starts with @ev; @ret_node: it is a node run. */
MUST_CHECK int fold_describe_run(struct fold *f,
                                 const struct event *ev,
                                 struct record *rec,
                                 bool *ret_node);
/* What follows @prefix in the first tag that starts with it; absent when none does. */
struct str fold_tag_after(const yyjson_val *tags, struct str prefix);
/* Starts a run.  @ret is the run, which is open; NULL when the id of @ev is that of a run that
 * has been started before, whether or not it has ended. */
MUST_CHECK int fold_start_run(struct fold *f,
                              const struct json *line,
                              const struct event *ev,
                              struct run **ret);
/* @run is open. */
MUST_CHECK int fold_end_run(struct fold *f,
                            struct run *run,
                            const struct event *ev,
                            struct str status);
/* Emits @rec as the end of @run, which is open, with duration and counts, and what follows from
 * it. */
MUST_CHECK int fold_emit_end(struct fold *f,
                             struct run *run,
                             struct record *rec,
                             struct str status);
/* Closes @run, which is open, without an event: status error, cancelled, interrupted, retried
 * or ok. */
MUST_CHECK int fold_close_run(struct fold *f,
                              struct run *run,
                              struct str status,
                              struct str error);

/* What to close, and how. */
struct closing {
    const struct run *exec; /* all inside this execution, without itself; NULL: no matter */
    const struct run *root; /* all under this root, without itself; NULL: no matter */
    bool derived_only;
    struct str status;
    struct str error;
};
/* Innermost first. */
MUST_CHECK int fold_close_inside(struct fold *f, struct closing what);

MUST_CHECK int fold_model_stream(struct fold *f,
                                 const struct json *line,
                                 const struct event *ev,
                                 struct run *run);
MUST_CHECK int fold_flush_half(struct fold *f, struct run *run);
MUST_CHECK int fold_model_end(struct fold *f,
                              const struct event *ev,
                              struct run *run,
                              struct str status);

MUST_CHECK int fold_part(struct fold *f,
                         const struct json *line,
                         const struct event *ev,
                         const yyjson_val *data);
/* The run of a tool that a part of the mode `tools` tells, when parts come alone. */
MUST_CHECK int fold_tool_part(struct fold *f, struct str ns, const yyjson_val *tool);
MUST_CHECK int fold_question(struct fold *f,
                             struct str id,
                             const yyjson_val *value,
                             bool pause);
/* The same, when only the value's repr arrived. */
MUST_CHECK int fold_question_repr(struct fold *f, struct str id, struct str repr);
/* A JSON list of the open questions; absent when none is. */
struct str fold_open_questions_json(struct fold *f, int *err);
MUST_CHECK int fold_resumed(struct fold *f);

MUST_CHECK int fold_tool_artifacts(struct fold *f, struct run *run, const yyjson_val *input);
MUST_CHECK int fold_sources(struct fold *f, struct run *exec, struct str tool, struct str text);
MUST_CHECK int fold_answer_artifacts(struct fold *f, struct run *exec, const struct message *m);
/* The report in a run's output; absent when there is none.  In work memory, or @output's. */
MUST_CHECK int fold_report_text(struct fold *f, const yyjson_val *output, struct str *ret);
MUST_CHECK int fold_report(struct fold *f, struct str text);
/* Is it the newest report? */
bool fold_is_report(const struct fold *f, struct str artifact);
MUST_CHECK int fold_artifact_event(struct fold *f, const struct event *ev);

/* Whole messages in a node's output that were not streamed. */
MUST_CHECK int fold_messages(struct fold *f, struct run *run, const yyjson_val *output);

MUST_CHECK int fold_section_end(struct fold *f, struct run *exec, struct str section);

#endif
