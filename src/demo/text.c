/* Texts are templates with {names}.  A form feed marks where one grows when the run is to
 * be longer than the script: sentences that say little, chosen by the seed.
 *
 * Tokens are made as a model's tokenizer would: a word with the blank before it, long words
 * in pieces, punctuation by itself.  Where one ends depends only on the text around it, so
 * tokens can be counted sentence by sentence. */
#include "demo/text.h"
#include "base/text_format.h"

#include <stdlib.h>

enum {
    MAX_TEXT = 128 * 1024 * 1024,
    ROUTING = 70, /* tokens of the supervisor's decisions, which are never stretched */
};

static const struct demo_story stories[] = {
    { .cause = "sessions that the retry opens are never closed, so the pool runs empty",
      .fix = "close the session in a finally block",
      .file = "db/pool.py",
      .line = "42",
      .function = "retry_query",
      .code = "session = await pool.acquire()",
      .pattern = "pool.acquire",
      .query = "connection pool exhaustion after deploy",
      .source = { { "https://docs.example.org/pools/exhaustion", "Pool exhaustion",
                    "A session that is acquired on retry and not released stays with the pool "
                    "until the process ends." },
                  { "https://blog.example.com/2026/leaking-sessions", "Leaking sessions",
                    "We saw 500s some minutes after each deploy. Closing in finally fixed it." },
                  { "https://forum.example.net/t/too-many-connections/881",
                    "Too many connections", "Raising the limit only delayed the failure." } } },
    { .cause = "the cache key carries no version, so new code reads what old code wrote",
      .fix = "put the schema version into the key",
      .file = "cache/keys.py",
      .line = "17",
      .function = "cache_key",
      .code = "return f'{tenant}:{object_id}'",
      .pattern = "def cache_key",
      .query = "incompatible cached objects after deploy",
      .source = { { "https://docs.example.org/cache/versioned-keys", "Versioned keys",
                    "A key without a version is shared by every release that is running." },
                  { "https://blog.example.com/2026/the-poisoned-cache", "The poisoned cache",
                    "Half of our workers read objects that the other half had written." },
                  { "https://forum.example.net/t/flush-on-deploy/412", "Flush on deploy?",
                    "Flushing hides the problem and costs an hour of misses." } } },
    { .cause = "the gateway gives up after 3 seconds while the service still works for 5",
      .fix = "make the outer deadline the longer one",
      .file = "gateway/deadlines.py",
      .line = "88",
      .function = "read_deadline",
      .code = "READ_TIMEOUT = timedelta(seconds=3)",
      .pattern = "READ_TIMEOUT",
      .query = "gateway timeout shorter than upstream timeout",
      .source = { { "https://docs.example.org/gateway/deadlines", "Deadlines, outside in",
                    "Each layer must wait longer than the layer below it." },
                  { "https://blog.example.com/2026/answered-twice", "Answered twice",
                    "The retry arrived while the first request was still being worked on." },
                  { "https://forum.example.net/t/504-under-load/77", "504 under load",
                    "It only shows once the queue is longer than two seconds." } } },
};

static const char *const templates[TEXT_MAX] = {
    [TEXT_FIRST_LOOK] =
        "{topic}The errors begin some minutes after the deploy and grow with traffic. Every "
        "failing request passes through {function}() in {file}. It looks as if {cause}.",
    [TEXT_CRITIC] = "The evidence is thin: one log line and a guess. Look again at {file}, and "
                    "say which requests are not affected.\f Does a second source agree?",
    [TEXT_SECOND_LOOK] =
        "Second look: requests that never reach {function}() are fine, all others fail sooner "
        "or later. \u201c{title}\u201d describes the same pattern.\f So it is confirmed: "
        "{cause}.",
    [TEXT_REPORT] =
        "# {issue}\n\n**Cause.** In `{function}()` ({file}, line {line}) {cause} [1].\n\n"
        "**Evidence.** Requests that do not pass there are fine; the others fail sooner or "
        "later, and a restart helps for some minutes. The same fault is described in [2].\n\n"
        "**Environment.** {answer}.\n\n**Fix.** {fix}; one line, and a test that fails without "
        "it \u2705.\f\n\n## Sources\n\n[1] {url1}\n[2] {url2}\n",
    [TEXT_COMMENT] = "We found it \u2014 {cause}. The fix is in review: {fix}.\f Sorry for the "
                     "trouble, and thank you for the report!",
    [TEXT_TICKET] = "TITLE: {issue}\nWHERE: {file}, line {line}\nWHAT: {cause}\f\n"
                    "DONE WHEN: {fix}, and a test fails without it.",
};

