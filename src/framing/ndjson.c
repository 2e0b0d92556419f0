/* JSON lines: one value a line.
 *
 * Wrapped, the line also carries the frame's id and name, for payloads that do not
 * have them or readers that want them outside. */
#include "base/json.h"
#include "framing/framing.h"
#include "framing/line.h"

static void put_wrapped(const struct message_out *m, struct buf *out)
{
    json_begin(out);
    if (m->job.p != NULL)
        json_add_str(out, "job", m->job);
    if (m->seq != 0) {
        json_add_parts(out, "id");
        line_put_id(out, m);
        json_end_parts(out);
    }
    json_add_str(out, "event", m->event);
    json_key(out, "data");
    line_put(out, m->data);
    json_end(out);
}

/* As put_wrapped begins; a job's id has nothing to escape. */
struct str line_id(struct str line, struct str job)
{
    struct str before = STR("," JSON_KEY("id") "\"");
    struct str id = str_skip(line, sizeof("{" JSON_LIT("job", "")) - 1 + job.n);

    if (!str_starts(id, before))
        return STR_NONE;
    id = str_skip(id, before.n);
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
