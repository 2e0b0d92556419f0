#include "journal/reader.h"

#include "base/error.h"
#include "store/store.h"

void record_reader_init(struct record_reader *r, struct store *s, int64_t key, struct str job)
{
    *r = (struct record_reader){ .store = s, .key = key, .job = job };
    json_reader_init(&r->lines, SIZE_MAX / 64, 256);
    json_reader_init(&r->head_lines, SIZE_MAX / 64, 256);
    table_init(&r->headers);
}

void record_reader_done(struct record_reader *r)
{
    for (size_t i = 0; i < r->headers.cap; i++)
        record_unref(r->headers.slots[i].value);
    table_done(&r->headers);
    json_reader_done(&r->lines);
    json_reader_done(&r->head_lines);
}

static struct key header_key(uint64_t seq)
{
    return (struct key){ seq * 0x9E3779B97F4A7C15u, seq };
}

static int keep_header(struct record_reader *r, const struct record *rec, struct record **ret)
{
    struct record *header;
    int err = record_new(rec, &header);

    if (err != 0)
        return err;
    err = table_put(&r->headers, header_key(rec->seq), header);
    if (err != 0)
        record_unref(header);
    else
        *ret = header;
    return err;
}

/* The header that a record refers to: from the cache, or from the store. */
static int find_header(struct record_reader *r, uint64_t seq, const struct record **ret)
{
    struct record *header = r->last_header, decoded;
    struct str stored;

    if (header == NULL || header->seq != seq)
        header = table_get(&r->headers, header_key(seq));
    if (header == NULL) {
        int err = store_record(r->store, r->key, seq, &stored, NULL);

        if (err == 0)
            err = record_decode(&r->head_lines, stored, &decoded, NULL);
        if (err == 0)
            err = keep_header(r, &decoded, &header);
        if (err != 0)
            return err;
    }
    r->last_header = header;
    *ret = header;
    return 0;
}

static bool is_header(const struct record *rec)
{
    return rec->header_seq == 0 && rec->info.run.p != NULL;
}

int record_reader_read(struct record_reader *r,
                       uint64_t seq,
                       struct str stored,
                       struct record *ret)
{
    int err = record_decode(&r->lines, stored, ret, NULL);

    if (err == 0 && ret->seq != seq)
        err = ERR_TYPE;
    if (err == 0 && ret->header_seq != 0)
        err = find_header(r, ret->header_seq, &ret->header);
    if (err == 0 && is_header(ret))
        err = keep_header(r, ret, &r->last_header);
    ret->job_id = r->job;
    return err;
}

bool record_is_damage(int err)
{
    return err == ERR_SYNTAX || err == ERR_TYPE || err == ERR_NOT_FOUND;
}
