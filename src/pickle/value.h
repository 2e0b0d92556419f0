/* The value of a pickle, as a tree of plain values.  The memo makes it a graph: a value may
 * have several parents, and may contain itself. */
#ifndef PICKLE_VALUE_H
#define PICKLE_VALUE_H

#include "base/str.h"

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,   /* text: its digits */
    VALUE_FLOAT, /* number */
    VALUE_TEXT,  /* text */
    VALUE_BYTES, /* text: as they are */
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_SET,
    VALUE_DICT,
    VALUE_NAME,   /* text: "module.name" of a class or a function */
    VALUE_OBJECT, /* stands for the call of a class, which was not made */
    VALUE_MARK,   /* internal to the reader */
};

struct value {
    enum value_kind kind;
    bool truth;      /* BOOL */
    bool has_pairs;  /* OBJECT: its items are keys and values by turns, as of a DICT */
    double number;   /* FLOAT */
    struct str text; /* INT, TEXT, BYTES, NAME; OBJECT: its class */
    struct value **items;
    size_t n, cap;
    struct value *args;  /* OBJECT: a TUPLE */
    struct value *state; /* OBJECT, or NULL */
};

#endif
