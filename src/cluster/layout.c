#include "cluster/layout.h"

#include "jobs/job_scope.h"
#include "store/rows.h"

/* --- a line for each member -------------------------------------------------------------- */

/* clang-format off */
/* S is the struct at hand. */
#define KIND(m)                                                                        \
    _Generic(((S *)0)->m, struct str: MEMBER_TEXT, bool: MEMBER_BOOL,                  \
             int64_t: MEMBER_INT64, uint64_t: MEMBER_INT64,                            \
             int: MEMBER_INT, unsigned: MEMBER_INT)
#define SIZE(m)            sizeof(((S *)0)->m)
#define LINE(f, m, top)    { .kind = KIND(m), .flow = (f), .at = offsetof(S, m), .size = SIZE(m), .max = (top) },
#define IN(m)              LINE(FLOW_IN, m, 0)
#define OUT(m)             LINE(FLOW_OUT, m, 0)
#define BOTH(m)            LINE(FLOW_IN | FLOW_OUT, m, 0)
#define BOTH_UP_TO(m, top) LINE(FLOW_IN | FLOW_OUT, m, top)
#define PART(f, k, m, l)   { .kind = (k), .flow = (f), .at = offsetof(S, m), .size = SIZE(m), .of = &(l) },
#define ROWS(f, m, nm, l)  { .kind = MEMBER_ARRAY, .flow = (f), .at = offsetof(S, m), .size = SIZE(m), .n_at = offsetof(S, nm), .of = &(l) }, \
                           OWN(nm)
