#include "cluster/wakeup.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FLAG_STATE = 1,
    FLAG_GONE = 2,
    FLAG_CANCELLED = 4,
    FLAG_PAUSED = 8,
    SEQ_AT = 2,
    SEQ_DIGITS = 18
};

static void put_text(struct buf *b, struct str text)
{
    if (str_absent(text)) {
        buf_lit(b, " -");
        return;
    }
    buf_char(b, ' ');
    buf_u64(b, text.n);
    buf_char(b, ':');
    buf_str(b, text);
}

static void put_int(struct buf *b, int64_t n)
{
    buf_char(b, ' ');
    buf_i64(b, n);
}

void wakeup_set_seq(struct buf *b, size_t from, uint64_t seq)
{
    char digits[SEQ_DIGITS + 3];

    if (b->error != 0)
        return;
    (void)snprintf(digits, sizeof(digits), "%0*" PRIu64, SEQ_DIGITS,
                   seq % UINT64_C(1000000000000000000));
    memcpy(b->p + from + SEQ_AT, digits, SEQ_DIGITS);
}

void wakeup_put(struct buf *b, const struct wakeup *h)
{
    static const char letters[] = "JQAWL";
    const struct change *c = &h->change;
    int flags = (c->state_changed ? FLAG_STATE : 0) | (c->gone ? FLAG_GONE : 0) |
                (h->is_cancelled ? FLAG_CANCELLED : 0) | (h->is_paused ? FLAG_PAUSED : 0);
    size_t from = b->n;

    buf_char(b, letters[h->kind]);
    if (h->kind == WAKEUP_JOB || h->kind == WAKEUP_QUESTION) {
        buf_lit(b, " 000000000000000000");
        wakeup_set_seq(b, from, c->last_seq);
        put_int(b, c->key);
        put_int(b, c->state);
        put_int(b, flags);
        put_int(b, c->attempt);
        put_int(b, c->ts);
        put_text(b, c->job);
    }
    if (h->kind == WAKEUP_WRITER)
        put_int(b, h->shard);
    if (h->kind <= WAKEUP_AGENT)
        put_text(b, c->agent);
    if (h->kind <= WAKEUP_QUESTION)
        put_text(b, c->owner);
    if (h->kind == WAKEUP_QUESTION) {
        put_int(b, c->question.state);
        put_int(b, c->question.expires);
        put_text(b, c->question.id);
        put_text(b, c->question.question);
    }
    buf_char(b, '\n');
}

/* --- reading ------------------------------------------------------------------------------ */

static bool take_char(struct str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_skip(*s, 1);
    return true;
}

static bool take_digits(struct str *s, int64_t *ret)
{
    size_t n = 0;

    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    bool ok = str_number(str_head(*s, n), ret);
    *s = str_skip(*s, n);
    return ok;
}

static bool take_int(struct str *s, int64_t *ret)
{
    if (!take_char(s, ' '))
        return false;
    bool is_negative = take_char(s, '-');
    bool ok = take_digits(s, ret);
    if (ok && is_negative)
        *ret = -*ret;
    return ok;
}

static bool take_text(struct str *s, struct str *ret)
{
    int64_t n;

    *ret = STR_NONE;
    if (!take_char(s, ' '))
        return false;
    if (take_char(s, '-'))
        return true;
    if (!take_digits(s, &n) || !take_char(s, ':') || (uint64_t)n > s->n)
        return false;
    *ret = str_head(*s, (size_t)n);
    *s = str_skip(*s, (size_t)n);
    return true;
}

static bool take_job(struct str *s, struct wakeup *h)
{
    struct change *c = &h->change;
    int64_t seq, state, flags;

    if (!take_int(s, &seq) || !take_int(s, &c->key) || !take_int(s, &state) ||
        !take_int(s, &flags) || !take_int(s, &c->attempt) || !take_int(s, &c->ts) ||
        !take_text(s, &c->job) || seq < 0 || state < 0 || state >= JOB_STATE_MAX)
        return false;
    c->last_seq = (uint64_t)seq;
    c->state = (enum job_state)state;
    c->state_changed = flags & FLAG_STATE;
    c->gone = flags & FLAG_GONE;
    h->is_cancelled = flags & FLAG_CANCELLED;
    h->is_paused = flags & FLAG_PAUSED;
    return !str_absent(c->job);
}

static bool take_question(struct str *s, struct question_news *q)
{
    int64_t state;

    if (!take_int(s, &state) || !take_int(s, &q->expires) || !take_text(s, &q->id) ||
        !take_text(s, &q->question) || state < 0 || state > QUESTION_CLOSED)
        return false;
    q->state = (enum question_state)state;
    return !str_absent(q->id);
}

bool wakeup_take(struct str *s, struct wakeup *ret)
{
    static const char letters[] = "JQAWL";
    const char *letter = s->n > 0 && s->p[0] != '\0' ? strchr(letters, s->p[0]) : NULL;

    if (letter == NULL)
        return false;
    *ret = (struct wakeup){ .kind = (enum wakeup_kind)(letter - letters) };
    *s = str_skip(*s, 1);
    return (ret->kind > WAKEUP_QUESTION || take_job(s, ret)) &&
           (ret->kind > WAKEUP_AGENT || take_text(s, &ret->change.agent)) &&
           (ret->kind > WAKEUP_QUESTION || take_text(s, &ret->change.owner)) &&
           (ret->kind != WAKEUP_QUESTION || take_question(s, &ret->change.question)) &&
           (ret->kind != WAKEUP_WRITER || (take_int(s, &ret->shard) && ret->shard >= 0)) &&
           take_char(s, '\n');
}
