/* Any lines as stored records: one that can be read is stored in the same bytes again, can
 * be shown in every dialect, and does no harm to a fold that is rebuilt from it. */
#include "fuzz.h"

#include "base/error.h"
#include "base/json.h"
#include "ingest/agent.h"
#include "support/ledger.h"
#include "support/play.h"

#include <stdio.h>
#include <stdlib.h>

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* Decoded, encoded, decoded, encoded: the last two are the same. */
static void check_stable(const struct record *rec)
{
    struct json_reader reader;
    struct record again, *copy = NULL;
    struct buf once, twice, copied;

    json_reader_init(&reader, 1 << 24, 256);
    buf_init(&once, SIZE_MAX / 4);
    buf_init(&twice, SIZE_MAX / 4);
    buf_init(&copied, SIZE_MAX / 4);
    record_encode(rec, &once);
    check(record_decode(&reader, buf_text(&once), &again, NULL) == 0, "cannot be read again");
    record_encode(&again, &twice);
    check(str_eq(buf_text(&once), buf_text(&twice)), "stored in other bytes the second time");
    check(record_new(&again, &copy) == 0, "memory");
    record_encode(copy, &copied);
    check(str_eq(buf_text(&once), buf_text(&copied)), "a copy is stored in other bytes");
    record_unref(copy);
    buf_done(&once);
    buf_done(&twice);
    buf_done(&copied);
    json_reader_done(&reader);
}

static void check_frames(const struct record *rec)
{
    struct frames frames;

    frames_init(&frames, SIZE_MAX / 4);
    for (size_t view = 0; view < N_VIEWS; view++) {
        check(dialect_render(views[view].dialect, rec, &views[view].variant, &frames) == 0,
              "cannot be rendered");
        for (size_t i = 0; i < frames.n; i++) {
            struct str data = frame_data(&frames, &frames.frame[i]);
            yyjson_doc *doc = yyjson_read(data.p, data.n, 0);

            check(doc != NULL && str_find(data, '\n') == data.n, "a payload is not JSON");
            yyjson_doc_free(doc);
        }
    }
    frames_done(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_make((const char *)data, size);
    struct json_reader reader;
    struct play p;

    json_reader_init(&reader, 1 << 20, 64);
    play_init(&p, (struct play_options){ 0 });
    while (rest.n > 0) {
        struct str line = str_head(rest, str_find(rest, '\n'));
        struct error err = { 0 };
        struct record rec;
        int code = record_decode(&reader, line, &rec, &err);

        check(code == 0 || err.text[0] != '\0', "an error without a word");
        if (code == 0) {
            check_stable(&rec);
            check_frames(&rec);
            (void)fold_replay(p.fold, &rec); /* a log with a hole is refused */
        }
        rest = str_skip(rest, line.n + 1);
    }
    (void)play_finish(&p, JOB_END_FAILED, STR("x"), 0); /* it may have ended */
    play_done(&p);
    json_reader_done(&reader);
    return 0;
}
