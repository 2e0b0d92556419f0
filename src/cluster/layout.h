/* A layout: which members of a struct go from one gateway to another, and how.
 *
 * A request to the journal is a struct; its layout is a const table with a line for each of its
 * members, also for those that stay at home.  So codec.c needs no function for each operation,
 * and a test can see that no member was forgotten.
 *
 * Internal to cluster/. */
#ifndef CLUSTER_LAYOUT_H
#define CLUSTER_LAYOUT_H

#include "journal/request.h"

enum member_kind {
    MEMBER_TEXT,    /* struct str */
    MEMBER_INT64,   /* int64_t, uint64_t */
    MEMBER_INT,     /* int, or an enum */
    MEMBER_BOOL,    /* bool */
    MEMBER_STRUCT,  /* a struct, with a layout */
    MEMBER_POINTER, /* to one, or NULL */
    MEMBER_ARRAY,   /* pointer to several, and their number elsewhere */
    MEMBER_OWN      /* it stays at home */
};

enum { FLOW_IN = 1, FLOW_OUT = 2 }; /* goes with the request, comes with the answer */

struct layout;

struct member {
    enum member_kind kind;
    unsigned flow;
    size_t at, size;
    size_t n_at;             /* ARRAY: where its number is, a size_t */
    int max;                 /* INT: greatest value; 0: any */
    const struct layout *of; /* STRUCT, POINTER, ARRAY */
};

struct layout {
    size_t size;
    const struct member *members;
    size_t n;
};

/* What all requests have. */
const struct layout *layout_of_header(void);
/* What the operation has besides, at LAYOUT_OP_AT; NULL: nothing. */
const struct layout *layout_of_op(enum journal_op op);
#define LAYOUT_OP_AT offsetof(struct journal_request, submit)

#endif
