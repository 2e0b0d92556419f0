/* What the tests of the fold share: feeding events to it, and comparing its records.
 * Included once, after cmocka.h, by a program that is one test. */
#ifndef UNIT_FOLD_STORY_H
#define UNIT_FOLD_STORY_H

#include "base/error.h"
#include "base/json.h"
#include "support/ledger.h"
#include "support/play.h"

#include <stdio.h>

/* --- telling a story ------------------------------------------------------------------ */

struct scene {
    struct play play;
    struct buf text;
    int64_t ms;
};

static inline void begin_with(struct scene *s, struct play_options options)
{
    options.render = true;
    play_init(&s->play, options);
    buf_init(&s->text, SIZE_MAX / 4);
    s->ms = 0;
}

static inline void begin(struct scene *s)
{
    begin_with(s, (struct play_options){ 0 });
}

static inline void done(struct scene *s)
{
    play_done(&s->play);
    buf_done(&s->text);
}

/* Feeds one line, written as quoted_text() takes it. */
__attribute__((format(printf, 2, 3))) static void say(struct scene *s, const char *format, ...)
{
    char line[8192];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof(line) - 1);
    line[n] = '\n';
    line[n + 1] = '\0';
    buf_clear(&s->text);
    assert_int_equal(play_feed(&s->play, quoted_text(&s->text, line), s->ms += 10), 0);
}

static inline void feed_file(struct scene *s, const char *name)
{
    char path[256];
    struct recording r;

    (void)snprintf(path, sizeof(path), "tests/recordings/%s", name);
    assert_true(recording_open(&r, path));
    assert_int_equal(play_feed(&s->play, str_make(r.bytes, r.n), s->ms += 10), 0);
    recording_done(&r);
}

static inline void end_of_stream(struct scene *s)
{
    assert_int_equal(play_end(&s->play, s->ms += 10), 0);
}

/* Where in a graph something happens. */
struct where {
    const char *node;
    int step;
    const char *ns;
    const char *parents; /* in JSON; NULL: as JavaScript sends it */
    const char *tags;    /* in JSON; NULL: none */
    const char *more;    /* of the metadata, comma first; or NULL */
};

#define JS(node_, step_, ns_)                   \
    {                                           \
        .node = node_, .step = step_, .ns = ns_ \
    }
#define PY(node_, step_, ns_, parents_)                              \
    {                                                                \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_ \
    }
#define TAGGED(node_, step_, ns_, parents_, tags_)                                  \
    {                                                                               \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_, .tags = tags_ \
    }
#define WITH_META(node_, step_, ns_, parents_, tags_, more_)                         \
    {                                                                                \
        .node = node_, .step = step_, .ns = ns_, .parents = parents_, .tags = tags_, \
        .more = more_                                                                \
    }

static inline void event(struct scene *s,
                         const char *name,
                         const char *run_name,
                         const char *run,
                         struct where at,
                         const char *data)
{
    char parents[512] = "", meta[512] = "";

    if (at.parents != NULL)
        (void)snprintf(parents, sizeof(parents), ",'parent_ids':[%s]", at.parents);
    if (at.node != NULL)
        (void)snprintf(
            meta, sizeof(meta),
            "'langgraph_node':'%s','langgraph_step':%d,'langgraph_checkpoint_ns':'%s'%s",
            at.node, at.step, at.ns, at.more != NULL ? at.more : "");
    say(s, "{'event':'%s','name':'%s','run_id':'%s','tags':[%s],'metadata':{%s},'data':%s%s}",
        name, run_name, run, at.tags != NULL ? at.tags : "", meta, data, parents);
}

static const struct where nowhere;

static inline void root_starts(struct scene *s, const char *run)
{
    event(s, "on_chain_start", "LangGraph", run, nowhere, "{'input':{}}");
}

static inline void root_streams(struct scene *s, const char *run, const char *chunk)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'chunk':%s}", chunk);
    event(s, "on_chain_stream", "LangGraph", run, nowhere, data);
}

static inline void root_ends(struct scene *s, const char *run, const char *output)
{
    char data[4096];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_chain_end", "LangGraph", run, nowhere, data);
}

static inline struct where tagged(struct where at, char tag[32])
{
    if (at.tags == NULL) {
        (void)snprintf(tag, 32, "'graph:step:%d'", at.step);
        at.tags = tag;
    }
    return at;
}

static inline void node_starts(struct scene *s, struct where at, const char *run)
{
    char tag[32];

    event(s, "on_chain_start", at.node, run, tagged(at, tag), "{'input':{}}");
}

static inline void node_ends(struct scene *s,
                             struct where at,
                             const char *run,
                             const char *output)
{
    char tag[32], data[2048];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_chain_end", at.node, run, tagged(at, tag), data);
}

static inline void model_starts(struct scene *s, struct where at, const char *run)
{
    event(s, "on_chat_model_start", "Chat", run, at, "{'input':{'messages':[[]]}}");
}

