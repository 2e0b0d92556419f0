/* What the demo agent's models say: three stories, filled in and made as long as wanted. */
#ifndef DEMO_TEXT_H
#define DEMO_TEXT_H

#include "demo/emit.h"

enum demo_text {
    TEXT_FIRST_LOOK,
    TEXT_CRITIC,
    TEXT_SECOND_LOOK,
    TEXT_REPORT,
    TEXT_COMMENT,
    TEXT_TICKET,
    TEXT_MAX
};

enum { DEMO_SOURCES = 3 };

/* What went wrong this time; the seed chooses. */
struct demo_story {
    const char *cause, *fix;
    const char *file, *line, *function, *code;
    const char *pattern; /* to look for in the repository */
    const char *query;   /* to look for in the web */
    struct {
        const char *url, *title, *content;
    } source[DEMO_SOURCES];
};

struct demo_texts {
    struct demo_emit *e;            /* borrowed */
    const struct demo_story *story; /* const table */
    struct str answer;              /* of the human */
    struct str topic;               /* of one of several investigators, or absent */
    uint64_t natural;               /* tokens of all texts as they are written here */
};

void demo_texts_init(struct demo_texts *t, struct demo_emit *e);

/* In the emitter's memory. */
struct str demo_text_make(struct demo_texts *t, enum demo_text which);

/* What the @i-th of several investigators looks at. */
const char *demo_topic(size_t i);

/* The first token of @rest, which is not empty.  Whole code points; a blank begins one. */
struct str demo_token(struct str rest);
size_t demo_count_tokens(struct str text);

#endif
