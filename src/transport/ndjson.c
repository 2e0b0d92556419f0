/* JSON lines: text over HTTP, one object per line; a keep-alive is an object too. */
#include "transport/stream.h"

#include "base/json.h"
#include "framing/framing.h"
#include "http/chunk.h"

#define KEEP_ALIVE "stream.keep_alive"

static struct http_stream *begin(struct stream *s, const struct http_stream_events *events)
{
    return stream_begin_text(s, "application/x-ndjson", events);
}

static int64_t look(struct stream *s, int64_t now)
{
    if (stream_silence_left(s, now) > 0)
        return stream_silence_left(s, now);
    if (!s->sending) /* not an empty line: clients parse every line as JSON */
        http_chunk_put(stream_small(s),
                       s->is_bare ? STR("{" JSON_LIT("type", KEEP_ALIVE) "}\n")
                                  : STR("{" JSON_LIT("event", KEEP_ALIVE) "," JSON_CONST(
                                        "data", "null") "}\n"),
                       http_stream_is_chunked(s->http));
    return s->loop->opt.keep_alive_ms;
}

const struct transport transport_ndjson = { .kind = TRANSPORT_NDJSON,
                                            .framing = &framing_ndjson,
                                            .is_chunked = true,
                                            .begin = begin,
                                            .look = look,
                                            .leave = stream_cut,
                                            .send_away = stream_send_away };
