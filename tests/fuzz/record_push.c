/* Any bytes as the pushes of another gateway, one after another over one connection: records
 * that are taken are the job's latest, without a gap, and can be stored again.
 *
 * Each push has its length before it, in two bytes. */
#include "fuzz.h"

#include "base/buf.h"
#include "cluster/record_push.h"
#include "record/record.h"

#include <stdlib.h>

static void expect_whole(const struct record_push *push)
{
    const struct live_records *live = &push->live;
    struct buf line;

    buf_init(&line, SIZE_MAX / 4);
    for (size_t i = 0; i < live->n; i++) {
        const struct record *rec = live->records[i];

        if (rec->seq != push->wakeup.change.last_seq - live->n + 1 + i)
            abort();
        if (rec->header_seq != 0 &&
            (rec->header == NULL || rec->header->seq != rec->header_seq))
            abort();
        buf_clear(&line);
        record_encode(rec, &line);
        if (line.error != 0 || line.n == 0)
            abort();
    }
    buf_done(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct record_push_reader *reader;

    if (record_push_reader_new(&reader) != 0)
        abort();
    while (all.n >= 2) {
        size_t n = (size_t)(unsigned char)all.p[0] << 8 | (unsigned char)all.p[1];
        struct record_push push;

        all = str_skip(all, 2);
        n = n < all.n ? n : all.n;
        if (record_push_read(reader, str_head(all, n), &push) == 0)
            expect_whole(&push);
        all = str_skip(all, n);
    }
    record_push_reader_free(reader);
    return 0;
}
