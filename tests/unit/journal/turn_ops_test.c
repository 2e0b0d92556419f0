/* Every operation of the journal, alone in a turn and among a hundred others: the store is
 * called as often, and never in the middle of the turn. */
#include "turn_scene.h"

enum {
    EACH = 3,
    ALL = EACH * JOURNAL_OP_MAX,
    MOST_READS = 2, /* rows that lead to others take a second call */
    ATTEMPT_2 = 2
};

/* What the requests are about, made before they are counted. */
struct props {
    int64_t keys[JOURNAL_OP_MAX][EACH];  /* of jobs that their worker holds */
    int64_t ticks[JOURNAL_OP_MAX][EACH]; /* of crons */
};

static struct props props;

static bool has_worker(enum journal_op op)
{
    return op == JOURNAL_APPEND || op == JOURNAL_HEARTBEAT || op == JOURNAL_FINISH ||
           op == JOURNAL_RETURN || op == JOURNAL_LOSE || op == JOURNAL_CHECKPOINT_PUT ||
           op == JOURNAL_CHECKPOINT_WRITES || op == JOURNAL_CHECKPOINT_STATE ||
           op == JOURNAL_CHECKPOINTS_HOLD || op == JOURNAL_CHECKPOINTS_DELETE;
}

/* "append-", say: each operation has jobs, threads, items and assistants of its own. */
static const char *word_of(enum journal_op op)
{
    static char words[JOURNAL_OP_MAX][16];

    (void)snprintf(words[op], sizeof(words[op]), "op%d-", (int)op);
    return words[op];
}

/* --- before the turn ---------------------------------------------------------------------- */

static void take_events(enum journal_op op, size_t i, int64_t attempt, struct str events)
{
    struct journal_request req;

    of_worker(&req, JOURNAL_APPEND, word_of(op), i, props.keys[op][i]);
    req.lease.attempt = attempt;
    req.append = (struct append_request){ .bytes = events, .producer_seq = -1 };
    do_one(&req);
    done_all(&req, 1);
}

/* The job is in its second attempt, and has asked in the first: for the rows of its questions.
 */
static void lose_and_lease_again(enum journal_op op, size_t i)
{
    struct journal_request req;

    take_events(op, i, 1, STR(QUESTION));
    take_events(op, i, 1, STR("{\"type\":\"graph.resumed\"}\n"));
    of_worker(&req, JOURNAL_RETURN, word_of(op), i, props.keys[op][i]);
    do_one(&req);
    done_all(&req, 1);
    lease(&req);
    do_one(&req);
    assert_int_equal(req.row->attempt, ATTEMPT_2);
    done_all(&req, 1);
}

static void make_thread(enum journal_op op, size_t i)
{
    struct journal_request req;

    init(&req, JOURNAL_THREAD_CREATE);
    req.thread = name(&req, word_of(op), i);
    do_one(&req);
    done_all(&req, 1);
}

static void make_item(struct journal_request *req, enum journal_op op, size_t i)
{
    init(req, JOURNAL_ITEM_PUT);
    req->item.row = (struct item_row){
        .owner = STR(""), .ns = STR("n."), .key = name(req, word_of(op), i), .value = STR("1")
    };
}

static void make_assistant(struct journal_request *req, enum journal_op op, size_t i)
{
    init(req, JOURNAL_ASSISTANT_CREATE);
    req->assistant.row = (struct assistant_row){ .id = name(req, word_of(op), i),
                                                 .owner = STR(""),
                                                 .graph = STR("g"),
                                                 .name = STR("n"),
                                                 .config = STR("{}"),
                                                 .context = STR("{}"),
                                                 .metadata = STR("{}") };
}

static void make_cron(struct journal_request *req, enum journal_op op, size_t i)
{
    init(req, JOURNAL_CRON_CREATE);
    req->cron.row = (struct cron_row){ .id = name(req, word_of(op), i),
                                       .owner = STR(""),
                                       .assistant = STR("a"),
                                       .schedule = STR("* * * * *"),
                                       .payload = STR("{}"),
                                       .metadata = STR("{}"),
                                       .enabled = 1 };
}

