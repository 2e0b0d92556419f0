#include "model.h"

#include <stdio.h>
#include <stdlib.h>

/* --- calls ---------------------------------------------------------------------- */

static void on_answered(struct loop_call *call)
{
    struct call *c = call->owner;
    const struct journal_request *req = &c->req;
    struct sim *s = c->sim;

    if (c->done)
        sim_fail(s, "a request is answered twice");
    if (req->next != NULL)
        sim_fail(s, "an answered request is linked to another");
    if (s->p.n_gateways == 0 || c->home->stopping)
        ;
    else if (s->turning == c->home)
        gateways_check_own(c);
    else
        gateways_check_answer(c);
    c->done = true;
    if (req->code != 0 && req->op != JOURNAL_LEASE)
        sim_note(s, "  refused: %s", req->why.text);
    if (c->home->stopping && req->code != ERR_BUSY)
        sim_fail(s, "a request is answered %d by a server that goes", req->code);
    if (s->p.n_gateways == 0 && !c->home->stopping)
        model_check_reply(c);
    c->lost = c->home->dying || (!s->draining && chance_of(&s->chance, s->p.lost_permille));
}

struct call *call_new(struct sim *s, enum journal_op op, const char *job)
{
    struct call *c = calloc(1, sizeof(*c));

    if (c == NULL)
        abort();
    c->sim = s;
    c->home = sim_some_server(s);
    journal_request_init(&c->req, NULL, c, on_answered);
    (void)journal_request_begin(&c->req, op);
    if (job != NULL)
        c->req.job = call_text(c, job);
    c->next = s->calls;
    s->calls = c;
    return c;
}

struct str call_text(struct call *c, const char *text)
{
    struct str copy;

    if (!arena_copy(&c->req.mem, str_of(text), &copy))
        abort();
    return copy;
}

void call_post(struct call *c)
{
    c->posted = true;
    c->sim->n_posts++;
    c->server = c->sim->p.n_gateways > 0 ? c->home->instance : c->sim->n_servers;
    if (c->batch != NULL)
        c->batch->n_posts += c->sim->p.n_gateways > 0 ? 2 : 1; /* it may be sent again */
    journal_post(c->home->journal, &c->req);
}

void call_forget(struct call *c)
{
    c->orphan = true;
}

void call_free(struct call *c)
{
    struct call **at = &c->sim->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    arena_done(&c->req.mem);
    free(c);
}

void calls_lose(struct sim *s, const struct server *home)
{
    for (struct call *c = s->calls; c != NULL; c = c->next)
        if (!c->done && (home == NULL || c->home == home))
            c->done = c->lost = true;
    calls_sweep(s);
}

void calls_lose_all(struct sim *s)
{
    calls_lose(s, NULL);
}

void calls_sweep(struct sim *s)
{
    struct call *c = s->calls;

    while (c != NULL) {
        struct call *next = c->next;

        if (c->done && c->orphan)
            call_free(c);
        c = next;
    }
}

/* --- submitting ------------------------------------------------------------------ */

static struct submission *new_submission(struct sim *s)
{
    struct submission *sub = &s->submissions[s->n_submissions];

    *sub = (struct submission){ .agent = chance_below(&s->chance, s->p.n_agents),
                                .thread = chance_below(&s->chance, 6) };
    if (sub->thread > N_THREADS || s->p.curious)
        sub->thread = 0;
    (void)snprintf(sub->id, sizeof(sub->id), "job-%zu", s->n_submissions);
    if (chance_of(&s->chance, 500))
        (void)snprintf(sub->key, sizeof(sub->key), "key-%zu", s->n_submissions);
    s->n_submissions++;
    return sub;
}

/* Has it been deleted (or may it be, by the time this is done)? */
static bool was_deleted(struct sim *s, const struct submission *sub)
{
    const struct truth *t = model_truth(s->model, str_of(sub->id));

    return sub->deleted || (t != NULL && t->gone != 0);
}

