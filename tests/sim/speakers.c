/* Speakers: workers without a lease that send a job's events over its channel.
 *
 * What they say comes as the subscriber hands it over (JOURNAL_FEED): lines with numbers, again
 * when they could not be stored, twice when somebody has published them twice.  What is on its
 * way when the server dies is lost. */
#include "model.h"
#include "script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FEED_LINES = 64 };

struct speaker {
    char job[ID_BYTES]; /* empty: none */
    int64_t attempt;    /* as far as it knows */
    struct script script;
    struct call *call;
    struct batch *batch; /* what it has said last */
};

void speakers_init(struct sim *s)
{
    s->speakers = calloc(MAX_SPEAKERS, sizeof(*s->speakers));
    if (s->speakers == NULL)
        abort();
}

void speakers_done(struct sim *s)
{
    for (size_t i = 0; i < MAX_SPEAKERS; i++)
        if (s->speakers[i].call != NULL)
            call_forget(s->speakers[i].call);
    calls_sweep(s);
    free(s->speakers);
}

static bool is_fed(const struct truth *t)
{
    return t != NULL && t->gone == 0 && !truth_is_final(t) && t->agent->fed == FED_ALONE;
}

static void find_job(struct sim *s, struct speaker *w)
{
    size_t first = s->n_submissions > 0 ? chance_below(&s->chance, s->n_submissions) : 0;

    for (size_t i = 0; i < s->n_submissions; i++) {
        const char *id = s->submissions[(first + i) % s->n_submissions].id;
        bool is_taken = false;

        for (size_t k = 0; k < MAX_SPEAKERS; k++)
            is_taken |= strcmp(s->speakers[k].job, id) == 0;
        if (is_taken || !is_fed(model_truth(s->model, str_of(id))))
            continue;
        (void)snprintf(w->job, sizeof(w->job), "%s", id);
        w->attempt = -1;
        return;
    }
}

static void make_batch(struct sim *s, struct speaker *w)
{
    struct batch *b = model_batch(s->model);
    int64_t n = chance_between(&s->chance, 0, 8);

    memcpy(b->job, w->job, sizeof(b->job));
    b->key = b->attempt = b->seq = -1; /* a channel knows none of these */
    script_marker(&b->bytes, b->number, false);
    while (n-- > 0 && script_line(&w->script, &b->bytes))
        ;
    script_marker(&b->bytes, b->number, true);
    b->has_end = w->script.over && w->script.says_end && !w->script.asked;
    if (b->has_end)
        script_end_word(&w->script, &b->bytes);
    w->batch = b;
}

/* The lines of the batch, with the numbers from @seq on. */
static size_t put_lines(struct call *c, struct str rest, int64_t seq)
{
    struct journal_line *lines = arena_alloc(&c->req.mem, MAX_FEED_LINES * sizeof(*lines));
    size_t n = 0;

    if (lines == NULL)
        abort();
    for (; rest.n > 0 && n < MAX_FEED_LINES; n++) {
        struct str line = str_head(rest, str_find(rest, '\n'));

        lines[n] = (struct journal_line){ .text = line,
                                          .producer_seq = seq + (int64_t)n,
                                          .ends = str_starts(line, STR("{\"type\":\"job.")) };
        rest = str_skip(rest, line.n + 1);
    }
    c->req.feed.lines = lines;
    c->req.feed.n_lines = n;
    return n;
}

static struct call *post(struct sim *s, struct speaker *w, int64_t *seq)
{
    struct call *c = call_new(s, JOURNAL_FEED, w->job);

    if (s->server->up)
        c->home = s->server; /* the one that writes, or has: channels are its business */
    size_t n = put_lines(c, buf_text(&w->batch->bytes), *seq);

    c->req.feed.worker = STR("channel");
    c->batch = w->batch;
    sim_note(s, "batch %" PRIu64 " comes over the channel of %s: %zu lines from %" PRId64,
             w->batch->number, w->job, n, *seq);
    call_post(c);
    *seq += (int64_t)n;
    return c;
}

static void speak(struct sim *s, struct speaker *w)
{
    const struct truth *t = model_truth(s->model, str_of(w->job));
    int64_t seq = s->n_said;

    if (!is_fed(t)) {
        w->job[0] = '\0';
        return;
    }
    if (w->attempt != t->attempt || w->script.over) {
        w->attempt = t->attempt;
        script_init(&w->script, &s->chance, w->job, t->attempt * 1000 + (int64_t)s->step,
                    s->p.big);
        w->script.curious = s->p.curious;
    }
    make_batch(s, w);
    w->call = post(s, w, &s->n_said);
    if (!w->script.asked && !w->batch->has_end && t->state == JOB_RUNNING &&
        chance_of(&s->chance, 100))
        call_forget(post(s, w, &seq)); /* somebody has published it twice */
}

static void take_reply(struct sim *s, struct speaker *w)
{
    bool again = !w->call->lost && w->call->req.code == ERR_BUSY;
    bool is_refused = !w->call->lost && w->call->req.code != 0 && !again;
    int64_t seq = again ? w->call->req.feed.lines[0].producer_seq : 0;

    call_free(w->call);
    w->call = NULL;
    if (again)
        w->call = post(s, w, &seq);
    else if (is_refused)
        w->job[0] = '\0';
}

void speaker_step(struct sim *s)
{
    struct speaker *w = &s->speakers[chance_below(&s->chance, MAX_SPEAKERS)];

    if (w->call != NULL && w->call->done)
        take_reply(s, w);
    if (w->call != NULL || s->draining)
        return;
    if (w->job[0] == '\0')
        find_job(s, w);
    else if (!chance_of(&s->chance, 40))
        speak(s, w);
    else if (chance_of(&s->chance, 500))
        w->job[0] = '\0'; /* it falls silent */
}