static void do_made(void (*make)(struct journal_request *, enum journal_op, size_t),
                    enum journal_op op,
                    size_t i)
{
    struct journal_request req;

    make(&req, op, i);
    do_one(&req);
    done_all(&req, 1);
}

static void do_cron(enum journal_op op, size_t i)
{
    struct journal_request req;

    make_cron(&req, op, i);
    do_one(&req);
    props.ticks[op][i] = req.cron.row.next;
    done_all(&req, 1);
}

static void make_fed(struct journal_request *req, enum journal_op op, size_t i)
{
    static const struct journal_line line = { .text = STR(PROGRESS), .producer_seq = -1 };

    init(req, JOURNAL_FEED);
    req->job = name(req, word_of(op), i);
    req->feed.lines = &line;
    req->feed.n_lines = 1;
    req->feed.agent = STR("fed");
}

static void make_asking(enum journal_op op, size_t i)
{
    struct journal_request req;

    props.keys[op][i] = make_running(word_of(op), i, false);
    take_events(op, i, 1, STR(QUESTION));
    of_worker(&req, JOURNAL_FINISH, word_of(op), i, props.keys[op][i]);
    req.finish.interrupted = true;
    do_one(&req);
    done_all(&req, 1);
}

/* The run of a thread that is to end with a question. */
static void make_asking_run(enum journal_op op, size_t i)
{
    props.keys[op][i] = make_running(word_of(op), i, true);
    take_events(op, i, 1, STR(QUESTION));
}

static void make_queued_as(enum journal_op op, size_t i)
{
    struct journal_request req;

    submit(&req, word_of(op), i);
    do_one(&req);
    done_all(&req, 1);
}

static void make_ended_as(enum journal_op op, size_t i)
{
    struct journal_request req;

    of_worker(&req, JOURNAL_FINISH, word_of(op), i, make_running(word_of(op), i, false));
    do_one(&req);
    done_all(&req, 1);
}

static void pause_it(enum journal_op op, size_t i)
{
    struct journal_request req;

    of_job(&req, JOURNAL_PAUSE, word_of(op), i);
    do_one(&req);
    done_all(&req, 1);
}

/* Jobs that workers hold first: no other may be in the queue then. */
static void make_props_with_workers(enum journal_op op, size_t i)
{
    if (op == JOURNAL_FINISH)
        make_asking_run(op, i);
    else if (has_worker(op))
        props.keys[op][i] = make_running(word_of(op), i, false);
    else if (op == JOURNAL_ANSWER_QUESTION || op == JOURNAL_EXPIRE)
        make_asking(op, i);
    else if (op == JOURNAL_DELETE)
        make_ended_as(op, i);
    if (op == JOURNAL_APPEND)
        lose_and_lease_again(op, i);
}

/* A run with a webhook, which has ended. */
static void make_delivery(enum journal_op op, size_t i)
{
    struct journal_request req;

    submit_run(&req, word_of(op), i);
    req.submit.webhook = STR("http://x/");
    do_one(&req);
    done_all(&req, 1);
    of_job(&req, JOURNAL_CANCEL, word_of(op), i);
    do_one(&req);
    done_all(&req, 1);
}

