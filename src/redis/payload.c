#define _GNU_SOURCE /* memmem */
#include "redis/payload.h"

#include "base/json.h"

static bool has(struct str s, struct str part)
{
    return memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* A quick test that avoids parsing large messages: has it neither a producer_seq nor the name
 * of an event that asks or ends? */
static bool is_plain(struct str s)
{
    bool is_event = str_starts(s, STR("{\"event\""));

    return !has(s, STR("\"producer_seq\"")) &&
           (is_event || (!has(s, STR("graph.")) && !has(s, STR("job."))));
}

struct payload_about payload_read(struct json_reader *reader, struct str payload)
{
    struct payload_about about = { .producer_seq = -1 };
    struct json json;

    if (payload.n == 0 || is_plain(payload) || json_read(reader, payload, &json, NULL) != 0)
        return about;
    struct str type = json_text(json_at(json.root, "type"));
    int64_t seq = json_int(json_at(json.root, "producer_seq"), -1);
    about.producer_seq = seq >= 0 ? seq : -1;
    about.asks = str_is(type, "graph.interrupt") || str_is(type, "graph.paused");
    about.ends = str_is(type, "job.done") || str_is(type, "job.failed");
    return about;
}
