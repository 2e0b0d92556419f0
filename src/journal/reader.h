/* Reads a job's stored records, each with its header.  Synchronous, for one thread at a time.
 */
#ifndef JOURNAL_READER_H
#define JOURNAL_READER_H

#include "base/json.h"
#include "base/table.h"
#include "record/record.h"

struct store;

struct record_reader {
    struct store *store; /* borrowed */
    int64_t key;
    struct str job; /* borrowed */
    struct json_reader lines, head_lines;
    struct table headers;       /* seq -> struct record, ref */
    struct record *last_header; /* one of them */
};

void record_reader_init(struct record_reader *r, struct store *s, int64_t key, struct str job);
void record_reader_done(struct record_reader *r);

/* Parses a record of store_records.  @ret is valid until the next call.  A damaged record, or
 * one with a damaged header, gives an error for which record_is_damage is true. */
int record_reader_read(struct record_reader *r,
                       uint64_t seq,
                       struct str stored,
                       struct record *ret);
bool record_is_damage(int err);

#endif