static void make_props(enum journal_op op, size_t i)
{
    if (op == JOURNAL_LEASE || op == JOURNAL_CANCEL || op == JOURNAL_RELEASE ||
        op == JOURNAL_PAUSE || op == JOURNAL_RESUME || op == JOURNAL_RUN_READ)
        make_queued_as(op, i);
    if (op == JOURNAL_RESUME)
        pause_it(op, i);
    if (op == JOURNAL_FEED)
        do_made(make_fed, op, i);
    if (op == JOURNAL_THREAD_PATCH || op == JOURNAL_THREAD_COPY ||
        op == JOURNAL_THREAD_DELETE || op == JOURNAL_THREAD_THIN)
        make_thread(op, i);
    if (op == JOURNAL_ITEM_DELETE || op == JOURNAL_ITEM_TOUCH)
        do_made(make_item, op, i);
    if (op == JOURNAL_ASSISTANT_PATCH || op == JOURNAL_ASSISTANT_CHOOSE ||
        op == JOURNAL_ASSISTANT_DELETE)
        do_made(make_assistant, op, i);
    if (op == JOURNAL_CRON_PATCH || op == JOURNAL_CRON_DELETE || op == JOURNAL_CRON_SKIP)
        do_cron(op, i);
    if (op == JOURNAL_WEBHOOK)
        make_delivery(op, i);
}

/* What a lease gives is the oldest: those come first. */
static void make_all_props(size_t each)
{
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++)
        for (size_t i = 0; i < each; i++)
            make_props_with_workers(op, i);
    for (size_t i = 0; i < each; i++)
        make_props(JOURNAL_LEASE, i);
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++)
        for (size_t i = 0; op != JOURNAL_LEASE && i < each; i++)
            make_props(op, i);
}

/* --- the requests ------------------------------------------------------------------------- */

static void make_checkpoint(struct journal_request *req, enum journal_op op, size_t i)
{
    of_worker(req, op, word_of(op), i, props.keys[op][i]);
    req->thread = req->job; /* a job without a thread has its own id for one */
    req->checkpoint.of = (struct checkpoint_row){ .ns = STR(""),
                                                  .id = STR("1"),
                                                  .value = { STR("json"), STR("1") },
                                                  .metadata = STR("{}"),
                                                  .versions = STR("{}") };
    req->checkpoint.state = STR("{}");
}

static void make_workers_request(struct journal_request *req, enum journal_op op, size_t i)
{
    of_worker(req, op, word_of(op), i, props.keys[op][i]);
    if (op == JOURNAL_APPEND) {
        req->lease.attempt = ATTEMPT_2;
        req->append = (struct append_request){ .bytes = STR(QUESTION), .producer_seq = -1 };
    }
    if (op == JOURNAL_FINISH)
        req->finish.interrupted = true;
}

static void make_call(struct journal_request *req, enum journal_op op, size_t i)
{
    init(req, op);
    req->call.agent = only_agent;
    req->call.id = name(req, word_of(op), i);
    req->call.name = STR("n");
    req->call.params = STR("{}");
    req->call.wait_ms = 1000;
}

static void make_reply(struct journal_request *req, enum journal_op op, size_t i)
{
    static struct journal_reply reply[EACH];

    of_job(req, op, word_of(op), i);
    reply[i] = (struct journal_reply){ .value = STR("true") };
    req->reply.replies = &reply[i];
    req->reply.n_replies = 1;
}

static void make_of_thread(struct journal_request *req, enum journal_op op, size_t i)
{
    init(req, op);
    req->thread = name(req, word_of(op), i);
    req->new_thread.row.metadata = STR("{}");
    req->new_thread.copy = name(req, "copy-", i);
}

static void make_of_assistant(struct journal_request *req, enum journal_op op, size_t i)
{
    make_assistant(req, op, i);
    req->op = op;
    req->assistant.row.version = 1;
}

static void make_of_cron(struct journal_request *req, enum journal_op op, size_t i)
{
    struct str id;

    make_cron(req, op, i);
    req->op = op;
    id = req->cron.row.id;
    if (op == JOURNAL_CRON_SKIP)
        req->tick = (struct cron_tick){ .cron = id, .due = props.ticks[op][i] };
}

