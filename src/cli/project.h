/* A project of graphs, as LangGraph describes it in a langgraph.json:
 *
 *     {"graphs": {"agent": "./src/agent.mjs:graph"}, "env": ".env", "dependencies": ["."]} */
#ifndef CLI_PROJECT_H
#define CLI_PROJECT_H

#include "base/str.h"
#include "cli/project_server.h"

struct error;

enum { PROJECT_MAX_IGNORED = 24 };

/* Which kit runs a graph. */
enum kit { KIT_JAVASCRIPT, KIT_PYTHON };

struct project_graph {
    char *name; /* owned, like everything here */
    char *spec; /* "./src/agent.mjs:graph"; below the project's folder */
    enum kit kit;
};

struct project {
    char *folder; /* absolute */
    struct project_graph *graphs;
    size_t n_graphs;
    char **places;         /* folders that Python modules are in; or NULL */
    bool has_store;        /* of its own, in Python; LANGGRAPH_STORE names it */
    bool has_saver;        /* the same for checkpoints; LANGGRAPH_CHECKPOINTER */
    bool has_index;        /* items are searched by meaning, as LANGGRAPH_STORE says */
    enum kit index_kit;    /* that of the embedding model */
    double item_minutes;   /* how long items are kept; 0: as long as they are not deleted */
    double thread_minutes; /* the same for threads */
    bool item_stays_short; /* reading an item does not restart its time */
    bool has_ui;           /* components, described in LANGGRAPH_UI */
    struct project_server server;
    /* Sentences, each about a member that is there and not honoured; NULL after the last. */
    const char *ignored[PROJECT_MAX_IGNORED + 1];
    char **notes; /* further sentences about what is not honoured; or NULL */
};

/* Reads it, and puts its variables into the environment.  ERR_IO, ERR_SYNTAX, ERR_TYPE,
 * ERR_REFUSED, ERR_NOMEM. */
int project_open(const char *file, struct project *ret, struct error *err);
void project_close(struct project *p);

bool project_has(const struct project *p, enum kit kit);
/* Which kit runs what a file exports, of "FILE:EXPORT"; false: neither. */
bool project_kit_of(const char *spec, enum kit *ret);

#endif
