#include "config/options/hint.h"

#include "base/buf.h"
#include "config/options/amount.h"
#include "config/options/listen.h"
#include "config/options/options.h"
#include "config/options/suggest.h"

enum { MAX_WORD = 40 };

struct hint_spelling {
    const char *word;
    const char *unit;
};

/* In lower case; the longer ones of the same beginning first. */
static const struct hint_spelling durations[] = {
    { "", "s" },      { "ms", "ms" },  { "msec", "ms" },   { "millis", "ms" },
    { "s", "s" },     { "sec", "s" },  { "secs", "s" },    { "second", "s" },
    { "m", "m" },     { "min", "m" },  { "mins", "m" },    { "minute", "m" },
    { "h", "h" },     { "hr", "h" },   { "hrs", "h" },     { "hour", "h" },
    { "d", "d" },     { "day", "d" },  { "seconds", "s" }, { "minutes", "m" },
    { "hours", "h" }, { "days", "d" }, { NULL, NULL },
};
static const struct hint_spelling sizes[] = {
    { "b", "" },    { "bytes", "" }, { "k", "K" },   { "kb", "K" },  { "kib", "K" },
    { "m", "M" },   { "mb", "M" },   { "mib", "M" }, { "g", "G" },   { "gb", "G" },
    { "gib", "G" }, { "t", "T" },    { "tb", "T" },  { NULL, NULL },
};
static const struct hint_spelling counts[] = { { "", "" }, { NULL, NULL } };

/* Lower case, without blanks, _ and commas: how people group digits. */
static struct str plain(struct str text, char out[MAX_WORD])
{
    size_t n = 0;

    for (size_t i = 0; i < text.n && n < MAX_WORD; i++) {
        char c = text.p[i];

        if (c == ' ' || c == '_' || c == ',')
            continue;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return str_make(out, n);
}

static size_t digits_of(struct str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

static bool in_bounds(const struct option *o, enum amount_kind kind, struct str text)
{
    int64_t value;

    return amount_parse(kind, text, &value) && value >= o->min && value <= o->max;
}

static void hint_amount(const struct option *o,
                        enum amount_kind kind,
                        const struct hint_spelling *all,
                        struct str text,
                        struct buf *out)
{
    char word[MAX_WORD];
    struct str s = plain(text, word), digits = str_head(s, digits_of(s));
    size_t from = out->n;

    if (digits.n == 0 || text.n > MAX_WORD)
        return;
    while (digits.n > 1 && digits.p[0] == '0')
        digits = str_skip(digits, 1);
    for (; all->word != NULL; all++) {
        if (!str_eq(str_skip(s, digits_of(s)), str_of(all->word)))
            continue;
        buf_str(out, digits);
        buf_str(out, str_of(all->unit));
        if (!in_bounds(o, kind, buf_since(out, from)))
            buf_cut(out, from);
        return;
    }
}

/* Suggests the nearest of @words, which are separated by @between. */
static void hint_word(struct str words, char between, struct str text, struct buf *out)
{
    char word[MAX_WORD], copy[MAX_WORD];
    struct suggestion s = suggest_for(plain(text, word));
    char nearest[MAX_WORD] = "";

    while (words.n > 0) {
        struct str one = str_head(words, str_find(words, between));

        words = str_skip(words, one.n + 1);
        if (one.n >= sizeof(copy))
            continue;
        str_copy(copy, one);
        copy[one.n] = '\0';
        suggest_try(&s, copy);
        if (s.nearest == copy) {
            memcpy(nearest, copy, sizeof(copy));
            s.nearest = nearest;
        }
    }
    buf_str(out, str_of(nearest));
}

/* Completes a port alone, a host alone, or a URL. */
static void hint_listen(struct str text, struct buf *out)
{
    struct listen_address address;
    size_t from = out->n;

    if (text.n > 2 * MAX_WORD)
        return;
    if (str_starts(text, STR("http://")))
        text = str_skip(text, sizeof("http://") - 1);
    if (text.n > 0 && text.p[text.n - 1] == '/')
        text.n--;
    bool port = digits_of(text) == text.n, colon = str_starts(text, STR(":"));
    if (port || colon)
        buf_str(out, port ? STR("127.0.0.1:") : STR("127.0.0.1"));
    buf_str(out, text);
    if (!port && str_find(text, ':') == text.n)
        buf_lit(out, ":8400");
    if (!listen_parse(buf_since(out, from), &address))
        buf_cut(out, from);
}

void hint_put(const struct option *o, struct str text, struct buf *out)
{
    if ((o->flags & OPTION_SECRET) != 0 || text.n == 0)
        return;
    switch (o->type) {
    case OPTION_MS:
    case OPTION_SECONDS:
        hint_amount(o, AMOUNT_MS, durations, text, out);
        return;
    case OPTION_SIZE:
        hint_amount(o, AMOUNT_BYTES, sizes, text, out);
        return;
    case OPTION_COUNT:
    case OPTION_NUMBER:
        hint_amount(o, AMOUNT_COUNT, counts, text, out);
        return;
    case OPTION_BOOL:
        hint_word(STR("true|false"), '|', text, out);
        return;
    case OPTION_CHOICE:
        hint_word(str_of(o->value), '|', text, out);
        return;
    case OPTION_LISTEN:
        hint_listen(text, out);
        return;
    case OPTION_TEXT:
    case OPTION_STR:
    case OPTION_NAMES:
    case OPTION_WORDS:
    case OPTION_PAIRS:
        return;
    }
}
