/* Requests about crons, and their ticks.
 *
 *     api/langgraph/cron_ticks.c finds a cron that is due ──▶ SUBMIT with the tick
 *                                                               │
 *                     crons_may_tick ──▶ the run is created ──▶ crons_ticked
 *
 * The turn that creates a tick's run moves the cron on to its next tick, so neither can be
 * stored without the other.  The run may be in another shard than other requests about the
 * cron: the store moves a cron on only from the tick that the turn has read (store/crons.h).
 * Ticks that were missed while no server ran are one tick: the next one is after now.
 *
 * A run that is refused (its thread is busy, its owner has too many jobs) is not tried again:
 * its tick is taken as well. */
#include "base/json_merge.h"
#include "jobs/job_scope.h"
#include "journal/active_job.h"
#include "schedule/cron.h"
#include "schedule/zone.h"
#include "store/rows.h"

/* The first tick after @after; 0: never. */
static int next_tick(const struct cron_row *row, int64_t after, int64_t *ret, struct error *err)
{
    struct zone *zone = NULL;
    struct cron cron;
    int code = cron_parse(row->schedule, &cron, err);

    if (code == 0 && row->timezone.n > 0)
        code = zone_open(row->timezone, &zone, err);
    if (code == 0 && !cron_next(&cron, zone, after, ret))
        *ret = 0;
    zone_free(zone);
    return code == ERR_NOT_FOUND ? ERR_TYPE : code;
}

/* For a cron that is created or changed: it must have a tick. */
static int first_tick(struct journal *j, struct journal_request *req, struct cron_row *row)
{
    int err = next_tick(row, j->now, &row->next, &req->why);

    if (err == 0 && row->next == 0)
        return error_set(&req->why, ERR_TYPE,
                         "the cron schedule '%.*s' has no time in the next fifty years",
                         STR_ARG(str_head(row->schedule, 80)));
    return err;
}

static int find(struct journal *j,
                struct journal_request *req,
                struct str id,
                struct cron_row *ret)
{
    int err = read_cron(j, id, ret);

    if (err == 0 &&
        !job_scope_includes(req->job_scope, ret->id, ret->owner.n > 0 ? ret->owner : STR_NONE))
        err = ERR_NOT_FOUND;
    if (err == 0 && !row_copy(&req->mem, &cron_texts, ret))
        err = ERR_NOMEM;
    if (err == ERR_NOT_FOUND)
        return error_set(&req->why, err, "Cron '%.*s' not found", STR_ARG(str_head(id, 80)));
    return err;
}

/* --- requests ---------------------------------------------------------------- */

static int create(struct journal *j, struct journal_request *req)
{
    struct cron_row *row = &req->cron.row;
    struct thread_row thread;
    struct cron_row there;
    int err = str_absent(req->thread) ? 0 : read_thread(j, req->thread, &thread, &req->why);

    if (err == 0 && !str_absent(req->thread) &&
        !job_scope_includes(req->job_scope, thread.id, thread.owner))
        err = ERR_NOT_FOUND;
    if (err == ERR_NOT_FOUND)
        return error_set(&req->why, err, "Thread with ID %.*s not found",
                         STR_ARG(str_head(req->thread, 100)));
    if (err == 0)
        err = read_cron(j, row->id, &there);
    if (err == 0)
        return error_set(&req->why, ERR_REFUSED, "Cron already exists");
    if (err != ERR_NOT_FOUND)
        return err;
    err = first_tick(j, req, row);
    row->thread = req->thread;
    row->created = row->updated = row->moved = j->now;
    return err == 0 ? gather_new_cron(j, row) : err;
}

void journal_cron_create(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, create(j, req));
}

static struct str or_else(struct str text, struct str other)
{
    return str_absent(text) ? other : text;
}

/* A cron that is enabled again has missed nothing. */
static bool moves(const struct cron_request *c, const struct cron_row *row)
{
    return !str_absent(c->row.schedule) || !str_absent(c->row.timezone) ||
           (c->sets_enabled && c->row.enabled != 0 && row->enabled == 0);
}

