/* One option: setting it from a text, checked, whatever its type. */
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "config/options/amount.h"
#include "config/options/hint.h"
#include "config/options/listen.h"
#include "config/options/options.h"
#include "config/text/strings.h"

#include <stdlib.h>

enum { MAX_DESCRIPTION = 120, MAX_ITEM = 64 * 1024 };

static void *member_of(const struct option *o, void *object)
{
    return (char *)object + o->member;
}

static int no_memory(const char *subject, struct error *err)
{
    return error_set(err, ERR_NOMEM, "%s: out of memory", subject);
}

/* --- what it must be --------------------------------------------------------- */

static enum amount_kind amount_kind_of(const struct option *o)
{
    if (o->type == OPTION_SIZE)
        return AMOUNT_BYTES;
    return o->type == OPTION_MS || o->type == OPTION_SECONDS ? AMOUNT_MS : AMOUNT_COUNT;
}

static void describe_bounds(const struct option *o,
                            const char *before,
                            const char *after,
                            struct buf *out)
{
    buf_str(out, str_of(before));
    amount_print(amount_kind_of(o), o->min, out);
    buf_lit(out, " to ");
    amount_print(amount_kind_of(o), o->max, out);
    buf_str(out, str_of(after));
}

/* "full|relaxed" as "full or relaxed" */
static void describe_choice(const struct option *o, struct buf *out)
{
    for (const char *c = o->value; *c != '\0'; c++) {
        if (*c != '|')
            buf_char(out, *c);
        else if (strchr(c + 1, '|') != NULL)
            buf_lit(out, ", ");
        else
            buf_lit(out, " or ");
    }
}

void option_describe(const struct option *o, struct buf *out)
{
    switch (o->type) {
    case OPTION_TEXT:
    case OPTION_STR:
        describe_bounds(o, "a text of ", " bytes", out);
        return;
    case OPTION_LISTEN:
        buf_lit(out, "ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH, with a numeric address");
        return;
    case OPTION_SIZE:
        describe_bounds(o, "a size from ", "", out);
        return;
    case OPTION_COUNT:
    case OPTION_NUMBER:
        describe_bounds(o, "a whole number from ", "", out);
        return;
    case OPTION_MS:
        describe_bounds(o, "a duration from ", "", out);
        return;
    case OPTION_SECONDS:
        describe_bounds(o, "a duration in whole seconds from ", "", out);
        return;
    case OPTION_BOOL:
        buf_lit(out, "true or false");
        return;
    case OPTION_CHOICE:
        describe_choice(o, out);
        return;
    case OPTION_NAMES:
        describe_bounds(o, "a list of ", " names", out);
        return;
    case OPTION_WORDS:
        describe_bounds(o, "a list of ", " words", out);
        return;
    case OPTION_PAIRS:
        describe_bounds(o, "", " pairs 'NAME: value'", out);
        return;
    }
}

int option_refuse(const struct option *o, int code, const char *subject, struct error *err)
{
    struct buf b LOCAL_BUF(MAX_DESCRIPTION);

    option_describe(o, &b);
    return b.error != 0
               ? no_memory(subject, err)
               : error_set(err, code, "%s must be %.*s", subject, STR_ARG(buf_text(&b)));
}

/* The same for an invalid value, with a suggestion. */
static int refuse_value(const struct option *o,
                        int code,
                        struct str text,
                        const char *subject,
                        struct error *err)
{
    struct error plain;
    struct buf hint LOCAL_BUF(MAX_DESCRIPTION);

    code = option_refuse(o, code, subject, &plain);
    hint_put(o, text, &hint);
    if (hint.n > 0 && hint.error == 0 && code != ERR_NOMEM)
        code = error_set(err, code, "%s: did you mean %.*s?", plain.text,
                         STR_ARG(buf_text(&hint)));
    else
        code = error_set(err, code, "%s", plain.text);
    return code;
}

/* --- setting ----------------------------------------------------------------- */

