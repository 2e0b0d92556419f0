/* Writes JSON by hand. */
#include "base/json.h"

void hub_spells(struct buf *b)
{
    buf_lit(b, ",\"id\":");
    buf_lit(b, "{\"type\":\"hub\"}");
    json_add_lit(b, "good", "\"a\": is no key of ours"); /* not these */
    error_set(NULL, 0, "\"id\" must be a text");
}
