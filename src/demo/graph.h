/* The graph that the demo agent plays: its state, its runs, and a function for each node.
 *
 * A node function starts its node, does what the node does, ends it, and makes its update
 * part of the state.  Errors stick in the emitter (emit.h). */
#ifndef DEMO_GRAPH_H
#define DEMO_GRAPH_H

#include "base/json.h"
#include "demo/emit.h"
#include "demo/text.h"

enum { DEMO_SECTIONS = 3 };

extern const char *const demo_section_names[DEMO_SECTIONS];

#define DEMO_QUESTION                                                                 \
    "{" JSON_LIT("question", "Which environment shows the fault?") "," JSON_LIT(      \
        "context", "Two candidates: staging and production.") "," JSON_LIT("default", \
                                                                           "production") "}"

struct demo_graph {
    struct demo_emit e;
    struct demo_texts texts;
    struct demo_run root;
    unsigned step;
    /* The state. */
    const char *next;
    unsigned step_no;
    struct buf messages; /* JSON, without the brackets */
    struct buf findings; /* the same */
    bool asked;
    struct str answer;                 /* JSON, or absent */
    struct str section[DEMO_SECTIONS]; /* absent until written */
};

/* One execution of a node. */
struct demo_node {
    struct demo_task task;
    struct demo_run run;
    struct str input; /* JSON; absent before its start: the state is */
};

void demo_graph_init(struct demo_graph *g, const struct demo_job *job, struct demo_sink *sink);
void demo_graph_done(struct demo_graph *g);
enum demo_outcome demo_graph_outcome(const struct demo_graph *g);

/* The state as JSON, in the emitter's memory. */
struct str demo_state(struct demo_graph *g);
void demo_add_message(struct demo_graph *g, struct str json);
void demo_add_finding(struct demo_graph *g, struct str text);

/* With an answer in the state, the root's input is the Command that brings it. */
void demo_root_start(struct demo_graph *g);
void demo_root_end(struct demo_graph *g);

/* In the graph's current step; @push is the place among the Sends, or -1. */
void demo_node_start(struct demo_graph *g, struct demo_node *n, const char *name, int push);
/* With the JSON of its @update; making that part of the state is the caller's. */
void demo_node_end(struct demo_graph *g, const struct demo_node *n, struct str update);
/* With one more finding. */
void demo_node_found(struct demo_graph *g, const struct demo_node *n, struct str text);
/* Was this node told to raise? */
bool demo_node_raises(const struct demo_graph *g, const char *name);

/* --- the nodes (demo_nodes.c, demo_human.c, demo_writer.c) ---------------------------- */

/* @sends: to several investigators at once. */
void demo_supervisor(struct demo_graph *g, const char *next, bool sends);
void demo_investigator(struct demo_graph *g, enum demo_text text, unsigned visit);
void demo_investigators(struct demo_graph *g);
void demo_codebase_search(struct demo_graph *g);
void demo_web_search(struct demo_graph *g);
void demo_critic(struct demo_graph *g);
void demo_human_input(struct demo_graph *g);
void demo_writer(struct demo_graph *g);

#endif