void option_clear(const struct option *o, void *object)
{
    void *member = member_of(o, object);

    if (o->type == OPTION_TEXT || o->type == OPTION_LISTEN) {
        free(*(char **)member);
        *(char **)member = NULL;
    } else if (o->type == OPTION_STR) {
        free((char *)(uintptr_t)((struct str *)member)->p);
        *(struct str *)member = STR_NONE;
    } else if (o->type == OPTION_NAMES || o->type == OPTION_WORDS || o->type == OPTION_PAIRS) {
        strings_free(*(char ***)member);
        *(char ***)member = NULL;
    }
}

static int set_text(const struct option *o,
                    void *object,
                    struct str text,
                    const char *subject,
                    struct error *err)
{
    struct listen_address address;

    if ((int64_t)text.n < o->min || (int64_t)text.n > o->max)
        return option_refuse(o, ERR_REFUSED, subject, err);
    if (o->type == OPTION_LISTEN && !listen_parse(text, &address))
        return refuse_value(o, ERR_TYPE, text, subject, err);
    char *copy = string_copy(text);
    if (copy == NULL)
        return no_memory(subject, err);
    option_clear(o, object);
    if (o->type == OPTION_STR)
        *(struct str *)member_of(o, object) = str_make(copy, text.n);
    else
        *(char **)member_of(o, object) = copy;
    return 0;
}

static int set_number(const struct option *o,
                      void *object,
                      struct str text,
                      const char *subject,
                      struct error *err)
{
    void *member = member_of(o, object);
    int64_t value;

    if (!amount_parse(amount_kind_of(o), text, &value) ||
        (o->type == OPTION_SECONDS && value % 1000 != 0 && value != INT64_MAX))
        return refuse_value(o, ERR_TYPE, text, subject, err);
    if (value < o->min || value > o->max)
        return option_refuse(o, ERR_REFUSED, subject, err);
    if (o->type == OPTION_SIZE)
        *(size_t *)member = (size_t)value;
    else if (o->type == OPTION_COUNT)
        *(unsigned *)member = (unsigned)value;
    else if (o->type == OPTION_SECONDS)
        *(int64_t *)member = value / 1000;
    else
        *(int64_t *)member = value;
    return 0;
}

static int set_bool(const struct option *o,
                    void *object,
                    struct str text,
                    const char *subject,
                    struct error *err)
{
    bool yes =
        str_is(text, "true") || str_is(text, "yes") || str_is(text, "on") || str_is(text, "1");
    bool no =
        str_is(text, "false") || str_is(text, "no") || str_is(text, "off") || str_is(text, "0");

    if (!yes && !no)
        return refuse_value(o, ERR_TYPE, text, subject, err);
    *(bool *)member_of(o, object) = yes;
    return 0;
}

static int set_choice(const struct option *o,
                      void *object,
                      struct str text,
                      const char *subject,
                      struct error *err)
{
    struct str rest = str_of(o->value);

    for (unsigned i = 0; rest.n > 0; i++) {
        struct str word = str_head(rest, str_find(rest, '|'));
        if (str_eq(word, text)) {
            /* An enum without negative members is as large as unsigned. */
            memcpy(member_of(o, object), &i, sizeof(i));
            return 0;
        }
        rest = str_skip(rest, word.n + 1);
    }
    return refuse_value(o, ERR_TYPE, text, subject, err);
}

int option_add(const struct option *o,
               void *object,
               struct str item,
               const char *subject,
               struct error *err)
{
    char ***list = member_of(o, object);

    if (str_has(item, '\0') || item.n > MAX_ITEM || (item.n == 0 && o->type == OPTION_NAMES))
        return option_refuse(o, ERR_TYPE, subject, err);
    if ((int64_t)strings_count(*list) >= o->max)
        return option_refuse(o, ERR_REFUSED, subject, err);
    return strings_add(list, item) == 0 ? 0 : no_memory(subject, err);
}

