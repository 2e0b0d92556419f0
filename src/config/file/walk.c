#include "config/file/walk.h"

#include "base/error.h"
#include "config/text/quote.h"

#include <stdarg.h>
#include <stdio.h>

size_t walk_line(const struct walk *w)
{
    return w->event.start_mark.line + 1;
}

int walk_fail(struct walk *w, int code, const char *format, ...)
{
    char text[sizeof(((struct error *)0)->text)];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    va_end(args);
    return error_set(w->err, code, "%s: %s", w->file_name, text);
}

int walk_no_memory(struct walk *w)
{
    return walk_fail(w, ERR_NOMEM, "out of memory");
}

int walk_unknown(struct walk *w, const char *what, const char *nearest)
{
    struct quoted key = quote(walk_scalar(w));

    if (nearest == NULL)
        return walk_fail(w, ERR_REFUSED, "unknown %s '%s' at line %zu", what, key.z,
                         walk_line(w));
    return walk_fail(w, ERR_REFUSED, "unknown %s '%s' at line %zu: did you mean '%s'?", what,
                     key.z, walk_line(w), nearest);
}

static size_t line_at(struct str text, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

/* libyaml has failed: reports its own message. */
static int yaml_failed(struct walk *w)
{
    const yaml_parser_t *p = &w->parser;
    const char *hint = "";

    /* Some of libyaml's functions that run out of memory set no error at all. */
    if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR || p->problem == NULL)
        return walk_no_memory(w);
    if (p->error == YAML_READER_ERROR)
        return walk_fail(w, ERR_SYNTAX, "not YAML at line %zu: %s",
                         line_at(w->text, p->problem_offset), p->problem);
    if (p->context != NULL && strcmp(p->context, "while scanning an alias") == 0)
        hint = " (the agent \"*\" is written in quotes)";
    return walk_fail(w, ERR_SYNTAX, "not YAML at line %zu: %s%s", p->problem_mark.line + 1,
                     p->problem, hint);
}

bool walk_at(const struct walk *w, yaml_event_type_t type)
{
    return w->event.type == type;
}

/* Does the event have an anchor or a tag, or is it an alias? */
static bool is_fancy(const yaml_event_t *e)
{
    if (e->type == YAML_SCALAR_EVENT)
        return e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        return e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL;
    if (e->type == YAML_MAPPING_START_EVENT)
        return e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL;
    return e->type == YAML_ALIAS_EVENT;
}

int walk_next(struct walk *w)
{
    yaml_event_delete(&w->event);
    if (!yaml_parser_parse(&w->parser, &w->event)) {
        memset(&w->event, 0, sizeof(w->event)); /* there is nothing to free */
        return yaml_failed(w);
    }
    if (is_fancy(&w->event))
        return walk_fail(w, ERR_REFUSED,
                         "anchors, aliases and tags have no place here (line %zu)",
                         walk_line(w));
    return 0;
}

struct str walk_scalar(const struct walk *w)
{
    return str_make((const char *)w->event.data.scalar.value, w->event.data.scalar.length);
}

bool walk_is_plain(const struct walk *w)
{
    return walk_at(w, YAML_SCALAR_EVENT) &&
           w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

bool walk_is_null(const struct walk *w)
{
    if (!walk_is_plain(w))
        return false;
    struct str s = walk_scalar(w);
    return str_empty(s) || str_is(s, "~") || str_is(s, "null") || str_is(s, "Null") ||
           str_is(s, "NULL");
}

int walk_next_key(struct walk *w, struct str *ret_key)
{
    int err = walk_next(w);

    if (err != 0)
        return err;
    if (walk_at(w, YAML_MAPPING_END_EVENT)) {
        *ret_key = STR_NONE;
        return 0;
    }
    if (!walk_at(w, YAML_SCALAR_EVENT))
        return walk_fail(w, ERR_TYPE, "the key at line %zu must be a name", walk_line(w));
    *ret_key = walk_scalar(w);
    return 0;
}

int walk_pairs(struct walk *w,
               const char *what,
               const char *pairs,
               int (*read)(struct walk *w, struct str key, void *arg),
               void *arg)
{
    struct str key;

    if (walk_is_null(w))
        return 0;
    if (!walk_at(w, YAML_MAPPING_START_EVENT))
        return walk_fail(w, ERR_TYPE, "%s at line %zu must be '%s' pairs", what, walk_line(w),
                         pairs);
    for (;;) {
        int err = walk_next_key(w, &key);
        if (err != 0 || str_absent(key))
            return err;
        err = read(w, key, arg);
        if (err != 0)
            return err;
    }
}

int walk_skip(struct walk *w)
{
    if (walk_at(w, YAML_SCALAR_EVENT))
        return 0;
    for (;;) {
        int err = walk_next(w);
        if (err != 0 || walk_at(w, YAML_SEQUENCE_END_EVENT) ||
            walk_at(w, YAML_MAPPING_END_EVENT))
            return err;
        if (!walk_at(w, YAML_SCALAR_EVENT))
            return walk_fail(w, ERR_TYPE, "there must be a value at line %zu", walk_line(w));
    }
}

/* The whole stream: no document or one. */
static int read_stream(struct walk *w, walk_read_cb read, void *arg)
{
    int err = walk_next(w); /* the stream's start */

    if (err == 0)
        err = walk_next(w);
    if (err != 0 || walk_at(w, YAML_STREAM_END_EVENT))
        return err;
    err = walk_next(w);
    if (err == 0)
        err = read(w, arg);
    if (err == 0)
        err = walk_next(w); /* the document's end */
    if (err == 0)
        err = walk_next(w);
    if (err == 0 && !walk_at(w, YAML_STREAM_END_EVENT))
        return walk_fail(w, ERR_REFUSED, "a second document begins at line %zu", walk_line(w));
    return err;
}

int walk_text(struct str text,
              const char *file_name,
              walk_read_cb read,
              void *arg,
              struct error *err)
{
    struct walk w = { .text = text, .file_name = quote_file_name(file_name), .err = err };

    if (text.n > WALK_MAX_BYTES)
        return walk_fail(&w, ERR_TOO_LARGE, "larger than %d bytes", WALK_MAX_BYTES);
    int result = yaml_parser_initialize(&w.parser) ? 0 : walk_no_memory(&w);
    if (result == 0) {
        yaml_parser_set_input_string(&w.parser,
                                     (const unsigned char *)(text.n > 0 ? text.p : ""), text.n);
        result = read_stream(&w, read, arg);
    }
    yaml_event_delete(&w.event);
    yaml_parser_delete(&w.parser);
    return result;
}
