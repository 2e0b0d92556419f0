/* Which events of a thread a reader has asked for: channels, and namespaces to a depth.
 *
 * Events are looked at as the lines that dialect/thread_events.c has rendered, without parsing
 * their data: every line begins with the same members in the same order. */
#ifndef TRANSPORT_THREAD_FILTER_H
#define TRANSPORT_THREAD_FILTER_H

#include "base/arena.h"
#include "base/json.h"
#include "base/must_check.h"
#include "base/str.h"

struct error;

/* One event; all texts are parts of the line. */
struct thread_line {
    struct str text; /* all of it */
    struct str id;   /* event_id */
    uint64_t seq;
    struct str method;
    struct str ns;   /* the namespace: JSON strings with commas between; empty: the root */
    struct str name; /* of custom data, as JSON without quotes; absent: none */
    bool ends_run;   /* the root's lifecycle says that the run has ended */
};

/* False: the line is no event, such as a frame about the connection. */
bool thread_line_read(struct str line, struct thread_line *ret);

struct thread_filter {
    struct arena mem;
    uint32_t channels; /* bits, see thread_filter.c */
    struct str *names; /* of custom channels, as JSON without quotes */
    size_t n_names;
    struct str *prefixes; /* namespaces, as in thread_line.ns */
    size_t n_prefixes;    /* 0: all namespaces */
    int64_t depth;        /* segments below a prefix; negative: any number */
};

/* From {"channels":[…],"namespaces":[[…]],"depth":N}.  ERR_TYPE, and the text says what is
 * wrong; ERR_NOMEM.  To be done with in any case. */
MUST_CHECK int thread_filter_init(struct thread_filter *f,
                                  const yyjson_val *params,
                                  struct error *err);
void thread_filter_done(struct thread_filter *f);

bool thread_filter_takes(const struct thread_filter *f, const struct thread_line *line);

#endif
