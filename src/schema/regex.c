/* Compiles a pattern for each use, without a cache: the schema of an answer is used once or
 * twice.
 *
 * The translation walks over the pattern once.  It passes most bytes on; it replaces
 *   \uXXXX and \u{X}     by PCRE2's \x{X}, joining the halves of a surrogate pair
 *   \s and \S            by the white space of ECMA-262, which includes Unicode's
 *   \p{Letter} and such  by the short names of general categories, the only ones PCRE2 10.42
 * has and refuses escapes of letters and groups that only PCRE2 knows.
 *
 * PCRE2's own match limit is not enough: it starts again at each position of the text, and does
 * not count the characters that a repetition consumes, so that \w+@ over a long word takes
 * quadratic time within the limit.  So the work is counted in callouts, which PCRE2 makes
 * before each item of the pattern. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "schema/regex.h"

#include "base/buf.h"
#include "base/text_format.h"
#include "base/error.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MAX_NESTING = 100, /* parentheses */
    HEAP_KIB = 8 * 1024,
    NO_HEAP = PCRE2_ERROR_HEAP_FAILED,
    REPEATS_PER_ITEM = 16, /* so many repetitions count as one item */
};

#define WHITESPACE "\\s\\x{A0}\\x{FEFF}\\p{Zs}\\x{2028}\\x{2029}"

/* The complement, for classes with other members: [\s\S]. */
#define NOT_WHITESPACE                                                               \
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}" \
    "\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}"   \
    "\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}"

struct translation {
    struct str in;
    size_t at;
    bool in_class;   /* between [ and ] */
    int64_t repeats; /* the largest number of repetitions that an item must have */
    struct buf *out;
    struct error *err;
};

static bool refuse(struct translation *t, const char *why)
{
    (void)error_set(t->err, ERR_TYPE, "%s at byte %zu of the pattern", why, t->at);
    return false;
}

/* --- \u -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* Reads @n hexadecimal digits at @at, or with @n = 0 those up to a brace; -1: none. */
static int32_t read_hex(const struct translation *t, size_t at, size_t n, size_t *ret_end)
{
    int32_t value = 0;
    size_t i = at;

    for (; i < t->in.n && (n == 0 || i < at + n) && hex_digit(t->in.p[i]) >= 0; i++)
        if ((value = value * 16 + hex_digit(t->in.p[i])) > 0x10FFFF)
            return -1;
    *ret_end = i;
    return i == at || (n != 0 && i < at + n) ? -1 : value;
}

/* `at` is after the \u. */
static bool translate_code_point(struct translation *t)
{
    bool braced = t->at < t->in.n && t->in.p[t->at] == '{';
    size_t end = 0;
    int32_t low, c = read_hex(t, t->at + braced, braced ? 0 : 4, &end);

    if (c < 0 || (braced && (end >= t->in.n || t->in.p[end] != '}')))
        return refuse(t, "\\u without the digits of a code point");
    end += braced;
    if (c >= 0xD800 && c < 0xDC00 && str_starts(str_skip(t->in, end), STR("\\u")) &&
        (low = read_hex(t, end + 2, 4, &end)) >= 0xDC00 && low < 0xE000)
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    if (c >= 0xD800 && c < 0xE000)
        return refuse(t, "half of a surrogate pair");
    t->at = end;
    char text[16];
    buf_put(t->out, text, (size_t)snprintf(text, sizeof(text), "\\x{%X}", (unsigned)c));
    return true;
}

/* --- \p -------------------------------------------------------------------------- */