static bool is_gap(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int option_extend(const struct option *o,
                  void *object,
                  struct str text,
                  const char *subject,
                  struct error *err)
{
    size_t i = 0;

    while (i < text.n) {
        size_t begin = i;
        while (i < text.n && !is_gap(text.p[i]))
            i++;
        struct str name = str_make(text.p + begin, i - begin);
        int code = str_empty(name) ? 0 : option_add(o, object, name, subject, err);
        if (code != 0)
            return code;
        i++; /* the gap */
    }
    return 0;
}

int option_set(const struct option *o,
               void *object,
               struct str text,
               const char *subject,
               struct error *err)
{
    if (str_has(text, '\0'))
        return option_refuse(o, ERR_TYPE, subject, err);
    switch (o->type) {
    case OPTION_TEXT:
    case OPTION_STR:
    case OPTION_LISTEN:
        return set_text(o, object, text, subject, err);
    case OPTION_SIZE:
    case OPTION_COUNT:
    case OPTION_NUMBER:
    case OPTION_MS:
    case OPTION_SECONDS:
        return set_number(o, object, text, subject, err);
    case OPTION_BOOL:
        return set_bool(o, object, text, subject, err);
    case OPTION_CHOICE:
        return set_choice(o, object, text, subject, err);
    case OPTION_NAMES:
        option_clear(o, object);
        return option_extend(o, object, text, subject, err);
    case OPTION_WORDS:
    case OPTION_PAIRS:
        break;
    }
    return option_refuse(o, ERR_TYPE, subject, err);
}

static size_t number_size(enum option_type type)
{
    if (type == OPTION_BOOL)
        return sizeof(bool);
    if (type == OPTION_COUNT || type == OPTION_CHOICE)
        return sizeof(unsigned);
    return type == OPTION_SIZE ? sizeof(size_t) : sizeof(int64_t);
}

int option_copy(const struct option *o, const void *from, void *to)
{
    const void *source = (const char *)from + o->member;
    void *member = member_of(o, to);

    option_clear(o, to);
    if (o->type == OPTION_NAMES || o->type == OPTION_WORDS || o->type == OPTION_PAIRS)
        return strings_copy(*(char **const *)source, member);
    if (o->type == OPTION_STR) {
        struct str text = *(const struct str *)source;
        char *copy = string_copy(text);
        *(struct str *)member = str_make(copy, copy != NULL ? text.n : 0);
        return copy != NULL ? 0 : ERR_NOMEM;
    }
    if (o->type == OPTION_TEXT || o->type == OPTION_LISTEN) {
        const char *text = *(char *const *)source;
        char *copy = text != NULL ? string_copy(str_of(text)) : NULL;
        *(char **)member = copy;
        return copy != NULL || text == NULL ? 0 : ERR_NOMEM;
    }
    memcpy(member, source, number_size(o->type));
    return 0;
}

/* --- printing ---------------------------------------------------------------- */

/* For a file, escapes what would be read as a variable or a file's name. */
static void print_text(const struct option *o, struct str text, bool file, struct buf *out)
{
    struct buf plain LOCAL_BUF(SIZE_MAX / 4);

    if (file && o->type != OPTION_WORDS && str_starts(text, STR("@")))
        buf_char(&plain, '@');
    while (file && text.n > 0) {
        struct str head = str_head(text, str_find(text, '$'));

        buf_str(&plain, head);
        text = str_skip(text, head.n);
        if (str_starts(text, STR("${")))
            buf_char(&plain, '$');
        buf_str(&plain, str_head(text, 1));
        text = str_skip(text, 1);
    }
    json_put_str(out, file ? buf_text(&plain) : text);
    if (plain.error != 0)
        out->error = plain.error;
}

static void print_list(const struct option *o, char *const *list, bool file, struct buf *out)
{
    buf_char(out, o->type == OPTION_PAIRS ? '{' : '[');
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        struct str item = str_of(list[i]);

        if (i > 0)
            buf_lit(out, ", ");
        if (o->type == OPTION_PAIRS) {
            json_put_str(out, str_head(item, str_find(item, '=')));
            buf_lit(out, ": \"***\""); /* any of the values may be a secret */
        } else {
            print_text(o, item, file, out);
        }
    }
    buf_char(out, o->type == OPTION_PAIRS ? '}' : ']');
}

/* The @i-th of the words that the option can be. */
static struct str choice_at(const struct option *o, unsigned i)
{
    struct str rest = str_of(o->value);

    for (; i > 0; i--)
        rest = str_skip(rest, str_find(rest, '|') + 1);
    return str_head(rest, str_find(rest, '|'));
}