/* A run of one of a few threads. */
static void enter_thread(struct sim *s, struct call *c)
{
    static const struct str strategies[] = { { "enqueue", 7 },
                                             { "interrupt", 9 },
                                             { "rollback", 8 } };
    char id[ID_BYTES];

    (void)snprintf(id, sizeof(id), "thread-%zu", c->sub->thread);
    c->req.thread = call_text(c, id);
    c->req.submit.makes_thread = true;
    c->req.submit.run.assistant = c->req.submit.run.metadata = c->req.submit.run.kwargs =
        STR("{}");
    c->req.submit.run.strategy =
        strategies[chance_of(&s->chance, 700) ? 0 : 1 + chance_below(&s->chance, 2)];
    c->req.submit.delay_ms = chance_of(&s->chance, 100) ? 3000 : 0;
}

static void submit(struct sim *s, struct submission *sub)
{
    if (!s->p.reuses_ids && was_deleted(s, sub))
        return;
    struct call *c = call_new(s, JOURNAL_SUBMIT, NULL);
    char input[40];

    (void)snprintf(input, sizeof(input), "{\"number\":%zu}", (size_t)(sub - s->submissions));
    c->sub = sub;
    c->req.submit.id = call_text(c, sub->id);
    /* Not of a channel's: nobody asks before they begin. */
    if (s->p.has_owners && (sub - s->submissions) % 3 == 0 &&
        s->agents[sub->agent].fed == FED_NOT) {
        c->req.submit.owner = STR("small");
        c->req.submit.max_running = MAX_RUNNING;
    }
    c->req.submit.agent =
        chance_of(&s->chance, 10) ? STR("nobody") : s->agents[sub->agent].name;
    c->req.submit.input = call_text(c, input);
    if (sub->key[0] != '\0') {
        c->hash = chance_of(&s->chance, 100) ? STR("other hash") : STR("hash");
        c->req.submit.idempotency_key = call_text(c, sub->key);
        c->req.submit.request_hash = c->hash;
    }
    if (sub->thread > 0)
        enter_thread(s, c);
    sim_note(s, "submit %s key %s %.*s", sub->id, sub->key, STR_ARG(c->hash));
    call_post(c);
    call_forget(c);
}

/* One that was there before; mostly one that has gone, where ids are used again. */
static struct submission *old_submission(struct sim *s)
{
    struct submission *sub = NULL;

    for (unsigned i = 0; i < (s->p.reuses_ids ? 4 : 1); i++) {
        sub = &s->submissions[chance_below(&s->chance, s->n_submissions)];
        if (was_deleted(s, sub))
            break;
    }
    return sub;
}

void client_submit(struct sim *s)
{
    bool again = s->n_submissions > 0 && chance_of(&s->chance, s->p.reuses_ids ? 500 : 250);

    if (s->n_submissions == MAX_SUBMISSIONS || again)
        submit(s, old_submission(s));
    else
        submit(s, new_submission(s));
}

/* --- cancelling and deleting ------------------------------------------------------ */

/* Mostly a job that goes on. */
static const char *some_job(struct sim *s)
{
    for (unsigned i = 0; i < 6; i++) {
        const char *id = s->submissions[chance_below(&s->chance, s->n_submissions)].id;
        const struct truth *t = model_truth(s->model, str_of(id));

        if (t != NULL && t->gone == 0 && !truth_is_final(t))
            return id;
    }
    return s->submissions[chance_below(&s->chance, s->n_submissions)].id;
}

static void post_about(struct sim *s, enum journal_op op, const char *id)
{
    struct call *c = call_new(s, op, id);

    if (chance_of(&s->chance, 300) && op == JOURNAL_CANCEL)
        c->req.stop.reason = STR("nobody needs it");
    call_post(c);
    call_forget(c);
}

void client_cancel(struct sim *s)
{
    if (s->n_submissions == 0)
        return;
    const char *id = some_job(s);
    bool twice = chance_of(&s->chance, 300);
    sim_note(s, "cancel %s%s", id, twice ? " twice" : "");
    post_about(s, JOURNAL_CANCEL, id);
    if (twice)
        post_about(s, JOURNAL_CANCEL, id);
}

