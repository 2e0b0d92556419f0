/* A card: one execution of an agent's node, as the `agent` dialect tells it.
 *
 * It gathers what the node says, by section, and the tools that it calls.  All its texts are
 * safe for a terminal. */
#ifndef TERMINAL_CARD_H
#define TERMINAL_CARD_H

#include "base/buf.h"

#include <stdint.h>

enum { CARD_MAX_NAME = 80, CARD_MAX_SECTIONS = 8, CARD_MAX_TOOLS = 32 };

struct card_tool {
    char name[CARD_MAX_NAME];
    struct buf call, result; /* "grep {…}", "found" */
    bool ended, bad;
};

struct card_section {
    char name[CARD_MAX_NAME]; /* "" for what belongs to none */
    struct buf text;
};

struct card {
    char id[CARD_MAX_NAME];
    char name[CARD_MAX_NAME];
    int64_t began_ms;
    struct card_section sections[CARD_MAX_SECTIONS];
    size_t n_sections;
    struct card_tool tools[CARD_MAX_TOOLS];
    size_t n_tools, n_lost; /* lost: calls for which there was no room */
    struct card *next;
};

/* NULL when memory ran out. */
struct card *card_new(struct str id, struct str name, int64_t now_ms);
void card_free(struct card *c);

/* Adds to a section; the first @c->sections is that of no name. */
void card_say(struct card *c, struct str section, struct str token);
/* The last @token said without a section belongs to this one. */
void card_move(struct card *c, struct str section, struct str token);

void card_call(struct card *c, struct str tool, struct str input);
void card_result(struct card *c, struct str tool, struct str result, bool bad);

#endif