static const char *const fillers[] = {
    "The trace of request {n} shows {function}() waiting for {n} ms.",
    "Worker {n} logged the same line {n} times in one minute.",
    "Before the deploy this took {n} ms at the median, and nobody noticed.",
    "A second instance behaves in the same way, so it is not the machine.",
    "Rolling back made the graph flat again within {n} seconds.",
    "None of the {n} requests that skip {file} has failed.",
    "The change looks harmless, which may be why the review let it pass.",
    "Memory and processor stay quiet all the while.",
    "With more load it happens sooner; with less it takes until the evening.",
    "Alert {n} fired first, and the others followed from it.",
    "The na\u00efve explanation, a slow database, does not hold: its queries take {n} ms.",
    "Customers saw it as a page that loads at the second try.",
};

static const char *const topics[] = { "the logs",     "the metrics",       "the last deploys",
                                      "the database", "the configuration", "the network",
                                      "the traces",   "the open tickets" };

enum {
    N_STORIES = sizeof(stories) / sizeof(stories[0]),
    N_FILLERS = sizeof(fillers) / sizeof(fillers[0]),
    N_TOPICS = sizeof(topics) / sizeof(topics[0]),
};

const char *demo_topic(size_t i)
{
    return topics[i % N_TOPICS];
}

/* --- tokens --------------------------------------------------------------------------- */

enum { LONG_WORD = 8, PIECE = 5 };

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || (unsigned char)c >= 0x80;
}

static size_t run_of(struct str s, size_t at, char c)
{
    while (at < s.n && s.p[at] == c)
        at++;
    return at;
}

struct str demo_token(struct str rest)
{
    size_t from = rest.p[0] == ' ', at = from;

    if (rest.p[0] == '\n')
        return str_head(rest, run_of(rest, 0, '\n'));
    while (at < rest.n && in_word(rest.p[at]))
        at++;
    if (at - from > LONG_WORD) {
        at = from + PIECE;
        while (((unsigned char)rest.p[at] & 0xC0) == 0x80)
            at++; /* not inside a code point; the word goes on at least that far */
    }
    if (at == from && at < rest.n && rest.p[at] != ' ' && rest.p[at] != '\n')
        at = run_of(rest, at, rest.p[at]);
    return str_head(rest, at > 0 ? at : 1);
}

size_t demo_count_tokens(struct str text)
{
    size_t n = 0;

    for (; text.n > 0; n++)
        text = str_skip(text, demo_token(text).n);
    return n;
}

/* The first @n tokens. */
static struct str head_tokens(struct str text, uint64_t n)
{
    struct str rest = text;

    for (; rest.n > 0 && n > 0; n--)
        rest = str_skip(rest, demo_token(rest).n);
    return str_head(text, text.n - rest.n);
}

/* --- filling in ------------------------------------------------------------------------ */

static void put_topic(struct buf *b, struct str topic)
{
    if (topic.n == 0)
        return;
    text_format(b, "I looked at %s. ", topic);
}

