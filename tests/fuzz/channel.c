/* A pattern, a newline, and what comes on a channel: the name of a job's channel leads back to
 * the job, and any payload can be looked at. */
#include "fuzz.h"

#include "base/buf.h"
#include "config/values/channel.h"
#include "base/error.h"
#include "base/json.h"
#include "redis/payload.h"

#include <stdlib.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void try_pattern(struct str pattern, struct str job)
{
    struct channel c;
    struct error err = { 0 };
    struct buf name;
    struct str found;

    if (channel_parse(pattern, &c, &err) != 0) {
        check(err.text[0] != '\0');
        return;
    }
    buf_init(&name, SIZE_MAX / 4);
    channel_put(&c, job, &name);
    check(channel_find_job(&c, buf_text(&name), &found) && str_eq(found, job));
    buf_clear(&name);
    channel_put_glob(&c, &name);
    check(name.error == 0 && memchr(name.p, '*', name.n) != NULL);
    (void)channel_find_job(&c, job, &found); /* any name may come */
    buf_done(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    size_t end = str_find(text, '\n');
    struct str rest = str_skip(text, end + 1);
    struct json_reader reader;

    try_pattern(str_head(text, end), rest);
    json_reader_init(&reader, 1 << 20, 64);
    struct payload_about about = payload_read(&reader, rest);
    check(about.producer_seq >= -1 && !(about.asks && about.ends));
    json_reader_done(&reader);
    return 0;
}