static const struct {
    const char *name, *is;
} categories[] = {
    { "Cased_Letter", "L&" },
    { "Close_Punctuation", "Pe" },
    { "Connector_Punctuation", "Pc" },
    { "Control", "Cc" },
    { "Currency_Symbol", "Sc" },
    { "Dash_Punctuation", "Pd" },
    { "Decimal_Number", "Nd" },
    { "Enclosing_Mark", "Me" },
    { "Final_Punctuation", "Pf" },
    { "Format", "Cf" },
    { "Initial_Punctuation", "Pi" },
    { "LC", "L&" },
    { "Letter", "L" },
    { "Letter_Number", "Nl" },
    { "Line_Separator", "Zl" },
    { "Lowercase_Letter", "Ll" },
    { "Mark", "M" },
    { "Math_Symbol", "Sm" },
    { "Modifier_Letter", "Lm" },
    { "Modifier_Symbol", "Sk" },
    { "Nonspacing_Mark", "Mn" },
    { "Number", "N" },
    { "Open_Punctuation", "Ps" },
    { "Other", "C" },
    { "Other_Letter", "Lo" },
    { "Other_Number", "No" },
    { "Other_Punctuation", "Po" },
    { "Other_Symbol", "So" },
    { "Paragraph_Separator", "Zp" },
    { "Private_Use", "Co" },
    { "Punctuation", "P" },
    { "Separator", "Z" },
    { "Space_Separator", "Zs" },
    { "Spacing_Mark", "Mc" },
    { "Surrogate", "Cs" },
    { "Symbol", "S" },
    { "Titlecase_Letter", "Lt" },
    { "Unassigned", "Cn" },
    { "Uppercase_Letter", "Lu" },
    { "digit", "Nd" },
    { "punct", "P" },
};

static struct str category_of(struct str name)
{
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
        if (str_eq(name, str_of(categories[i].name)))
            return str_of(categories[i].is);
    return name;
}

/* `at` is after the \p or \P. */
static bool translate_property(struct translation *t, char letter)
{
    struct str rest = str_skip(t->in, t->at);
    size_t end = str_find(rest, '}');

    if (rest.n == 0 || rest.p[0] != '{' || end == rest.n)
        return refuse(t, "\\p without a property in braces");
    struct str name = str_make(rest.p + 1, end - 1);
    if (str_starts(name, STR("General_Category=")))
        name = str_skip(name, sizeof("General_Category=") - 1);
    else if (str_starts(name, STR("gc=")))
        name = str_skip(name, 3);
    t->at += end + 1;
    buf_char(t->out, '\\');
    buf_char(t->out, letter);
    text_format(t->out, "{%s}", category_of(name));
    return true;
}

/* --- all of the pattern ---------------------------------------------------------- */

static void translate_space(struct translation *t, char letter)
{
    if (t->in_class) {
        buf_str(t->out, letter == 'S' ? STR(NOT_WHITESPACE) : STR(WHITESPACE));
        return;
    }
    buf_str(t->out, letter == 'S' ? STR("[^") : STR("["));
    buf_lit(t->out, WHITESPACE "]");
}

static bool translate_escape(struct translation *t)
{
    static const char known[] = "dDwWbBfnrtvcxk0123456789";
    char c = t->at + 1 < t->in.n ? t->in.p[t->at + 1] : '\0';

    t->at += 2;
    if (c == 'u')
        return translate_code_point(t);
    if (c == 'p' || c == 'P')
        return translate_property(t, c);
    if (c == 's' || c == 'S') {
        translate_space(t, c);
        return true;
    }
    if (c == 'v') {
        buf_lit(t->out, "\\x0B"); /* in PCRE2, \v is any vertical space */
        return true;
    }
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (c == '\0' || (letter && strchr(known, c) == NULL))
        return refuse(t, "an escape that ECMA-262 does not have");
    buf_char(t->out, '\\');
    buf_char(t->out, c);
    return true;
}

/* Is it a group that ECMA-262 does not have?  It has (?: (?= (?! and (?< only. */
static bool is_foreign_group(struct str rest)
{
    if (rest.n < 2 || (rest.p[1] != '?' && rest.p[1] != '*'))
        return false;
    return rest.p[1] == '*' || rest.n < 3 || strchr(":=!<", rest.p[2]) == NULL;
}

/* Records the count of {n} or {n,} at `at`: an item that fails inside of its n repetitions
 * makes no callout, so the cost is added to each item. */
static void note_repeats(struct translation *t)
{
    int64_t n = 0;

    for (size_t i = t->at + 1; i < t->in.n && t->in.p[i] >= '0' && t->in.p[i] <= '9'; i++)
        if ((n = n * 10 + (t->in.p[i] - '0')) > UINT16_MAX)
            break; /* PCRE2 refuses the pattern */
    t->repeats = n > t->repeats ? n : t->repeats;
}

