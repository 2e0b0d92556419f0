/* A repr is read with a cursor that steps over one literal at a time: strings by their
 * quotes, everything else by counting brackets.  Reading stops at the first thing that does not
 * fit; what was found before is kept.
 *
 *     content=[{'type': 'text', 'text': 'Let me '}] additional_kwargs={} id='msg_1'
 *     '------ literal ----------------------------' '---- field ------' */
#include "ingest/repr.h"

#include "base/json.h"
#include "base/utf8.h"
#include "ingest/message.h"

struct repr_cursor {
    const char *p;
    const char *end;
};

static struct repr_cursor cursor_of(struct str s)
{
    static const char none[] = "";

    return str_absent(s) ? (struct repr_cursor){ none, none }
                         : (struct repr_cursor){ s.p, s.p + s.n };
}

static bool at(const struct repr_cursor *c, char what)
{
    return c->p < c->end && *c->p == what;
}

static void skip_spaces(struct repr_cursor *c)
{
    while (at(c, ' '))
        c->p++;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static struct str word(struct repr_cursor *c)
{
    const char *from = c->p;

    while (c->p < c->end && is_word(*c->p))
        c->p++;
    return str_make(from, (size_t)(c->p - from));
}

/* Steps over 'text' or "text"; false when its end is missing. */
static bool step_string(struct repr_cursor *c)
{
    char quote = *c->p++;

    while (c->p < c->end && *c->p != quote)
        c->p += *c->p == '\\' && c->p + 1 < c->end ? 2 : 1;
    if (c->p >= c->end)
        return false;
    c->p++;
    return true;
}

static bool opens(char c)
{
    return c == '(' || c == '[' || c == '{' || c == '<';
}

static bool closes(char c)
{
    return c == ')' || c == ']' || c == '}' || c == '>';
}

/* The literal at the cursor: up to a space, comma, colon or bracket that is not its own. */
static bool literal(struct repr_cursor *c, struct str *ret)
{
    const char *from = c->p;
    size_t depth = 0;

    while (c->p < c->end) {
        char now = *c->p;

        if (now == '\'' || now == '"') {
            if (!step_string(c))
                return false;
            continue;
        }
        if (depth == 0 && (now == ' ' || now == ',' || now == ':' || closes(now)))
            break;
        if (opens(now))
            depth++;
        else if (closes(now))
            depth--;
        c->p++;
    }
    *ret = str_make(from, (size_t)(c->p - from));
    return depth == 0 && ret->n > 0;
}

/* The next `key=literal`; false at the end. */
static bool field(struct repr_cursor *c, struct str *ret_key, struct str *ret_value)
{
    while (at(c, ' ') || at(c, ','))
        c->p++;
    *ret_key = word(c);
    if (ret_key->n == 0 || !at(c, '='))
        return false;
    c->p++;
    return literal(c, ret_value);
}

/* --- strings ----------------------------------------------------------------- */

static bool is_string(struct str s)
{
    return s.n >= 2 && (s.p[0] == '\'' || s.p[0] == '"') && s.p[s.n - 1] == s.p[0];
}

/* What stands between the quotes, escapes and all. */
static struct str inside(struct str s)
{
    return is_string(s) ? str_make(s.p + 1, s.n - 2) : STR_NONE;
}

static bool hex(const struct repr_cursor *c, size_t n_digits, uint32_t *ret)
{
    uint32_t value = 0;

    if ((size_t)(c->end - c->p) < n_digits)
        return false;
    for (size_t i = 0; i < n_digits; i++) {
        char d = c->p[i];

        if (d >= '0' && d <= '9')
            value = value << 4 | (uint32_t)(d - '0');
        else if (d >= 'a' && d <= 'f')
            value = value << 4 | (uint32_t)(d - 'a' + 10);
        else
            return false;
    }
    *ret = value;
    return true;
}

/* Appends @point; the second half of a surrogate pair completes the first. */
static void put_point(struct buf *out, size_t from, uint32_t point)
{
    uint32_t high = utf8_half_last(buf_since(out, from));
    char bytes[4];

    if (utf8_is_low(point) && utf8_is_high(high)) {
        buf_cut(out, out->n - 3);
        point = 0x10000 + ((high - 0xD800) << 10) + (point - 0xDC00);
    }
    buf_put(out, bytes, utf8_put(bytes, point));
}

/* The escape whose letter the cursor is at. */
static void put_escape(struct buf *out, size_t from, struct repr_cursor *c)
{
    static const char letters[] = "nrtabfv\\'\"", meant[] = "\n\r\t\a\b\f\v\\'\"";
    char letter = *c->p++;
    size_t n_digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    const char *simple = memchr(letters, letter, sizeof(letters) - 1);
    uint32_t point;

    if (simple != NULL) {
        buf_char(out, meant[simple - letters]);
    } else if (n_digits > 0 && hex(c, n_digits, &point) && point <= 0x10FFFF) {
        put_point(out, from, point);
        c->p += n_digits;
    } else {
        buf_char(out, '\\');
        buf_char(out, letter);
    }
}

static void put_unescaped(struct buf *out, struct str s)
{
    struct repr_cursor c = cursor_of(s);
    size_t from = out->n;

    while (c.p < c.end) {
        struct str rest = str_make(c.p, (size_t)(c.end - c.p));
        struct str plain = str_head(rest, str_find(rest, '\\'));

        buf_str(out, plain);
        c.p += plain.n;
        if (c.p + 1 < c.end) {
            c.p++;
            put_escape(out, from, &c);
        } else {
            c.p = c.end;
        }
    }
}

/* The next `'key': literal` of a dict; false at the end. */
static bool item(struct repr_cursor *c, struct str *ret_key, struct str *ret_value)
{
    while (at(c, ' ') || at(c, ','))
        c->p++;
    if (!literal(c, ret_key) || !at(c, ':'))
        return false;
    *ret_key = inside(*ret_key);
    c->p++;
    skip_spaces(c);
    return literal(c, ret_value);
}

/* --- list content ------------------------------------------------------------ */

enum repr_text { WANT_TEXT, WANT_REASONING };

/* {'type': 'text', 'text': '…'}: the text when it is a block of the wanted kind. */
static struct str block_text(struct str block, enum repr_text wanted)
{
    struct repr_cursor c = { block.p + 1, block.p + block.n };
    struct str key, value, text = STR_NONE, thinking = STR_NONE, type = STR_NONE;

    while (item(&c, &key, &value)) {
        if (str_is(key, "type"))
            type = inside(value);
        else if (str_is(key, "text"))
            text = inside(value);
        else if (str_is(key, "thinking") || str_is(key, "reasoning"))
            thinking = inside(value);
    }
    if (wanted == WANT_TEXT)
        return str_is(type, "text") ? text : STR_NONE;
    return str_is(type, "thinking") || str_is(type, "reasoning") ? thinking : STR_NONE;
}

/* The wanted text of all blocks of a list. */
static void put_blocks(struct buf *out, struct str list, enum repr_text wanted)
{
    struct repr_cursor c = { list.p + 1, list.p + list.n };
    struct str block;

    for (;;) {
        while (at(&c, ' ') || at(&c, ','))
            c.p++;
        if (!literal(&c, &block))
            break;
        if (block.p[0] == '{')
            put_unescaped(out, block_text(block, wanted));
        else if (wanted == WANT_TEXT)
            put_unescaped(out, inside(block));
    }
}

static void read_content(struct str value, struct buf *scratch, struct message *ret)
{
    size_t from = scratch->n, middle;

    if (is_string(value) && !str_has(value, '\\')) {
        ret->text = inside(value);
        return;
    }
    if (is_string(value))
        put_unescaped(scratch, inside(value));
    else if (value.p[0] == '[')
        put_blocks(scratch, value, WANT_TEXT);
    middle = scratch->n;
    if (value.p[0] == '[')
        put_blocks(scratch, value, WANT_REASONING);
    if (scratch->error != 0)
        return;
    if (middle > from)
        ret->text = str_make(scratch->p + from, middle - from);
    if (scratch->n > middle)
        ret->reasoning = buf_since(scratch, middle);
}

/* --- messages ---------------------------------------------------------------- */

/* Is there a `'key': 'something'` in the dict? */
static bool dict_says(struct str dict, struct str key)
{
    for (size_t i = 0; i + key.n < dict.n; i++) {
        i += str_find(str_skip(dict, i), '\'');
        struct str rest = str_skip(dict, i);
        if (str_starts(rest, key))
            return rest.n > key.n && (rest.p[key.n] == '\'' || rest.p[key.n] == '"');
    }
    return false;
}

static enum message_class class_of(struct str name)
{
    if (str_starts(name, STR("AIMessage")))
        return MESSAGE_AI;
    if (str_starts(name, STR("HumanMessage")))
        return MESSAGE_HUMAN;
    if (str_starts(name, STR("SystemMessage")))
        return MESSAGE_SYSTEM;
    return str_starts(name, STR("ToolMessage")) ? MESSAGE_TOOL : MESSAGE_OTHER;
}

/* str() leaves the class out: guess it from the fields. */
static void guess_class(struct str key, struct message *ret)
{
    if (str_is(key, "tool_call_id"))
        ret->cls = MESSAGE_TOOL;
    else if (str_is(key, "tool_call_chunks") || str_is(key, "chunk_position"))
        ret->chunk = true;
    if (ret->cls == MESSAGE_OTHER &&
        (ret->chunk || str_is(key, "tool_calls") || str_is(key, "usage_metadata")))
        ret->cls = MESSAGE_AI;
}

static void read_field(struct str key, struct str value, struct message *ret)
{
    if (str_is(key, "id"))
        ret->id = inside(value);
    else if (str_is(key, "name"))
        ret->name = inside(value);
    else if (str_is(key, "tool_call_id"))
        ret->call = inside(value);
    else if (str_is(key, "status"))
        ret->status = inside(value);
    else if (str_is(key, "response_metadata") || str_is(key, "generation_info"))
        ret->finish = ret->finish || dict_says(value, STR("'finish_reason': ")) ||
                      dict_says(value, STR("'stop_reason': "));
    guess_class(key, ret);
}

bool repr_message(struct str s, struct buf *scratch, struct message *ret)
{
    struct repr_cursor c = cursor_of(s);
    struct str name, key, value;

    if (str_absent(s))
        return false;
    name = word(&c);
    if (str_is(name, "content") && at(&c, '='))
        c.p = s.p;
    else if (at(&c, '(') &&
             (str_ends(name, STR("Message")) || str_ends(name, STR("MessageChunk"))))
        c.p++;
    else
        return false;
    if (!field(&c, &key, &value) || !str_is(key, "content"))
        return false;
    *ret = (struct message){ .cls = class_of(name),
                             .chunk = str_ends(name, STR("MessageChunk")),
                             .lossy = true,
                             .text = STR("") };
    read_content(value, scratch, ret);
    while (field(&c, &key, &value))
        read_field(key, value, ret);
    return true;
}

/* --- calls ------------------------------------------------------------------- */

struct str repr_call_text(struct str s, struct buf *scratch)
{
    struct repr_cursor c = cursor_of(s);
    size_t from = scratch->n;
    struct str first;

    if (word(&c).n == 0 || !at(&c, '(') || s.p[s.n - 1] != ')')
        return s;
    c.p++;
    struct str arguments = str_make(c.p, (size_t)(c.end - c.p) - 1);
    if (!literal(&c, &first) || !is_string(first))
        return arguments;
    if (!str_has(first, '\\'))
        return inside(first);
    put_unescaped(scratch, inside(first));
    return buf_since(scratch, from);
}

/* The last id='…' in @s, where nothing before it could be read. */
static struct str last_id(struct str s)
{
    static const char mark[] = "id='";
    size_t n = sizeof(mark) - 1;

    for (size_t i = s.n; i-- > 0;) {
        struct str here = str_skip(s, i);

        if (str_starts(here, str_make(mark, n)))
            return str_head(str_skip(here, n), str_find(str_skip(here, n), '\''));
    }
    return STR_NONE;
}

bool repr_interrupt(struct str s, struct str *ret_id, struct str *ret_value)
{
    static const char call[] = "Interrupt(";
    struct str rest = s, key, value;

    *ret_id = STR_NONE;
    *ret_value = STR_NONE;
    while (!str_starts(rest, STR(call))) {
        if (rest.n < sizeof(call))
            return false;
        rest = str_skip(rest, 1);
        rest = str_skip(rest, str_find(rest, 'I'));
    }
    struct repr_cursor c = { rest.p + sizeof(call) - 1, rest.p + rest.n };
    while (field(&c, &key, &value)) {
        if (str_is(key, "id") || str_is(key, "interrupt_id"))
            *ret_id = inside(value);
        else if (str_is(key, "value"))
            *ret_value = value;
    }
    if (str_absent(*ret_value) && str_absent(*ret_id))
        *ret_id = last_id(rest);
    return true;
}

/* --- objects ----------------------------------------------------------------- */

struct str repr_member(struct str s, struct str key)
{
    struct repr_cursor c = cursor_of(s);
    bool dict = at(&c, '{'), call;
    struct str name, value;

    name = word(&c);
    call = name.n > 0 && at(&c, '(');
    if (dict || call)
        c.p++;
    else
        c = cursor_of(s);
    while (dict ? item(&c, &name, &value) : field(&c, &name, &value))
        if (str_eq(name, key))
            return value;
    return STR_NONE;
}

/* Is it a number that JSON writes in the same way?  inf, nan and 1_000 are not. */
static bool is_number(struct str s)
{
    size_t i = s.n > 0 && s.p[0] == '-';
    bool zero = i < s.n && s.p[i] == '0', digits = false;

    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++) {
        if (digits && zero)
            return false;
        digits = true;
    }
    if (digits && i + 1 < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
            ;
    return digits && i == s.n && s.p[i - 1] != '.';
}

void repr_put_json(struct buf *out, struct str literal, struct buf *scratch)
{
    size_t from = scratch->n;

    if (str_is(literal, "None")) {
        buf_lit(out, "null");
    } else if (str_is(literal, "True")) {
        buf_lit(out, "true");
    } else if (str_is(literal, "False")) {
        buf_lit(out, "false");
    } else if (is_number(literal)) {
        buf_str(out, literal);
    } else if (is_string(literal)) {
        put_unescaped(scratch, inside(literal));
        json_put_str(out, buf_since(scratch, from));
    } else {
        json_put_str(out, literal);
    }
}