static void make(struct journal_request *req, enum journal_op op, size_t i)
{
    static const struct journal_mark mark = { .key = 1, .published = 1 };
    static struct journal_settings settings;

    if (op >= JOURNAL_CHECKPOINT_PUT && op <= JOURNAL_CHECKPOINTS_DELETE) {
        make_checkpoint(req, op, i);
    } else if (has_worker(op)) {
        make_workers_request(req, op, i);
    } else if (op >= JOURNAL_THREAD_CREATE && op <= JOURNAL_THREAD_THIN) {
        make_of_thread(req, op, i);
    } else if (op >= JOURNAL_ITEM_PUT && op <= JOURNAL_ITEM_TOUCH) {
        make_item(req, op, i);
        req->op = op;
    } else if (op >= JOURNAL_ASSISTANT_CREATE && op <= JOURNAL_ASSISTANT_DELETE) {
        make_of_assistant(req, op, i);
    } else if (op >= JOURNAL_CRON_CREATE && op <= JOURNAL_CRON_SKIP) {
        make_of_cron(req, op, i);
    } else if (op == JOURNAL_WEBHOOK) {
        init(req, op);
        req->webhook = (struct webhook_request){ .id = name(req, word_of(op), i) };
    } else if (op == JOURNAL_SUBMIT) {
        submit_run(req, word_of(op), i);
    } else if (op == JOURNAL_LEASE) {
        lease(req);
    } else if (op == JOURNAL_FEED) {
        make_fed(req, op, i);
    } else if (op == JOURNAL_ANSWER_QUESTION) {
        make_reply(req, op, i);
    } else if (op == JOURNAL_CALL) {
        make_call(req, op, i);
    } else {
        of_job(req, op, word_of(op), i);
    }
    settings = (struct journal_settings){ .agents = scene.agents, .n_agents = 2 };
    if (op == JOURNAL_SETTINGS)
        req->settings = &settings;
    if (op == JOURNAL_MARK_PUBLISHED)
        req->published = (struct publish_request){ .marks = &mark, .n_marks = 1 };
}

/* Has it to be granted?  Nobody has a call, and one that waits is not answered in its turn. */
static bool succeeds(enum journal_op op)
{
    return op != JOURNAL_ANSWER_CALL && op != JOURNAL_CALL && op != JOURNAL_TAKE;
}

static void expect_answer(const struct journal_request *req)
{
    if (!is_answered(req) && req->op != JOURNAL_CALL)
        fail_msg("op %d was put off", (int)req->op);
    if (req->code != 0 && succeeds(req->op))
        fail_msg("op %d: %s", (int)req->op, req->why.text);
}

static void expect_calls(size_t most_reads)
{
    assert_int_equal(scene.calls.begins, 1);
    assert_in_range(scene.calls.reads, 0, most_reads);
    assert_int_equal(scene.calls.flushes, 1);
    assert_int_equal(scene.calls.commits, 1);
    assert_int_equal(counter_get(&journal_counts(scene.journal)->missing_rows), 0);
}

/* Calls wait until it ends. */
static void end_journal(void)
{
    journal_free(scene.journal);
    scene.journal = NULL;
}

/* --- the tests ---------------------------------------------------------------------------- */

static void each_operation_alone_calls_the_store_at_its_beginning_and_end(void **state)
{
    static struct journal_request all[JOURNAL_OP_MAX];

    (void)state;
    make_all_props(1);
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++) {
        make(&all[op], op, 0);
        if (op == JOURNAL_CALL)
            continue; /* it waits: its turn answers nobody, which is when counting ends */
        begin_counting();
        run_turn(&all[op], 1);
        expect_calls(MOST_READS);
        expect_answer(&all[op]);
    }
    end_journal();
    done_all(all, JOURNAL_OP_MAX);
}

static void a_hundred_mixed_operations_call_it_as_often(void **state)
{
    static struct journal_request all[ALL];
    size_t n = 0;

    (void)state;
    make_all_props(EACH);
    for (size_t i = 0; i < EACH; i++)
        for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++)
            make(&all[n++], op, i);
    assert_true(n > 100);
    begin_counting();
    run_turn(all, n);
    expect_calls(MOST_READS);
    assert_int_equal(scene.calls.keys, 0);
    for (size_t i = 0; i < n; i++)
        expect_answer(&all[i]);
    end_journal();
    done_all(all, n);
}