static bool translate(struct translation *t)
{
    while (t->at < t->in.n) {
        char c = t->in.p[t->at];

        if (c == '\\') {
            if (!translate_escape(t))
                return false;
            continue;
        }
        if (c == '\0' || (!t->in_class && c == '(' && is_foreign_group(str_skip(t->in, t->at))))
            return refuse(t, "a group that ECMA-262 does not have");
        if (c == '[' && t->in_class)
            buf_char(t->out, '\\'); /* escapes it: [[:alpha:]] is special in PCRE2 only */
        if (c == '[' || c == ']')
            t->in_class = c == '[';
        if (c == '{' && !t->in_class)
            note_repeats(t);
        buf_char(t->out, c);
        t->at++;
    }
    return true;
}

/* NULL, with the reason, when the pattern cannot be used. */
static pcre2_code *compile(struct str pattern, int64_t *ret_repeats, struct error *err)
{
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |
                             PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C |
                             PCRE2_AUTO_CALLOUT;
    struct buf out;
    struct translation t = { .in = pattern, .out = &out, .err = err };
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code = NULL;
    PCRE2_UCHAR8 why[120] = "";
    size_t at = 0;
    int number = 0;

    buf_init(&out, 64 * (size_t)REGEX_MAX_BYTES);
    if (pattern.n > REGEX_MAX_BYTES) {
        (void)error_set(err, ERR_TOO_LARGE, "a pattern may have %d bytes", REGEX_MAX_BYTES);
    } else if (translate(&t) && out.error == 0 && context != NULL) {
        (void)pcre2_set_parens_nest_limit(context, MAX_NESTING);
        code = pcre2_compile((PCRE2_SPTR8)(out.n > 0 ? out.p : ""), out.n, options, &number,
                             &at, context);
        if (code == NULL && pcre2_get_error_message(number, why, sizeof(why)) != 0)
            (void)error_set(err, number == NO_HEAP ? ERR_NOMEM : ERR_TYPE, "%s",
                            (const char *)why);
    } else if (out.error == ERR_NOMEM || context == NULL) {
        (void)error_set(err, ERR_NOMEM, "out of memory");
    } else if (out.error != 0) {
        (void)error_set(err, ERR_TOO_LARGE, "the pattern is too large");
    }
    pcre2_compile_context_free(context);
    buf_done(&out);
    *ret_repeats = t.repeats;
    return code;
}

bool regex_check(struct str pattern, struct error *err)
{
    int64_t repeats;
    pcre2_code *code = compile(pattern, &repeats, err);

    pcre2_code_free(code);
    return code != NULL;
}

struct meter {
    int64_t left;  /* remaining work */
    int64_t each;  /* the least cost of an item */
    size_t before; /* offset in the text at the last item */
};

static int on_item(pcre2_callout_block *block, void *arg)
{
    struct meter *m = arg;
    size_t at = block->current_position;

    m->left -= m->each + (int64_t)(at > m->before ? at - m->before : m->before - at);
    m->before = at;
    return m->left > 0 ? 0 : PCRE2_ERROR_CALLOUT;
}

enum regex_result regex_search(struct str pattern, struct str text, int64_t *work)
{
    struct meter meter = { .left = *work };
    struct error err;
    pcre2_code *code = compile(pattern, &meter.each, &err);
    pcre2_match_data *found = code != NULL ? pcre2_match_data_create(1, NULL) : NULL;
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    int n = PCRE2_ERROR_NOMEMORY;

    meter.left -= (int64_t)(pattern.n + text.n);
    meter.each = 1 + meter.each / REPEATS_PER_ITEM;
    if (code == NULL && err.code != ERR_NOMEM)
        n = PCRE2_ERROR_NOMATCH;
    else if (meter.left <= 0)
        n = PCRE2_ERROR_CALLOUT;
    if (found != NULL && context != NULL && meter.left > 0) {
        (void)pcre2_set_match_limit(context, UINT32_MAX); /* `meter` is the limit */
        (void)pcre2_set_heap_limit(context, HEAP_KIB);
        (void)pcre2_set_callout(context, on_item, &meter);
        n = pcre2_match(code, (PCRE2_SPTR8)(text.n > 0 ? text.p : ""), text.n, 0, 0, found,
                        context);
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(found);
    pcre2_code_free(code);
    *work = meter.left > 0 ? meter.left : 0;
    return n >= 0                      ? REGEX_YES
           : n == PCRE2_ERROR_NOMATCH  ? REGEX_NO
           : n == PCRE2_ERROR_NOMEMORY ? REGEX_NO_MEMORY
                                       : REGEX_TOO_SLOW;
}
