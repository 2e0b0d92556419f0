/* JSON lines: one value a line.
 *
 * Wrapped, the line also carries the frame's id and name, for payloads that do not
 * have them or readers that want them outside. */
#include "base/json.h"
#include "framing/framing.h"
#include "framing/line.h"

static void put_wrapped(const struct message_out *m, struct buf *out)
{
    buf_char(out, '{');
    if (m->job.p != NULL) {
        buf_lit(out, "\"job\":");
        json_put_str(out, m->job);
        buf_char(out, ',');
    }
    if (m->seq != 0) {
        buf_lit(out, "\"id\":\"");
        line_put_id(out, m);
        buf_lit(out, "\",");
    }
    buf_lit(out, "\"event\":");
    json_put_str(out, m->event);
    buf_lit(out, ",\"data\":");
    line_put(out, m->data);
    buf_char(out, '}');
}

/* As put_wrapped begins; a job's id has nothing to escape. */
struct str line_id(struct str line, struct str job)
{
    struct str id = str_skip(line, sizeof("{\"job\":\"\",") - 1 + job.n);

    if (!str_starts(id, STR("\"id\":\"")))
        return STR_NONE;
    id = str_skip(id, sizeof("\"id\":\"") - 1);
    return str_head(id, str_find(id, '"'));
}

void line_put_json(struct buf *out, const struct message_out *m)
{
    if (m->wrap)
        put_wrapped(m, out);
    else
        line_put(out, m->data);
}

static void put(const struct message_out *m, struct buf *out)
{
    line_put_json(out, m);
    buf_char(out, '\n');
}

const struct framing framing_ndjson = { .name = "ndjson", .put = put };