/* Only the store knows when an item was made that was written before: who asks for it in the
 * same turn is put off, and so is what came after. */
static void what_a_turn_cannot_know_puts_off_the_rest(void **state)
{
    struct journal_request all[4];

    (void)state;
    do_made(make_item, JOURNAL_ITEM_PUT, 0);
    make_item(&all[0], JOURNAL_ITEM_PUT, 0);
    all[0].item.row.value = STR("2");
    make_item(&all[1], JOURNAL_ITEM_PUT, 0);
    all[1].op = JOURNAL_ITEM_TOUCH;
    make_item(&all[2], JOURNAL_ITEM_PUT, 0);
    all[2].op = JOURNAL_ITEM_DELETE;
    submit(&all[3], "j", 0);
    begin_counting();
    run_turn(all, 4);
    expect_calls(1);
    assert_true(is_answered(&all[0]));
    for (size_t i = 1; i < 4; i++)
        assert_false(is_answered(&all[i]));
    assert_int_equal(journal_next_ms(scene.journal), 0);
    begin_counting();
    run_turn(NULL, 0);
    expect_calls(1);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(is_answered(&all[i]) ? all[i].code : -1, 0);
    assert_true(all[1].item.is_found);
    assert_true(str_is(all[1].item.row.value, "2"));
    assert_true(journal_next_ms(scene.journal) > 0);
    done_all(all, 4);
}

#define VALUES(n) "{\"type\":\"values\",\"ns\":[],\"data\":{\"n\":" n "}}\n"

static void expect_values(const char *id, const char *values)
{
    struct thread_row row;
    struct error why;

    assert_int_equal(store_thread_get(scene.store, str_of(id), &row, &why), 0);
    assert_true(str_is(row.values, values));
}

/* A run that never was: its thread has the values of the run before it. */
static void a_rollback_needs_no_other_call(void **state)
{
    struct journal_request req;

    (void)state;
    props.keys[JOURNAL_APPEND][0] = make_running(word_of(JOURNAL_APPEND), 0, true);
    take_events(JOURNAL_APPEND, 0, 1, STR(VALUES("1")));
    of_worker(&req, JOURNAL_FINISH, word_of(JOURNAL_APPEND), 0, props.keys[JOURNAL_APPEND][0]);
    do_one(&req);
    done_all(&req, 1);
    props.keys[JOURNAL_CANCEL][0] = make_running(word_of(JOURNAL_CANCEL), 0, true);
    take_events(JOURNAL_CANCEL, 0, 1, STR(VALUES("2")));
    expect_values("thread-0", "{\"n\":2}");
    of_job(&req, JOURNAL_CANCEL, word_of(JOURNAL_CANCEL), 0);
    req.stop.rolls_back = true;
    do_one(&req);
    done_all(&req, 1);
    of_worker(&req, JOURNAL_FINISH, word_of(JOURNAL_CANCEL), 0, props.keys[JOURNAL_CANCEL][0]);
    begin_counting();
    run_turn(&req, 1);
    expect_calls(1);
    assert_int_equal(req.code, 0);
    expect_values("thread-0", "{\"n\":1}");
    done_all(&req, 1);
}

/* After a restart neither folds nor threads are in memory. */
static void a_run_takes_the_place_of_others_after_a_restart(void **state)
{
    struct journal_request req;

    (void)state;
    (void)make_running("run-", 0, true);
    journal_free(scene.journal);
    start_journal();
    submit_run(&req, "next-", 0);
    req.submit.run.strategy = STR("interrupt");
    begin_counting();
    run_turn(&req, 1);
    expect_calls(MOST_READS);
    assert_int_equal(req.code, 0);
    done_all(&req, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_operation_alone_calls_the_store_at_its_beginning_and_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hundred_mixed_operations_call_it_as_often, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_turn_cannot_know_puts_off_the_rest, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rollback_needs_no_other_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_takes_the_place_of_others_after_a_restart, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