void client_delete(struct sim *s)
{
    if (s->n_submissions == 0)
        return;
    struct submission *sub = &s->submissions[chance_below(&s->chance, s->n_submissions)];
    sim_note(s, "delete %s", sub->id);
    post_about(s, JOURNAL_DELETE, sub->id);
    sub->deleted = true;
}

/* One of the questions of that job, whether it is open or not; absent: none is named. */
static struct str some_question(struct sim *s, const char *id)
{
    const struct disk_questions *q = disk_questions(s->disk);
    const struct truth *t = model_truth(s->model, str_of(id));
    struct str found = STR_NONE;

    for (size_t i = 0; t != NULL && i < q->n; i++)
        if (q->rows[i].job == t->job->row.key && chance_of(&s->chance, 400))
            found = q->rows[i].id;
    return found;
}

static void post_reply(struct sim *s, const char *id)
{
    struct call *c = call_new(s, JOURNAL_ANSWER_QUESTION, id);
    struct str question = some_question(s, id);
    char text[200];

    if (!str_absent(question)) {
        (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(question));
        c->reply.id = call_text(c, text);
    }
    (void)snprintf(text, sizeof(text), "{\"answer\":%u}", ++s->n_answers);
    c->reply.value = call_text(c, text);
    c->req.reply.replies = &c->reply;
    c->req.reply.n_replies = 1;
    call_post(c);
    call_forget(c);
}

static bool is_asking(struct sim *s, const char *id)
{
    const struct disk_questions *q = disk_questions(s->disk);
    const struct truth *t = model_truth(s->model, str_of(id));

    for (size_t i = 0; i < q->n && t != NULL && t->state == JOB_WAITING; i++)
        if (q->rows[i].job == t->job->row.key && q->rows[i].answered == 0)
            return true;
    return false;
}

/* Mostly one that waits for an answer. */
static const char *some_asking_job(struct sim *s)
{
    size_t first = chance_below(&s->chance, s->n_submissions);

    for (size_t i = 0; i < s->n_submissions && chance_of(&s->chance, 995); i++) {
        const char *id = s->submissions[(first + i) % s->n_submissions].id;

        if (is_asking(s, id))
            return id;
    }
    return some_job(s);
}

/* Sometimes two people answer at once. */
void client_answer(struct sim *s)
{
    if (s->n_submissions == 0)
        return;
    const char *id = some_asking_job(s);
    bool twice = chance_of(&s->chance, 200);
    sim_note(s, "answer %s%s", id, twice ? " twice" : "");
    post_reply(s, id);
    if (twice)
        post_reply(s, id);
}

/* Somebody's own deadline passes, perhaps just as the answer comes. */
void client_expire(struct sim *s)
{
    if (s->n_submissions == 0)
        return;
    const char *id = some_asking_job(s);
    bool answers = chance_of(&s->chance, 300), first = chance_of(&s->chance, 500);
    sim_note(s, "expire %s%s", id, answers ? " and answer it" : "");
    if (answers && first)
        post_reply(s, id);
    post_about(s, JOURNAL_EXPIRE, id);
    if (answers && !first)
        post_reply(s, id);
}

void client_pause(struct sim *s)
{
    if (s->n_submissions == 0)
        return;
    const char *id = some_job(s);
    bool goes_on = chance_of(&s->chance, 600);
    sim_note(s, "%s %s", goes_on ? "resume" : "pause", id);
    post_about(s, goes_on ? JOURNAL_RESUME : JOURNAL_PAUSE, id);
}

void client_cancel_all(struct sim *s)
{
    for (struct truth *t = s->model->truths; t != NULL; t = t->next) {
        char id[ID_BYTES];

        if (t->gone != 0 || truth_is_final(t) || t->state == JOB_RUNNING)
            continue;
        (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(t->job->row.id));
        post_about(s, JOURNAL_CANCEL, id);
    }
}