#define OWN(m)             { .kind = MEMBER_OWN, .at = offsetof(S, m), .size = SIZE(m) },
#define LAYOUT(name, ...)                                                              \
    static const struct member name##_members[] = { __VA_ARGS__ };                     \
    static const struct layout name = { sizeof(S), name##_members,                            \
                                 sizeof(name##_members) / sizeof(name##_members[0]) }
#define ALWAYS (FLOW_IN | FLOW_OUT)

/* --- rows: all of them, wherever they are part of ---------------------------------------- */

#define S struct job_row
LAYOUT(job, BOTH(key) BOTH(input) BOTH(seq) BOTH(first_seq) BOTH(producer_seq)
    BOTH(crashed) BOTH(set_aside) BOTH(shard) JOB_FIXED(BOTH, BOTH) JOB_INDEXED(BOTH, BOTH)
    JOB_PLAIN(BOTH, BOTH));
#undef S
#define S struct thread_row
LAYOUT(thread, BOTH(key) BOTH(id) BOTH(owner) BOTH(status) BOTH(metadata) BOTH(config)
    BOTH(interrupts) BOTH(error) BOTH(values) BOTH(created) BOTH(updated) BOTH(state_updated)
    BOTH(n_runs) BOTH(is_temporary) BOTH(ttl_ms) BOTH(shard));
#undef S
#define S struct run_row
LAYOUT(run, BOTH(job) BOTH(assistant) BOTH(metadata) BOTH(kwargs) BOTH(strategy)
    BOTH(modes) BOTH(subgraphs) BOTH(thread));
#undef S
#define S struct typed
LAYOUT(typed, BOTH(type) BOTH(data));
#undef S
#define S struct checkpoint_row
LAYOUT(checkpoint_row, BOTH(thread) BOTH(ns) BOTH(id) BOTH(parent)
    PART(ALWAYS, MEMBER_STRUCT, value, typed) BOTH(metadata) BOTH(versions) BOTH(run));
#undef S
#define S struct channel_row
LAYOUT(channel, BOTH(channel) BOTH(version) PART(ALWAYS, MEMBER_STRUCT, value, typed));
#undef S
#define S struct write_row
LAYOUT(write, BOTH(task) BOTH(path) BOTH(channel) BOTH(idx)
    PART(ALWAYS, MEMBER_STRUCT, value, typed));
#undef S
#define S struct item_row
LAYOUT(item_row, BOTH(owner) BOTH(ns) BOTH(key) BOTH(value) BOTH(created) BOTH(updated)
    BOTH(ttl_ms) BOTH(expires) BOTH(vectors));
#undef S
#define S struct assistant_row
LAYOUT(assistant_row, BOTH(id) BOTH(owner) BOTH(graph) BOTH(name) BOTH(description)
    BOTH(config) BOTH(context) BOTH(metadata) BOTH(version) BOTH(created) BOTH(updated));
#undef S

#define S struct cron_row
LAYOUT(cron_row, BOTH(id) BOTH(owner) BOTH(assistant) BOTH(thread) BOTH(schedule) BOTH(timezone)
    BOTH(on_completed) BOTH(payload) BOTH(metadata) BOTH(end_time) BOTH(next) BOTH(enabled)
    BOTH(max_jobs) BOTH(max_queued) BOTH(max_running) BOTH(created) BOTH(updated) BOTH(moved));
#undef S

/* --- parts of several requests ------------------------------------------------------------ */

struct only_text {
    struct str text;
};
#define S struct only_text
LAYOUT(text, BOTH(text));
#undef S
#define S struct job_scope_rule
LAYOUT(rule, BOTH_UP_TO(kind, JOB_SCOPE_PREFIX) BOTH(text));
#undef S
#define S struct job_scope
LAYOUT(scope, BOTH(all) ROWS(ALWAYS, rules, n, rule));
#undef S
#define S struct lease_shown
LAYOUT(lease, BOTH(key) BOTH(attempt) BOTH(is_unsigned));
#undef S
#define S struct lease_caller
LAYOUT(caller, BOTH(holder) BOTH(agents) BOTH(only_key) BOTH(is_admin));
#undef S
#define S struct events_taken
LAYOUT(taken, BOTH(accepted) BOTH(rejected) BOTH(repeated) BOTH(missing));
#undef S
#define S struct taken_call
LAYOUT(taken_call, BOTH(id) BOTH(agent) BOTH(name) BOTH(params));
#undef S
#define S struct journal_reply
LAYOUT(one_reply, BOTH(id) BOTH(value) OWN(seq));
#undef S
#define S struct journal_line
LAYOUT(line, BOTH(text) BOTH(producer_seq) BOTH(asks) BOTH(ends));
#undef S
#define S struct journal_worker
LAYOUT(worker, BOTH(worker) ROWS(ALWAYS, agents, n_agents, text) BOTH(job) BOTH(attempt)
    BOTH(lease_until) BOTH(seen));
#undef S
#define S struct journal_agent_state
LAYOUT(agent_state, BOTH(name) BOTH(n_waiting) BOTH(n_running) BOTH(oldest_ms) BOTH(n_broken)
    BOTH(error));
#undef S
#define S struct journal_named
LAYOUT(named, BOTH(id) BOTH(is_thread));
#undef S
#define S struct journal_mark
LAYOUT(mark, BOTH(key) BOTH(published));
#undef S

/* --- the requests ------------------------------------------------------------------------- */

/* code and why of an answer are written by codec.c: an answer that is none needs no text. */
#define S struct journal_request
LAYOUT(header, OWN(next) OWN(loop_call) OWN(mem) OWN(op) IN(job) IN(thread)
    OWN(thread_key) PART(FLOW_IN, MEMBER_STRUCT, lease, lease)
    PART(FLOW_IN, MEMBER_STRUCT, caller, caller) PART(FLOW_IN, MEMBER_POINTER, job_scope, scope)
    OWN(withdrawn) OWN(is_forwarded) OWN(is_pinned) IN(is_repeat) IN(operation) OUT(cancel) OUT(pause) OUT(lease_ms) OWN(router) OWN(code) OWN(why) OUT(shard)
    PART(FLOW_OUT, MEMBER_POINTER, row, job));
#undef S
#define S struct cron_tick
LAYOUT(tick, IN(cron) IN(due));
#undef S
/* codec.c follows `more`. */
#define S struct submit_request
LAYOUT(submit, IN(id) IN(agent) IN(input) IN(is_new_id) IN(owner) IN(idempotency_key) IN(request_hash)
    IN(expiry_seconds) IN(max_running) IN(max_jobs) IN(max_queued) IN(delay_ms) OWN(more)
    PART(ALWAYS, MEMBER_STRUCT, run, run) IN(resume) IN(makes_thread) IN(is_temporary) OWN(asked)
    IN(webhook)    PART(FLOW_IN, MEMBER_STRUCT, tick, tick) OUT(existed));
#undef S
#define S struct cancel_request
LAYOUT(stop, IN(reason) IN(rolls_back) OUT(had_worker));
#undef S
#define S struct reply_request
LAYOUT(reply, ROWS(FLOW_IN, replies, n_replies, one_reply) IN(who) OUT(expired)
    OUT(first));
#undef S
#define S struct channel_request
LAYOUT(feed, ROWS(FLOW_IN, lines, n_lines, line) IN(was_deaf) IN(worker) IN(agent)
    PART(FLOW_OUT, MEMBER_STRUCT, taken, taken) OUT(made));
#undef S
#define S struct work_request
LAYOUT(work, ROWS(FLOW_IN, agents, n_agents, text) IN(worker) IN(request_id) IN(wait_ms)
    IN(takes_calls) IN(looks) PART(FLOW_OUT, MEMBER_STRUCT, call, taken_call) OUT(answers)
    PART(FLOW_OUT, MEMBER_STRUCT, run, run) OUT(number) OUT(oldest) OWN(deadline) OWN(links));
#undef S
#define S struct beat_request
LAYOUT(beat, IN(wait_ms) OWN(deadline));
#undef S
#define S struct append_request
LAYOUT(append, IN(bytes) IN(producer_seq) PART(FLOW_OUT, MEMBER_STRUCT, taken, taken));
#undef S
#define S struct finish_request
LAYOUT(finish, LINE(FLOW_IN, end, JOB_END_CANCELLED) IN(interrupted) IN(end_of_stream)
    IN(error) IN(error_type) IN(details) IN(phase) IN(output));
#undef S
#define S struct return_request
LAYOUT(handed_back, IN(number));
#undef S
#define S struct count_request
LAYOUT(count, ROWS(FLOW_IN, agents, n_agents, text) OUT(n_waiting)
    OUT(n_running) OUT(oldest_ms));
#undef S
#define S struct workers_request
LAYOUT(workers, ROWS(FLOW_OUT, list, n, worker));
#undef S
#define S struct agents_request
LAYOUT(agents, ROWS(FLOW_OUT, list, n, agent_state));
#undef S
#define S struct report_request
LAYOUT(report, IN(agent) IN(worker) IN(error));
#undef S
#define S struct call_request
LAYOUT(call, IN(agent) IN(id) IN(name) IN(params) IN(wait_ms)
    ROWS(FLOW_IN, named, n_named, named) IN(keeps) OUT(output) OUT(error) OWN(is_taken)
    OWN(is_answered) OWN(taker) OWN(request_id) OWN(number) OWN(taken) OWN(deadline));
#undef S
#define S struct answer_request
LAYOUT(answer, IN(id) IN(output) IN(error) IN(number));
#undef S
#define S struct thread_request
LAYOUT(new_thread, PART(ALWAYS, MEMBER_STRUCT, row, thread) IN(copy) IN(if_absent)
    OUT(existed));
#undef S
#define S struct checkpoint_request
LAYOUT(checkpoint, IN(call) IN(is_held) PART(FLOW_IN, MEMBER_STRUCT, of, checkpoint_row)
    ROWS(FLOW_IN, channels, n_channels, channel) ROWS(FLOW_IN, writes, n_writes, write) IN(state)
    IN(values) IN(interrupts) IN(is_waiting));
#undef S
#define S struct item_request
LAYOUT(item, PART(ALWAYS, MEMBER_STRUCT, row, item_row) OUT(is_found));
#undef S
#define S struct assistant_request
LAYOUT(assistant, PART(ALWAYS, MEMBER_STRUCT, row, assistant_row) IN(if_absent));
#undef S
#define S struct cron_request
LAYOUT(cron, PART(ALWAYS, MEMBER_STRUCT, row, cron_row) IN(sets_end) IN(sets_enabled));
#undef S
#define S struct webhook_request
LAYOUT(webhook, IN(id) LINE(FLOW_IN, change, WEBHOOK_CHANGE_MAX) BOTH(version) IN(ms)
    IN(http_status) IN(reason));
#undef S
#define S struct publish_request
LAYOUT(published, ROWS(FLOW_IN, marks, n_marks, mark));
#undef S
#define S struct gateways_request
LAYOUT(gateways, ROWS(FLOW_IN, ids, n, text));
#undef S
#define S struct waiters_request
LAYOUT(waiters, IN(gateway) ROWS(FLOW_IN, list, n, worker));
#undef S
/* clang-format on */

static const struct layout *const ops[JOURNAL_OP_MAX] = {
    [JOURNAL_SUBMIT] = &submit,
    [JOURNAL_CANCEL] = &stop,
    [JOURNAL_ANSWER_QUESTION] = &reply,
    [JOURNAL_FEED] = &feed,
    [JOURNAL_LEASE] = &work,
    [JOURNAL_APPEND] = &append,
    [JOURNAL_HEARTBEAT] = &beat,
    [JOURNAL_FINISH] = &finish,
    [JOURNAL_RETURN] = &handed_back,
    [JOURNAL_LOSE] = &finish,
    [JOURNAL_COUNT] = &count,
    [JOURNAL_WORKERS] = &workers,
    [JOURNAL_AGENTS] = &agents,
    [JOURNAL_REPORT] = &report,
    [JOURNAL_CALL] = &call,
    [JOURNAL_TAKE] = &work,
    [JOURNAL_ANSWER_CALL] = &answer,
    [JOURNAL_THREAD_CREATE] = &new_thread,
    [JOURNAL_THREAD_PATCH] = &new_thread,
    [JOURNAL_THREAD_COPY] = &new_thread,
    [JOURNAL_CHECKPOINT_PUT] = &checkpoint,
    [JOURNAL_CHECKPOINT_WRITES] = &checkpoint,
    [JOURNAL_CHECKPOINT_STATE] = &checkpoint,
    [JOURNAL_CHECKPOINTS_HOLD] = &checkpoint,
    [JOURNAL_CHECKPOINTS_DELETE] = &checkpoint,
    [JOURNAL_ITEM_PUT] = &item,
    [JOURNAL_ITEM_DELETE] = &item,
    [JOURNAL_ITEM_TOUCH] = &item,
    [JOURNAL_ASSISTANT_CREATE] = &assistant,
    [JOURNAL_ASSISTANT_PATCH] = &assistant,
    [JOURNAL_ASSISTANT_CHOOSE] = &assistant,
    [JOURNAL_ASSISTANT_DELETE] = &assistant,
    [JOURNAL_CRON_CREATE] = &cron,
    [JOURNAL_CRON_PATCH] = &cron,
    [JOURNAL_CRON_DELETE] = &cron,
    [JOURNAL_CRON_SKIP] = &tick,
    [JOURNAL_WEBHOOK] = &webhook,
    [JOURNAL_MARK_PUBLISHED] = &published,
    [JOURNAL_GATEWAYS] = &gateways,
    [JOURNAL_WAITERS] = &waiters,
};

const struct layout *layout_of_header(void)
{
    return &header;
}

const struct layout *layout_of_op(enum journal_op op)
{
    return ops[op];
}
