/* The life of a job here:
 *
 *     lease ──▶ hands ──▶ their lines into the duty ──▶ hands over ──▶ last word ──▶ gone
 *                 │
 *                 └── HEARTBEAT, whatever happens
 *
 * What can come in between is a fate, and the first one stays:
 *
 *     CANCELLED    the hands stop; FINISH as cancelled
 *     FAULTY       they are ended at once; FINISH as failed, with our reason
 *     HANDED_BACK  as CANCELLED, but RETURN
 *     GONE         the job is no longer ours, or goes on without us: nothing more is said;
 *                  wins over the others
 *
 * While more than 1 MiB of lines wait, the hands' output is not read, and the worker waits in
 * its write. */
#include "agents/work.h"

#include "agents/arq.h"
#include "agents/duty.h"
#include "agents/exec.h"
#include "agents/hands.h"
#include "agents/host.h"
#include "agents/http.h"
#include "agents/order.h"
#include "agents/process.h"

#include <stdlib.h>

enum {
    PAUSE_BYTES = 1024 * 1024,
    RESUME_BYTES = PAUSE_BYTES / 2,
    MAX_ERROR = 64 * 1024,
};

enum fate { FATE_NONE, FATE_CANCELLED, FATE_FAULTY, FATE_HANDED_BACK, FATE_GONE };

struct work {
    struct work_options opt;
    enum fate fate;
    struct duty duty;
    struct hands *hands; /* owned */
    uv_timer_t beat;
    unsigned n_open;    /* of: duty, beat, hands that began */
    struct buf error;   /* why it failed */
    struct buf details; /* of that, as JSON */
    struct str error_type;
    bool has_begun; /* the hands; before that they are nothing but memory */
    bool is_deaf;   /* nobody listens to them any more */
    bool is_over;   /* they are, with all their output; or they never began */
    bool is_closing;
};

static void end_duty(struct work *w);

/* --- fates ------------------------------------------------------------------- */

static bool decide(struct work *w, enum fate fate)
{
    if (w->fate != FATE_NONE && (fate != FATE_GONE || w->fate == FATE_GONE))
        return false;
    w->fate = fate;
    return true;
}

/* Tells the hands, unless there is nobody to tell. */
static void tell(struct work *w, void (*what)(struct hands *h))
{
    if (!w->is_over)
        what(w->hands);
}

static void stop_listening(struct work *w)
{
    w->is_deaf = true;
    tell(w, w->hands->ops->resume); /* so that their end is seen */
}

static void fail(struct work *w, struct str error, struct str type)
{
    if (decide(w, FATE_FAULTY)) {
        buf_str(&w->error, error);
        w->error_type = type;
    }
    stop_listening(w);
    tell(w, w->hands->ops->kill);
}

void work_cancel(struct work *w)
{
    if (!w->is_over && decide(w, FATE_CANCELLED))
        w->hands->ops->stop(w->hands);
}

static bool is_at_work(const struct work *w)
{
    return !w->is_over && !w->hands->ops->has_ended(w->hands);
}

/* The server goes down, but not they.  False: they do not outlive it. */
static bool leave(struct work *w)
{
    if (w->hands->ops->leave == NULL)
        return false;
    if (is_at_work(w) && decide(w, FATE_GONE)) {
        stop_listening(w);
        duty_leave(&w->duty);
        w->hands->ops->leave(w->hands);
    }
    return true;
}

void work_drain(struct work *w)
{
    if (!leave(w) && is_at_work(w) && decide(w, FATE_HANDED_BACK))
        w->hands->ops->stop(w->hands);
}

void work_stop(struct work *w)
{
    if (!leave(w) && is_at_work(w))
        (void)decide(w, FATE_HANDED_BACK); /* or it has a fate already */
    tell(w, w->hands->ops->abandon);
    duty_hurry(&w->duty);
}

void work_ask(struct work *w)
{
    duty_ask(&w->duty);
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct work *w)
{
    if (--w->n_open > 0)
        return;
    w->opt.ended(w->opt.arg, w);
    buf_done(&w->error);
    buf_done(&w->details);
    free(w->hands);
    free(w);
}

static void on_hands_closed(void *owner)
{
    free_when_closed(owner);
}

static void on_duty_closed(struct duty *d)
{
    free_when_closed(d->owner);
}

static void on_beat_closed(uv_handle_t *handle)
{
    free_when_closed(handle->data);
}

static void close_when_done(struct work *w)
{
    if (!w->is_over || !w->duty.is_over || w->is_closing)
        return;
    w->is_closing = true;
    uv_close((uv_handle_t *)&w->beat, on_beat_closed);
    if (w->has_begun)
        w->hands->ops->close(w->hands);
    duty_close(&w->duty);
}

static void fill_finish(struct work *w, struct duty_word *word)
{
    const struct hands_ops *ops = w->hands->ops;
    enum outcome outcome = OUTCOME_FAILED;

    if (w->fate != FATE_CANCELLED && w->error.n == 0) {
        outcome = ops->judge(w->hands, &w->error, &w->error_type);
        if (outcome != OUTCOME_WELL && ops->details != NULL)
            ops->details(w->hands, &w->details);
    }
    if (w->fate == FATE_CANCELLED || outcome == OUTCOME_CANCELLED) {
        word->end = JOB_END_CANCELLED;
        return;
    }
    if (outcome == OUTCOME_WELL && w->fate != FATE_FAULTY) {
        word->end = JOB_END_SUCCEEDED;
        word->end_of_stream = ops->output == NULL;
        word->output = ops->output != NULL ? ops->output(w->hands) : STR_NONE;
        return;
    }
    if (outcome == OUTCOME_LOST)
        word->op = JOURNAL_LOSE;
    word->end = JOB_END_FAILED;
    word->error = buf_text(&w->error);
    word->error_type = w->error_type;
    word->details =
        w->details.n > 0 && w->details.error == 0 ? buf_text(&w->details) : STR_NONE;
    word->phase = outcome == OUTCOME_RAISED ? STR_NONE : STR("worker");
}

