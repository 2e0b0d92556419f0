/* The access log: one line per finished request or stream, on stderr.
 *
 * Lines are gathered and written once per turn of the loop.  When the reader of stderr does not
 * keep up, lines are dropped and counted; the loop never waits. */
#ifndef HTTP_ACCESS_LOG_H
#define HTTP_ACCESS_LOG_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

struct date;

struct access_log {
    struct buf lines;
    int fd;
    bool is_file; /* a file: writing never blocks for long */
    bool is_text;
    bool is_off;
    uint64_t n_lost; /* lines dropped since the last report */
};

enum access_kind { ACCESS_REQUEST, ACCESS_STREAM, ACCESS_CLOSE };

struct access_entry {
    enum access_kind kind;
    struct str method; /* absent when the head was not parsed */
    struct str path;   /* without the query, which may hold secrets */
    int status;        /* 0: no answer */
    uint64_t bytes;    /* of the body */
    uint64_t us;
    struct str id;
    struct str peer;
    struct str why; /* absent: it ended regularly */
};

void access_log_init(struct access_log *log, int fd, bool is_text, bool is_off);
void access_log_done(struct access_log *log);

void access_log_add(struct access_log *log,
                    const struct date *date,
                    const struct access_entry *entry);
/* Writes what can be written without waiting. */
void access_log_flush(struct access_log *log);

#endif
