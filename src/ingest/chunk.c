/* A root run's chunk: a stream-mode part inside an astream_events line. */
#include "base/error.h"
#include "ingest/event.h"
#include "ingest/sources.h"

static void join_ns(const yyjson_val *ns, struct buf *out)
{
    buf_str(out, json_text(ns)); /* already joined */
    json_each(segment, ns) {
        if (out->n > 0)
            buf_char(out, '|');
        buf_str(out, json_text(segment));
    }
}

int event_part_of_chunk(const yyjson_val *chunk, struct buf *scratch, struct event *ret)
{
    yyjson_val *list = (yyjson_val *)chunk;
    size_t n = yyjson_arr_size(list);
    const yyjson_val *ns = n == 3 ? yyjson_arr_get(list, 0) : NULL;
    struct str mode = n >= 2 ? json_text(yyjson_arr_get(list, n - 2)) : STR_NONE;

    if (!yyjson_is_arr(list) || n < 2 || n > 3 || !part_mode_find(mode, &ret->mode))
        return ERR_TYPE;
    ret->name = part_channel(mode);
    buf_clear(scratch);
    join_ns(ns, scratch);
    ret->ns = buf_text(scratch);
    ret->data = yyjson_arr_get(list, n - 1);
    return scratch->error;
}
