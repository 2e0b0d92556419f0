/* Lists of the server, as the commands show them: rows of columns for a person; with --json, or
 * a flag for the ids alone, a line for each item.
 *
 *     static const struct column columns[] = {
 *         { "JOB", "job_id" }, { "AGE", "created_at", .put = column_since }, { 0 },
 *     };
 */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/pages.h"
#include "terminal/grid.h"

struct column {
    const char *title;
    const char *key; /* of the member that it shows; NULL: `put` looks for itself */
    enum term_style style;
    /* Writes the cell and says its style.  NULL: a text as it is, anything else as JSON. */
    enum term_style (*put)(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text);
};

/* For `put`: how long ago, or ahead, a moment is; a job's state in its colour. */
enum term_style column_since(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text);
enum term_style column_until(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text);
enum term_style column_state(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text);

/* The rows of @list, with titles; nothing if it is empty and not @always. */
void listing_put(yyjson_val *list,
                 const struct column *columns,
                 bool always,
                 const struct term *term,
                 struct buf *out);
/* A line for each item: the first column's text, or all of it as JSON. */
void listing_put_line(yyjson_val *item,
                      const struct column *columns,
                      bool is_id,
                      struct buf *out);

/* A list that comes page by page. */
struct listing {
    const struct column *columns; /* up to one without a title */
    struct pages pages;
    int ids;           /* the flag for them; 0: none */
    const char *color; /* for term_open() */
    int64_t limit;     /* items; 0: all */
    /* False: neither this item nor any that follows.  NULL: all are wanted. */
    bool (*wants)(void *arg, yyjson_val *item);
    void *arg; /* for `wants` and the columns' `put` */
    /* Its own. */
    struct remote *remote;
    const struct args *args;
    struct grid grid;
    struct buf out;
    int64_t n;
    bool is_over;
};

/* Writes it; an exit code. */
int listing_run(struct listing *l, const struct args *args, struct remote *remote);

#endif
