/* The journal's clock, which follows when the wall clock is set, while the server runs or is
 * down.
 *
 *     j->now = the steady clock + j->offset
 *
 * So j->now shows wall-clock time but never jumps: it can be compared with any deadline.  When
 * the wall clock is set, the journal follows in a transaction of its own: all stored deadlines
 * move by the step, then those in memory, then the offset.  Until that is stored, the journal
 * keeps its old time.
 *
 * If the clock was set back while no server ran, it is before the last stored time.  If it was
 * set forward, that looks the same as a server that was down for as long. */
#include "journal/active_job.h"

enum {
    STEP_MS = 1000,        /* smaller differences are ignored */
    READ_MS = 50,          /* if reading both clocks took longer, the result is not used */
    NOTE_EVERY_MS = 10000, /* if something is stored anyway */
};

static int64_t steady(const struct journal *j)
{
    return j->opt.steady != NULL ? j->opt.steady(j->opt.clock_arg)
                                 : j->opt.clock(j->opt.clock_arg);
}

int64_t journal_time(const struct journal *j)
{
    return steady(j) + j->offset;
}

static void move(int64_t *time, int64_t by)
{
    if (*time != 0)
        *time += by;
}

static void move_live(struct active_job *job, int64_t by)
{
    struct job_row *row = &job->row;

    row->updated += by;
    move(&row->lease_until, by);
    move(&row->queue_deadline, by);
    move(&row->run_deadline, by);
    move(&row->answer_by, by);
    move(&row->not_before, by);
    move(&row->cancel_requested, by);
    move(&row->pause_requested, by);
    move(&row->crashed, by);
    move(&job->force_at, by);
    move(&job->behind_since, by);
}

static void move_requests(struct journal *j, int64_t by)
{
    for (struct journal_request *r = waiting_first(j); r != NULL; r = waiting_after(j, r))
        r->work.deadline += by;
    for (struct journal_request *r = j->calls; r != NULL; r = r->next) {
        r->call.deadline += by;
        move(&r->call.taken, by);
    }
}

static void move_memory(struct journal *j, int64_t by)
{
    for (size_t i = 0; i < j->n_all; i++)
        move_live(j->all[i], by);
    move_requests(j, by);
    move(&j->next_look, by);
    move(&j->last_turn, by);
    move(&j->heard_since, by);
    move(&j->next_expire, by);
    move(&j->next_thread, by);
    move(&j->next_owners, by);
    move(&j->failed_at, by);
    j->offset += by;
    j->now += by;
}

static int move_stored(struct journal *j, int64_t by, int64_t now, struct error *err)
{
    int code = store_begin(j->opt.store, err);

    if (code != 0)
        return code;
    code = store_move_times(j->opt.store, by, now, err);
    if (code == 0)
        code = store_note_time(j->opt.store, now, err);
    if (code == 0)
        return store_commit(j->opt.store, err);
    store_rollback(j->opt.store);
    return code;
}

static void tell(struct journal *j, int64_t by, bool was_down)
{
    const struct journal_events *events = &j->opt.events;

    counter_add(&j->counts.clock_steps, 1);
    if (events->stepped != NULL)
        events->stepped(events->arg, by, was_down);
}

void journal_follow_clock(struct journal *j)
{
    struct error err;
    int64_t before = journal_time(j);
    int64_t wall = j->opt.clock(j->opt.clock_arg);
    int64_t by = wall - before;

    if (by > -STEP_MS && by < STEP_MS)
        return;
    if (journal_time(j) - before > READ_MS)
        return; /* the process was suspended in between */
    if (move_stored(j, by, wall, &err) != 0)
        return; /* the next turn tries again */
    j->noted = wall;
    move_memory(j, by);
    tell(j, by, false);
}

int journal_note_time(struct journal *j)
{
    if (j->touched == NULL || (j->now - j->noted < NOTE_EVERY_MS && !j->settling))
        return 0;
    j->noted = j->now;
    return store_batch_note_time(&j->batch, j->now);
}

int journal_start_clock(struct journal *j, struct error *err)
{
    int64_t wall = j->opt.clock(j->opt.clock_arg), noted = 0;

    j->offset = wall - steady(j);
    j->now = wall;
    int code = store_time_noted(j->opt.store, &noted, err);
    if (code != 0 || wall > noted - STEP_MS)
        return code;
    code = move_stored(j, wall - noted, wall, err);
    if (code == 0)
        tell(j, wall - noted, true);
    return code;
}