static int64_t number_of(const struct option *o, const void *member)
{
    if (o->type == OPTION_SIZE)
        return (int64_t) * (const size_t *)member;
    if (o->type == OPTION_COUNT)
        return *(const unsigned *)member;
    return *(const int64_t *)member * (o->type == OPTION_SECONDS ? 1000 : 1);
}

bool option_is_quoted(const struct option *o)
{
    return o->type == OPTION_SIZE || o->type == OPTION_MS || o->type == OPTION_SECONDS ||
           o->type == OPTION_CHOICE;
}

bool option_is_empty(const struct option *o, const void *object)
{
    const void *member = (const char *)object + o->member;

    return o->type == OPTION_TEXT || o->type == OPTION_LISTEN || o->type == OPTION_NAMES ||
                   o->type == OPTION_WORDS || o->type == OPTION_PAIRS
               ? *(void *const *)member == NULL
               : o->type == OPTION_STR && str_absent(*(const struct str *)member);
}

bool option_is_on(const struct option *o, const void *object)
{
    return o->type == OPTION_BOOL ? *(const bool *)((const char *)object + o->member)
                                  : !option_is_empty(o, object);
}

/* Masks the values in the query, which may be keys: `?key=***`. */
static void print_url(const struct option *o, struct str url, bool file, struct buf *out)
{
    size_t query = str_find(url, '?');
    struct str rest = str_skip(url, query + 1);
    struct buf masked LOCAL_BUF(SIZE_MAX / 4);

    buf_str(&masked, str_head(url, query));
    for (char mark = '?'; rest.n > 0; mark = '&') {
        struct str part = str_head(rest, str_find(rest, '&'));
        size_t name = str_find(part, '=');

        buf_char(&masked, mark);
        if (name < part.n)
            buf_str(&masked, str_head(part, name + 1));
        buf_lit(&masked, "***");
        rest = str_skip(rest, part.n + 1);
    }
    print_text(o, buf_text(&masked), file, out);
    if (masked.error != 0)
        out->error = masked.error;
}

void option_print(const struct option *o, const void *object, bool file, struct buf *out)
{
    const void *member = (const char *)object + o->member;
    unsigned choice;

    switch (o->type) {
    case OPTION_TEXT:
    case OPTION_LISTEN:
        if ((o->flags & OPTION_URL) != 0)
            print_url(o, str_of(*(char *const *)member), file, out);
        else
            print_text(o, str_of(*(char *const *)member), file, out);
        return;
    case OPTION_STR:
        print_text(o, *(const struct str *)member, file, out);
        return;
    case OPTION_SIZE:
    case OPTION_COUNT:
    case OPTION_NUMBER:
    case OPTION_MS:
    case OPTION_SECONDS:
        amount_print(amount_kind_of(o), number_of(o, member), out);
        return;
    case OPTION_BOOL:
        buf_str(out, *(const bool *)member ? STR("true") : STR("false"));
        return;
    case OPTION_CHOICE:
        memcpy(&choice, member, sizeof(choice));
        buf_str(out, choice_at(o, choice));
        return;
    case OPTION_NAMES:
    case OPTION_WORDS:
    case OPTION_PAIRS:
        print_list(o, *(char *const *const *)member, file, out);
        return;
    }
}

static bool same_list(char *const *a, char *const *b)
{
    size_t n = strings_count(a);

    if (strings_count(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

bool option_same(const struct option *o, const void *a, const void *b)
{
    const void *one = (const char *)a + o->member, *two = (const char *)b + o->member;

    if (o->type == OPTION_NAMES || o->type == OPTION_WORDS || o->type == OPTION_PAIRS)
        return same_list(*(char *const *const *)one, *(char *const *const *)two);
    if (o->type == OPTION_STR)
        return str_eq(*(const struct str *)one, *(const struct str *)two);
    if (o->type == OPTION_TEXT || o->type == OPTION_LISTEN)
        return str_eq(str_of(*(char *const *)one), str_of(*(char *const *)two));
    return memcmp(one, two, number_size(o->type)) == 0;
}