/* @more are members of the chunk, comma first. */
static inline void token_with(struct scene *s,
                              struct where at,
                              const char *run,
                              const char *id,
                              const char *text,
                              const char *more)
{
    char data[4096];

    (void)snprintf(data, sizeof(data),
                   "{'chunk':{'type':'AIMessageChunk','id':'%s','content':'%s'%s}}", id, text,
                   more);
    event(s, "on_chat_model_stream", "Chat", run, at, data);
}

static inline void token(struct scene *s,
                         struct where at,
                         const char *run,
                         const char *id,
                         const char *text)
{
    token_with(s, at, run, id, text, "");
}

/* @more are members of the message, comma first. */
static inline void model_ends(struct scene *s,
                              struct where at,
                              const char *run,
                              const char *id,
                              const char *text,
                              const char *more)
{
    char data[4096];

    (void)snprintf(data, sizeof(data), "{'output':{'type':'ai','id':'%s','content':'%s'%s}}",
                   id, text, more);
    event(s, "on_chat_model_end", "Chat", run, at, data);
}

static inline void tool_starts(struct scene *s,
                               struct where at,
                               const char *name,
                               const char *run,
                               const char *input)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'input':%s}", input);
    event(s, "on_tool_start", name, run, at, data);
}

static inline void tool_ends(struct scene *s,
                             struct where at,
                             const char *name,
                             const char *run,
                             const char *output)
{
    char data[2048];

    (void)snprintf(data, sizeof(data), "{'output':%s}", output);
    event(s, "on_tool_end", name, run, at, data);
}

/* A node that most stories have. */
static const struct where writer = JS("writer", 1, "writer:a");

/* --- comparing ------------------------------------------------------------------------ */

static inline bool is_among(struct str kind, const char *prefixes)
{
    struct str rest = str_of(prefixes);

    while (rest.n > 0) {
        struct str prefix = str_head(rest, str_find(rest, ' '));

        if (str_starts(kind, prefix))
            return true;
        rest = str_skip(rest, prefix.n + 1);
    }
    return false;
}

static inline void put_fields(struct buf *out, yyjson_val *rec, const char *fields)
{
    struct str rest = str_of(fields);

    while (rest.n > 0) {
        struct str name = str_head(rest, str_find(rest, ' '));
        yyjson_val *v = json_get(rec, name);

        buf_char(out, ' ');
        if (v == NULL)
            buf_char(out, '-');
        else if (yyjson_is_str(v))
            buf_str(out, json_text(v));
        else
            json_put_value(out, v);
        rest = str_skip(rest, name.n + 1);
    }
}

/* Every record of the @kinds (prefixes): its kind, then its @fields. */
static inline void tell(struct scene *s, const char *kinds, const char *fields, struct buf *out)
{
    const struct tape *raw = &s->play.frames_of[VIEW_RAW];
    struct json_reader reader;

    json_reader_init(&reader, 1 << 24, 64);
    for (size_t i = 0; i < raw->n; i++) {
        struct str rest = tape_at(raw, i);
        struct sse_frame frame;
        struct json j;

        assert_true(sse_frame_next(&rest, &frame));
        if (!is_among(frame.event, kinds))
            continue;
        assert_int_equal(json_read(&reader, frame.data, &j, NULL), 0);
        buf_str(out, frame.event);
        put_fields(out, j.root, fields);
        buf_char(out, '\n');
    }
    json_reader_done(&reader);
}

static inline void same_text(struct buf *got, const char *expected)
{
    struct buf want;

    buf_init(&want, SIZE_MAX / 4);
    (void)quoted_text(&want, expected);
    buf_char(&want, '\0');
    buf_char(got, '\0');
    assert_string_equal(got->p, want.p);
    buf_done(&want);
}

static inline void expect(struct scene *s,
                          const char *kinds,
                          const char *fields,
                          const char *expected)
{
    struct buf got;

    buf_init(&got, SIZE_MAX / 4);
    tell(s, kinds, fields, &got);
    same_text(&got, expected);
    buf_done(&got);
}

/* The payloads of one view's events of the @names (prefixes). */
static inline void expect_frames(struct scene *s,
                                 size_t view,
                                 const char *names,
                                 const char *expected)
{
    const struct tape *frames = &s->play.frames_of[view];
    struct buf got;

    buf_init(&got, SIZE_MAX / 4);
    for (size_t i = 0; i < frames->n; i++) {
        struct str rest = tape_at(frames, i);
        struct sse_frame frame;

        while (rest.n > 0) {
            assert_true(sse_frame_next(&rest, &frame));
            if (!is_among(frame.event, names))
                continue;
            buf_str(&got, frame.data);
            buf_char(&got, '\n');
        }
    }
    same_text(&got, expected);
    buf_done(&got);
}

#endif
