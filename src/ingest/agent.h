/* An agent's settings: what the fold needs to know about a graph.
 *
 * Defaults are those of a triage graph for the agents named `triage` and `demo`; for any other
 * agent all top-level nodes but `supervisor` and `human_input` have cards, and all
 * count as complete.  A YAML file may change each of them (config/file/agent_file.c). */
#ifndef INGEST_AGENT_H
#define INGEST_AGENT_H

#include "base/str.h"

#include <stddef.h>

/* A set of names.  `all_but` inverts it: every name except the listed ones. */
struct name_set {
    struct str *names; /* owned, and so are their bytes */
    size_t n;
    bool all_but;
};

struct agent {
    struct str name;               /* owned */
    struct name_set card_nodes;    /* agent.* events */
    struct name_set counted_nodes; /* graph.node_complete */
    struct name_set output_nodes;  /* output.* events */
    struct name_set sections;      /* known section names */
    struct name_set state_keys;   /* an execution's input must have all of these; empty: no such
                                     test */
    struct name_set search_tools; /* parts of lower-case tool names whose results hold sources
                                   */
    struct name_set todo_tools;   /* write_todos */
    struct name_set file_tools;   /* write_file */
    struct name_set report_keys;  /* members of the final state that may hold the report, best
                                     first */
    size_t input_preview;         /* code points */
    size_t result_preview;        /* code points */
    size_t output_chars; /* a model's answer at least this long is an output artifact */
};

/* The built-in settings for an agent of that name. */
int agent_new(struct str name, struct agent **ret);
void agent_free(struct agent *a);

bool name_set_has(const struct name_set *set, struct str name);
/* Is one of the names a part of @text (compared in lower case)? */
bool name_set_part_of(const struct name_set *set, struct str text);
/* Replaces the names by copies of @names. */
int name_set_assign(struct name_set *set, const struct str *names, size_t n, bool all_but);

#endif
