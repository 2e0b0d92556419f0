/* What a worker says: lines as LangGraph's astream_events gives them, a run of its own for
 * every attempt.  Runs open and close as they do in a graph (a graph, its nodes, models,
 * tools and graphs inside of those), in an order that chance decides. */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "chance.h"

#include "base/buf.h"

#include <stdint.h>

enum { SCRIPT_DEPTH = 6 };

enum script_run_type { SCRIPT_GRAPH, SCRIPT_NODE, SCRIPT_MODEL, SCRIPT_TOOL };

struct script_run {
    enum script_run_type type;
    unsigned number;
    unsigned step;
    const char *name;
    char ns[160];
};

struct script {
    struct chance *chance;
    char prefix[64]; /* of all ids */
    bool big;
    int n_left; /* lines until it comes to its end */
    unsigned n_runs, n_tokens, n_steps;
    struct script_run open[SCRIPT_DEPTH];
    unsigned n_open;
    bool begun, over;
    bool curious;  /* asks before long, and then comes to its end */
    bool asked;    /* a question to a human */
    bool says_end; /* its last line is a word on the job's end */
};

void script_init(struct script *sc,
                 struct chance *chance,
                 const char *job,
                 int64_t attempt,
                 bool big);
/* Appends the next line; false when there is none left. */
bool script_line(struct script *sc, struct buf *out);
/* The word on the job's end, for the very last line. */
void script_end_word(struct script *sc, struct buf *out);

/* Appends a line that only marks a place. */
void script_marker(struct buf *out, uint64_t batch, bool end);
/* Reads one back from a record's data; false when it is none. */
bool script_read_marker(struct str data, uint64_t *ret_batch, bool *ret_end);

#endif
