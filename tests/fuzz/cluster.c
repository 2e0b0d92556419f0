/* Any bytes as a request from another gateway, and as an answer to one of any operation: what
 * is taken is written again as bytes that mean the same. */
#include "fuzz.h"

#include "cluster/codec.h"

#include <stdlib.h>

static void init(struct journal_request *req, enum journal_op op)
{
    journal_request_init(req, NULL, NULL, NULL);
    (void)journal_request_begin(req, op);
}

static void try_request(struct str bytes)
{
    struct journal_request req, again;
    struct buf out, out_again;

    init(&req, JOURNAL_APPEND);
    init(&again, JOURNAL_APPEND);
    buf_init(&out, SIZE_MAX / 4);
    buf_init(&out_again, SIZE_MAX / 4);
    if (codec_read_request(bytes, &req) == 0) {
        codec_put_request(&out, &req);
        if (codec_read_request(buf_text(&out), &again) != 0)
            abort();
        codec_put_request(&out_again, &again);
        if (!str_eq(buf_text(&out), buf_text(&out_again)))
            abort();
    }
    codec_request_done(&req);
    codec_request_done(&again);
    buf_done(&out);
    buf_done(&out_again);
}

static void try_answer(enum journal_op op, struct str bytes)
{
    struct journal_request req;
    struct buf out;

    init(&req, op);
    buf_init(&out, SIZE_MAX / 4);
    if (codec_read_answer(bytes, &req) == 0) {
        codec_put_answer(&out, &req);
        if (codec_read_answer(buf_text(&out), &req) != 0)
            abort();
    }
    buf_done(&out);
    arena_done(&req.mem);
}

/* The first byte says what the others are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str bytes = str_make((const char *)data + 1, size - 1);
    if (data[0] < JOURNAL_OP_MAX && data[0] != JOURNAL_SETTINGS)
        try_answer(data[0], bytes);
    else
        try_request(bytes);
    return 0;
}