static void end_duty(struct work *w)
{
    bool back = w->fate == FATE_HANDED_BACK;
    struct duty_word word = { .op = back ? JOURNAL_RETURN : JOURNAL_FINISH };

    if (!back)
        fill_finish(w, &word);
    duty_end(&w->duty, &word);
}

/* --- what the journal wants -------------------------------------------------- */

static void on_cancel(struct duty *d)
{
    work_cancel(d->owner);
}

static void on_pause(struct duty *d)
{
    struct work *w = d->owner;

    if (w->hands->ops->rest != NULL)
        tell(w, w->hands->ops->rest);
}

/* A job that has ended may have done so by the worker's own word: then it may still tidy
 * up. */
static void on_lost(struct duty *d, int code)
{
    struct work *w = d->owner;

    (void)decide(w, FATE_GONE); /* it wins */
    stop_listening(w);
    if (code == ERR_CLOSED && w->hands->ops->leave != NULL)
        tell(w, w->hands->ops->leave);
    else
        tell(w, code == ERR_CLOSED ? w->hands->ops->stop : w->hands->ops->kill);
}

static void on_refused(struct duty *d, struct str why)
{
    struct work *w = d->owner;

    fail(w, why, STR("Append"));
    if (w->is_over)
        end_duty(w);
}

static void on_stored(struct duty *d)
{
    struct work *w = d->owner;

    if (duty_waiting(d) <= RESUME_BYTES)
        tell(w, w->hands->ops->resume);
}

static void on_duty_over(struct duty *d)
{
    close_when_done(d->owner);
}

static const struct duty_events duty_events = { .cancel = on_cancel,
                                                .pause = on_pause,
                                                .lost = on_lost,
                                                .refused = on_refused,
                                                .stored = on_stored,
                                                .over = on_duty_over,
                                                .closed = on_duty_closed };

static void on_beat(uv_timer_t *timer)
{
    work_ask(timer->data);
}

/* --- what the hands say ------------------------------------------------------ */

static void on_output(void *owner, struct str bytes, bool more)
{
    struct work *w = owner;
    int err = w->is_deaf ? 0 : duty_put(&w->duty, bytes);

    if (err == ERR_TOO_LARGE)
        fail(w, STR("a line of more than 16 MiB"), STR("LineTooLong"));
    else if (err != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    if (duty_waiting(&w->duty) > PAUSE_BYTES && !w->is_deaf)
        w->hands->ops->pause(w->hands);
    if (!more || duty_waiting(&w->duty) >= OUTBOX_BATCH)
        duty_go_on(&w->duty);
}

static void on_over(void *owner, bool is_whole)
{
    struct work *w = owner;

    if (is_whole && !w->is_deaf && duty_put_end(&w->duty) != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    w->is_over = true;
    end_duty(w);
    close_when_done(w);
}

static const struct hands_events hands_events = { .output = on_output,
                                                  .over = on_over,
                                                  .closed = on_hands_closed };

/* --- the start --------------------------------------------------------------- */

static bool start(struct work *w, const struct journal_request *lease)
{
    struct order order = duty_order(&w->duty, lease);

    w->has_begun = true;
    w->n_open++;
    return w->hands->ops->start(w->hands, &order);
}

static struct hands *make_hands(struct work *w)
{
    struct hands common = { .events = &hands_events,
                            .owner = w,
                            .host = w->opt.host,
                            .agent = w->opt.agent,
                            .env = w->opt.env };

    if (common.agent->arq.function != NULL)
        return arq_new(&common);
    return common.agent->http.url != NULL ? http_new(&common) : process_new(&common);
}

static struct work *make(const struct work_options *options,
                         const struct journal_request *lease)
{
    struct work *w = calloc(1, sizeof(*w));
    const struct host *host = options->host;

    if (w == NULL)
        return NULL;
    w->opt = *options;
    w->hands = make_hands(w);
    if (w->hands == NULL ||
        duty_init(&w->duty, host, options->agent->name, lease, &duty_events, w) != 0) {
        free(w->hands);
        free(w);
        return NULL;
    }
    w->hands->job = w->duty.job;
    w->duty.source = w->hands->ops->source;
    buf_init(&w->error, MAX_ERROR);
    buf_init(&w->details, MAX_ERROR);
    (void)uv_timer_init(host->loop, &w->beat); /* cannot fail */
    w->beat.data = w;
    w->n_open = 2;
    return w;
}

int work_new(const struct work_options *options,
             const struct journal_request *lease,
             struct work **ret)
{
    struct work *w = make(options, lease);

    if (w == NULL)
        return ERR_NOMEM;
    int64_t beat_ms = options->host->heartbeat_ms;
    if (beat_ms <= 0)
        beat_ms = w->duty.lease_ms / 4 + 1;
    (void)uv_timer_start(&w->beat, on_beat, (uint64_t)beat_ms, (uint64_t)beat_ms); /* open */
    /* A job that was cancelled before needs no hands for that. */
    w->is_over = lease->cancel && decide(w, FATE_CANCELLED);
    if (!w->is_over)
        w->is_over = !start(w, lease);
    if (w->is_over)
        end_duty(w);
    *ret = w;
    return 0;
}

bool work_is(const struct work *w, int64_t key, int64_t attempt)
{
    return duty_is(&w->duty, key, attempt);
}
