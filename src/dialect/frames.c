/* The frames that one record gives.
 *
 * Two buffers, one for the names and one for the payloads, and a table of places in
 * them.  A frame is open between begin and end; what is appended to `body` in
 * between is its payload.
 *
 *   names  agent.token|output.token|
 *   body   {"type":"agent.token",…}{"type":"output.token",…}
 *          ^ data_from              ^ data_from of the next one */
#include "dialect/frames.h"

#include "base/error.h"

void frames_init(struct frames *f, size_t max_bytes)
{
    memset(f, 0, sizeof(*f));
    buf_init(&f->body, max_bytes);
    buf_init(&f->names, max_bytes);
}

void frames_done(struct frames *f)
{
    buf_done(&f->body);
    buf_done(&f->names);
}

void frames_clear(struct frames *f, const struct variant *variant)
{
    f->variant = variant;
    buf_clear(&f->body);
    buf_clear(&f->names);
    f->n = 0;
    f->total = 0;
}

/* Counts the next frame and finds its place; NULL when it is not wanted. */
static struct frame *frame_open(struct frames *f, uint32_t mode)
{
    f->total++;
    if (mode != MODE_ANY && (f->variant->modes & mode) == 0)
        return NULL;
    if (f->n == FRAMES_MAX) {
        f->body.error = ERR_TOO_LARGE;
        return NULL;
    }
    struct frame *fr = &f->frame[f->n];
    fr->k = f->total;
    fr->name_from = f->names.n;
    fr->data_from = f->body.n;
    return fr;
}

struct buf *frames_begin(struct frames *f, struct str name, uint32_t mode)
{
    struct frame *fr = frame_open(f, mode);

    if (fr == NULL)
        return NULL;
    buf_str(&f->names, name);
    fr->name_n = f->names.n - fr->name_from;
    return &f->body;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == ':' || c == '|' || c == '-';
}

static void put_suffix(struct buf *names, struct str suffix)
{
    buf_char(names, '|');
    size_t from = names->n;
    buf_str(names, suffix);
    for (size_t i = from; i < names->n; i++) {
        if (!is_name_byte(names->p[i]))
            names->p[i] = '_';
    }
}

struct buf *frames_begin_ns(struct frames *f, struct str name, struct str suffix, uint32_t mode)
{
    struct frame *fr = frame_open(f, mode);

    if (fr == NULL)
        return NULL;
    buf_str(&f->names, name);
    if (!str_empty(suffix))
        put_suffix(&f->names, suffix);
    fr->name_n = f->names.n - fr->name_from;
    return &f->body;
}

void frames_end(struct frames *f)
{
    struct frame *fr = &f->frame[f->n];

    fr->data_n = f->body.n - fr->data_from;
    f->n++;
}

int frames_error(const struct frames *f)
{
    return f->body.error != 0 ? f->body.error : f->names.error;
}

uint32_t mode_find(struct str name)
{
    static const struct {
        struct str name;
        uint32_t mode;
    } modes[] = {
        { { "values", 6 }, MODE_VALUES },     { { "updates", 7 }, MODE_UPDATES },
        { { "messages", 8 }, MODE_MESSAGES }, { { "messages-tuple", 14 }, MODE_MESSAGES },
        { { "custom", 6 }, MODE_CUSTOM },     { { "events", 6 }, MODE_EVENTS },
        { { "tasks", 5 }, MODE_TASKS },       { { "checkpoints", 11 }, MODE_CHECKPOINTS },
        { { "debug", 5 }, MODE_DEBUG },       { { "tools", 5 }, MODE_TOOLS },
    };

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (str_eq(modes[i].name, name))
            return modes[i].mode;
    return 0;
}

int mode_list(struct str list, uint32_t *ret, struct error *err)
{
    uint32_t all = str_absent(list) ? MODE_DEFAULT : 0;
    bool more = !str_absent(list); /* an empty list has one name, which is none */

    while (more) {
        struct str name = str_head(list, str_find(list, ','));
        uint32_t mode = str_is(name, "all") ? (uint32_t)MODE_ALL : mode_find(name);

        if (mode == 0)
            return error_set(err, ERR_TYPE,
                             "there is no stream mode '%.*s': modes are values, updates, "
                             "messages-tuple, custom, events, tasks, checkpoints, debug and "
                             "tools, with commas between, or all",
                             STR_ARG(str_head(name, 40)));
        all |= mode;
        list = str_skip(list, name.n + 1);
        more = list.n > 0;
    }
    *ret = all;
    return 0;
}