static void put_named(struct demo_texts *t, struct buf *b, struct str name)
{
    const struct demo_story *story = t->story;

    if (str_is(name, "n"))
        buf_u64(b, 3 + demo_chance(t->e, 900));
    else if (str_is(name, "topic"))
        put_topic(b, t->topic);
    else if (str_is(name, "issue"))
        buf_str(b, t->e->job->issue);
    else if (str_is(name, "answer"))
        buf_str(b, t->answer);
    else if (str_is(name, "cause"))
        buf_str(b, str_of(story->cause));
    else if (str_is(name, "fix"))
        buf_str(b, str_of(story->fix));
    else if (str_is(name, "file"))
        buf_str(b, str_of(story->file));
    else if (str_is(name, "line"))
        buf_str(b, str_of(story->line));
    else if (str_is(name, "function"))
        buf_str(b, str_of(story->function));
    else if (str_is(name, "title"))
        buf_str(b, str_of(story->source[1].title));
    else
        buf_str(b, str_of(story->source[!str_is(name, "url1")].url));
}

static void expand(struct demo_texts *t, struct buf *b, struct str text)
{
    while (text.n > 0) {
        size_t open = str_find(text, '{');

        buf_str(b, str_head(text, open));
        text = str_skip(text, open);
        if (text.n == 0)
            return;
        size_t close = str_find(text, '}');
        put_named(t, b, str_make(text.p + 1, close - 1));
        text = str_skip(text, close + 1);
    }
}

/* Sentences of about @n tokens. */
static void put_filler(struct demo_texts *t, struct buf *b, uint64_t n)
{
    uint64_t done = 0;

    for (unsigned i = 0; done < n && b->error == 0; i++) {
        size_t from = b->n;

        if (i % 6 == 5)
            buf_lit(b, "\n\n");
        else
            buf_char(b, ' ');
        expand(t, b, str_of(fillers[demo_chance(t->e, N_FILLERS)]));
        struct str sentence = buf_since(b, from);
        struct str wanted = head_tokens(sentence, n - done);
        done += demo_count_tokens(wanted);
        buf_cut(b, from + wanted.n);
    }
}

/* The text as it is written here, or the part of it before or after the form feed. */
static size_t put_part(struct demo_texts *t, struct buf *b, enum demo_text which, bool after)
{
    struct str text = str_of(templates[which]);
    size_t cut = str_find(text, '\f'), from = b->n;

    expand(t, b, after ? str_skip(text, cut + 1) : str_head(text, cut));
    return b->error == 0 ? demo_count_tokens(buf_since(b, from)) : 0;
}

struct str demo_text_make(struct demo_texts *t, enum demo_text which)
{
    uint64_t length = t->e->job->options.length, wanted = 0;
    struct buf b;
    struct buf tail LOCAL_BUF(MAX_TEXT);

    buf_init(&b, MAX_TEXT);
    uint64_t n = put_part(t, &tail, which, true);
    n += put_part(t, &b, which, false);
    if (length > 0 && t->natural > 0)
        wanted = n * (length > ROUTING ? length - ROUTING : 1) / t->natural + 1;
    if (wanted > n)
        put_filler(t, &b, wanted - n);
    buf_str(&b, buf_text(&tail));
    if (wanted > 0 && wanted < n && b.error == 0)
        buf_cut(&b, head_tokens(buf_text(&b), wanted).n);
    return demo_keep_buf(t->e, &b);
}

/* --- the story -----------------------------------------------------------------------------
 */

/* How many tokens the run has when nothing is stretched. */
static uint64_t count_natural(struct demo_texts *t)
{
    uint64_t all = 0;
    struct buf b LOCAL_BUF(MAX_TEXT);

    for (unsigned i = 0; i < TEXT_MAX; i++) {
        buf_clear(&b);
        uint64_t n = put_part(t, &b, (enum demo_text)i, false);
        n += put_part(t, &b, (enum demo_text)i, true);
        all += i == TEXT_FIRST_LOOK ? n * t->e->job->options.fan_out : n;
    }
    return all;
}

void demo_texts_init(struct demo_texts *t, struct demo_emit *e)
{
    *t = (struct demo_texts){ .e = e,
                              .story =
                                  &stories[(e->job->options.seed + N_STORIES - 1) % N_STORIES],
                              .answer = STR("not asked"),
                              .topic = STR_NONE };
    t->natural = count_natural(t);
}
