/* Server-Sent Events: `id`, `event`, `data`, blank line.
 *
 * Only a line end could end a field early, and no payload has one; if one ever did, it
 * becomes a space, so that nothing inside a payload can be read as a line of ours. */
#include "framing/framing.h"
#include "framing/line.h"

static void put(const struct message_out *m, struct buf *out)
{
    if (m->seq != 0) {
        buf_lit(out, "id: ");
        line_put_id(out, m);
        buf_lit(out, "\nevent: ");
    } else {
        buf_lit(out, "event: ");
    }
    line_put(out, m->event);
    buf_lit(out, "\ndata: ");
    line_put(out, m->data);
    buf_lit(out, "\n\n");
}

const struct framing framing_sse = { .name = "sse", .put = put };