static int patch(struct journal *j, struct journal_request *req)
{
    const struct cron_request *c = &req->cron;
    const struct cron_row *over = &c->row;
    struct cron_row row;
    int err = find(j, req, over->id, &row);

    if (err == 0 && !str_absent(over->metadata))
        err = json_merge_copy(&req->mem, row.metadata, over->metadata, &row.metadata);
    if (err == 0 && !str_absent(over->payload))
        err = json_merge_copy(&req->mem, row.payload, over->payload, &row.payload);
    if (err != 0)
        return err;
    bool has_moved = moves(c, &row);
    row.schedule = or_else(over->schedule, row.schedule);
    row.timezone = or_else(over->timezone, row.timezone);
    if (str_absent(row.thread))
        row.on_completed = or_else(over->on_completed, row.on_completed);
    row.end_time = c->sets_end ? over->end_time : row.end_time;
    row.enabled = c->sets_enabled ? over->enabled : row.enabled;
    row.updated = j->now;
    if (has_moved)
        err = first_tick(j, req, &row);
    if (err != 0)
        return err;
    req->cron.row = row;
    if (!has_moved)
        row.next = -1;
    return gather_cron(j, &row);
}

void journal_cron_patch(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, patch(j, req));
}

void journal_cron_delete(struct journal *j, struct journal_request *req)
{
    struct cron_row row;
    int err = find(j, req, req->cron.row.id, &row);

    journal_wrote(j, req, err == 0 ? gather_cron_deletion(j, row.id) : err);
}

/* --- ticks ------------------------------------------------------------------- */

static int may_tick(struct journal *j, const struct cron_tick *tick, struct error *err)
{
    struct cron_row row;
    int code = read_cron(j, tick->cron, &row);

    if (code != 0 && code != ERR_NOT_FOUND)
        return code;
    if (code != 0 || row.next != tick->due || row.enabled == 0)
        return error_set(err, ERR_CLOSED, "the tick of this cron was taken");
    return 0;
}

/* The clock may be a moment before the tick.  If it is far before it, it was wrong when the
 * tick was computed. */
static int64_t later(int64_t now, int64_t due)
{
    return due > now && due - now < CRON_CLOCK_WAS_WRONG_MS ? due : now;
}

/* With a schedule that this version cannot read it has no further tick. */
static int take_tick(struct journal *j, const struct cron_tick *tick)
{
    struct cron_row row;
    int64_t next = 0;
    int err = read_cron(j, tick->cron, &row);

    if (err != 0)
        return err;
    err = next_tick(&row, later(j->now, tick->due), &next, NULL);
    return err == 0 || err == ERR_TYPE ? gather_cron_tick(j, tick->cron, tick->due, next) : err;
}

void journal_cron_skip(struct journal *j, struct journal_request *req)
{
    int err = may_tick(j, &req->tick, &req->why);

    if (err == ERR_CLOSED)
        req->code = err;
    else
        journal_wrote(j, req, err == 0 ? take_tick(j, &req->tick) : err);
}

bool crons_may_tick(struct journal *j, struct journal_request *req)
{
    int err = may_tick(j, &req->submit.tick, &req->why);

    if (err == 0)
        return true;
    req->code = err;
    if (err != ERR_CLOSED)
        journal_broke(j, req, err);
    return false;
}

/* The run's thread is gone for good, and the cron with it. */
static int after_refusal(struct journal *j, const struct journal_request *req)
{
    return req->code == ERR_NOT_FOUND ? gather_cron_deletion(j, req->submit.tick.cron)
                                      : take_tick(j, &req->submit.tick);
}

void crons_ticked(struct journal *j, struct journal_request *req)
{
    if (req->code == ERR_BUSY || req->code == ERR_ELSEWHERE)
        return; /* it comes again */
    int err = req->code == 0 ? take_tick(j, &req->submit.tick) : after_refusal(j, req);
    if (err != 0)
        journal_broke(j, req, err);
}
