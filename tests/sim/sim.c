#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "model.h"

#include "ingest/agent.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- reports ---------------------------------------------------------------------- */

void sim_note(struct sim *s, const char *format, ...)
{
    char *note = s->notes[s->n_notes++ % N_NOTES];
    int n =
        snprintf(note, NOTE_BYTES, "%5u %8.3f  ", s->step, (double)(s->now % 100000000) / 1000);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(note + n, NOTE_BYTES - (size_t)n, format, args);
    va_end(args);
    if (s->verbose)
        puts(note);
}

_Noreturn void sim_fail(struct sim *s, const char *format, ...)
{
    unsigned first = s->n_notes > N_NOTES ? s->n_notes - N_NOTES : 0;
    va_list args;

    printf("seed %" PRIu64 " failed in step %u: ", s->seed, s->step);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n  again: sim%s --seed %" PRIu64 " (-v: all steps)\n  the last of them:\n",
           s->p.n_gateways > 0 ? " --gateways" : "", s->seed);
    for (unsigned i = first; i < s->n_notes && !s->verbose; i++)
        printf("    %s\n", s->notes[i % N_NOTES]);
    (void)fflush(stdout);
    _exit(1);
}

/* --- the day ---------------------------------------------------------------------- */

/* Few jobs, large events: windows overflow and a replay takes many pages. */
static void make_big(struct profile *p)
{
    p->n_agents = 1;
    if (p->n_workers > 2)
        p->n_workers = 2;
    if (p->n_steps > 1500)
        p->n_steps = 1500;
    p->submit_weight = 3;
    p->settle_weight = 2;
    p->crash_permille /= 3;
    p->silent_permille /= 3;
    p->fault_permille /= 3;
    p->expiry_s = p->expiry_s > 30 ? 30 : p->expiry_s; /* so that it overtakes some reader */
}

/* Few jobs, which have their turn again and again. */
static void make_curious(struct profile *p)
{
    p->n_agents = 1;
    p->submit_weight = 12;
    p->silent_permille /= 3;
    p->reuses_ids = false;
}

static void draw_profile(struct sim *s)
{
    struct chance *c = &s->chance;
    bool calm = chance_of(c, 150);

    s->p = (struct profile){
        .n_steps = (unsigned)chance_between(c, 600, 2500),
        .n_agents = (unsigned)chance_between(c, 1, MAX_AGENTS),
        .n_workers = (unsigned)chance_between(c, 1, MAX_WORKERS),
        .n_readers = (unsigned)chance_between(c, 0, MAX_READERS),
        .n_loops = (unsigned)chance_between(c, 1, MAX_LOOPS),
        .fault_permille = calm ? 0 : (unsigned)chance_below(c, 80),
        .read_fault_permille = calm || chance_of(c, 500) ? 0 : (unsigned)chance_below(c, 40),
        .crash_permille = calm ? 0 : (unsigned)chance_below(c, 10),
        .jump_permille = (unsigned)chance_below(c, 12),
        .clock_permille = chance_of(c, 500) ? 0 : (unsigned)chance_below(c, 15),
        .lost_permille = calm ? 0 : (unsigned)chance_below(c, 120),
        .silent_permille = (unsigned)chance_below(c, 25),
        .turn_weight = (unsigned)chance_between(c, 40, 300),
        .settle_weight = 15,
        .submit_weight = (unsigned)chance_between(c, 5, 60),
        .big = chance_of(c, 120),
        .page_bytes = chance_of(c, 500) ? 1000 * (size_t)chance_between(c, 1, 20) : 0,
        .curious = chance_of(c, 350),
        .pipelining = chance_of(c, 300),
        .reuses_ids = chance_of(c, 500),
        .has_owners = chance_of(c, 400),
        .expiry_s = chance_of(c, 250) ? chance_between(c, 5, 60) : 1000000,
        .history_ms = chance_of(c, 300) ? 0 : chance_between(c, 1000, 120000),
        .step_ms = chance_between(c, 1, 80),
    };
    if (s->p.reuses_ids && s->p.expiry_s > 60 && chance_of(c, 400))
        s->p.expiry_s = chance_between(c, 1, 30);
    static const enum hints hints[] = { HINTS_BARE, HINTS_HALF, HINTS_LOST };
    s->p.hints = s->seed % 8 < 3 ? hints[s->seed % 8] : HINTS_WITH_RECORDS;
    if (s->p.curious)
        make_curious(&s->p);
    if (s->p.big)
        make_big(&s->p);
}

/* Several gateways: the clock is the database's, and nobody sets it. */
static void make_gateways(struct sim *s)
{
    struct chance *c = &s->chance;

    s->p.n_gateways = (unsigned)chance_between(c, 2, MAX_GATEWAYS);
    s->p.clock_permille = 0;
    s->p.hints = HINTS_WITH_RECORDS;
    s->p.cut_permille = chance_of(c, 300) ? 0 : (unsigned)chance_below(c, 15);
    s->p.network_permille = (unsigned)chance_between(c, 150, 900);
    s->p.hint_permille = chance_of(c, 500) ? 0 : (unsigned)chance_below(c, 1001);
    s->p.freeze_permille = chance_of(c, 400) ? 0 : (unsigned)chance_below(c, 12);
    s->p.step_ms = chance_between(c, 10, 120);
}

struct server *sim_some_server(struct sim *s)
{
    if (s->p.n_gateways == 0)
        return s->server;
    struct server *g = &s->servers[chance_below(&s->chance, s->p.n_gateways)];
    while (!g->up)
        g = &s->servers[chance_below(&s->chance, s->p.n_gateways)];
    return g;
}

bool sim_is_same(const struct sim *s, const struct server *home, unsigned number)
{
    if (s->p.n_gateways == 0)
        return number == s->n_servers;
    return home->up && home->instance == number;
}

static void make_agents(struct sim *s)
{
    static const char *const names[MAX_AGENTS] = { "triage", "demo", "research" };
    struct chance *c = &s->chance;

    for (size_t i = 0; i < s->p.n_agents; i++) {
        struct journal_agent *a = &s->agents[i];

        if (agent_new(str_of(names[i]), &s->settings[i]) != 0)
            abort();
        *a = (struct journal_agent){ .name = str_of(names[i]),
                                     .settings = s->settings[i],
                                     .lease_ms = chance_between(c, 1000, 30000),
                                     .attempts = chance_between(c, 1, 4),
                                     .cancel_grace_ms = chance_between(c, 0, 8000) };
        if (chance_of(c, 300))
            a->queue_ms = chance_between(c, 1000, 60000);
        if (chance_of(c, 500))
            a->answer_ms = chance_between(c, 1000, 60000);
        if (chance_of(c, 300))
            a->run_ms = 1000 * chance_between(c, 5, 120);
        if (i > 0 && chance_of(c, 250))
            a->fed = FED_ALONE;
        else if (chance_of(c, 250))
            s->dead[s->n_dead++] = a->name;
    }
}

bool sim_is_dead(const struct sim *s, struct str agent)
{
    for (size_t i = 0; i < s->n_dead; i++)
        if (str_eq(s->dead[i], agent))
            return true;
    return false;
}

/* --- the clock --------------------------------------------------------------------- */

int64_t sim_stored_now(const struct sim *s)
{
    return s->now + s->server->base + disk_moved(s->disk);
}

void sim_set_clock(struct sim *s)
{
    enum { MINUTE = 60000, DAY = 24 * 60 * MINUTE };
    static const int64_t steps[] = { -10 * MINUTE, -30ll * DAY, DAY, -3 * MINUTE, 5000, -5000 };
    size_t i = chance_below(&s->chance, 8);
    int64_t by = i < 6 ? steps[i] : chance_between(&s->chance, 0, 4000) - 2000;

    s->skew += by;
    sim_note(s, "the clock is set by %" PRId64 " ms", by);
}

/* --- steps ------------------------------------------------------------------------ */

static void step_worker(struct sim *s)
{
    worker_step(s, chance_below(&s->chance, s->p.n_workers));
}

static void step_reader(struct sim *s)
{
    if (s->p.n_readers > 0)
        reader_step(s, chance_below(&s->chance, s->p.n_readers));
}

static void step_message(struct sim *s)
{
    struct server *server = sim_some_server(s);

    fake_mailbox_deliver(server->loops[chance_below(&s->chance, s->p.n_loops)].box);
}

static void step_task(struct sim *s)
{
    struct server *server = sim_some_server(s);
    size_t n = fake_pool_waiting(server->pool);

    if (n == 0)
        return;
    if (chance_of(&s->chance, s->p.read_fault_permille * 3)) {
        static const enum disk_op reads[] = { DISK_GET, DISK_RECORDS, DISK_RECORD };

        disk_fail(s->disk, false, reads[chance_below(&s->chance, 3)], 1);
    }
    fake_pool_run(server->pool, chance_below(&s->chance, n));
    disk_heal(s->disk);
}

static void step_time(struct sim *s)
{
    int64_t ms = chance_between(&s->chance, 0, s->p.step_ms);

    if (chance_of(&s->chance, s->p.jump_permille)) {
        ms = chance_between(&s->chance, 1000, 60000);
        sim_note(s, "time jumps by %" PRId64 " ms", ms);
    }
    server_pass_time(s, ms);
    if (chance_of(&s->chance, s->p.clock_permille))
        sim_set_clock(s);
}

static void step_turn(struct sim *s)
{
    if (s->p.n_gateways > 0)
        gateways_turn(s);
    else
        server_turn(s);
}

/* Retention comes, whoever is just reading. */
static void step_age(struct sim *s)
{
    if (s->p.expiry_s > 60)
        return;
    sim_note(s, "what has ended expires");
    server_pass_time(s, (s->p.expiry_s + 11) * 1000);
    step_turn(s);
}

void sim_clients_step(struct sim *s)
{
    void (*const steps[])(struct sim *) = { step_worker,   step_worker,   step_worker,
                                            client_submit, client_cancel, client_answer };

    steps[chance_below(&s->chance, sizeof(steps) / sizeof(steps[0]))](s);
}

static void one_step(struct sim *s)
{
    const struct {
        unsigned weight;
        void (*step)(struct sim *s);
    } steps[] = {
        { s->p.turn_weight, step_turn },
        { 260, step_worker },
        { 60, speaker_step },
        { 200, step_reader },
        { 120, step_message },
        { 120, step_task },
        { s->p.submit_weight, client_submit },
        { 12, client_cancel },
        { s->p.curious ? 40 : 25, client_answer },
        { 12, client_expire },
        { 8, client_pause },
        { s->p.reuses_ids ? 20 : 5, client_delete },
        { s->p.settle_weight, readers_settle },
        { s->p.big ? 4 : 1, step_age },
    };
    size_t total = 0, at;

    step_time(s);
    if (s->p.n_gateways > 0) {
        gateways_step(s);
    } else if (chance_of(&s->chance, s->p.crash_permille)) {
        server_crash(s);
        return;
    }
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        total += steps[i].weight;
    at = chance_below(&s->chance, total);
    for (size_t i = 0;; i++) {
        if (at < steps[i].weight) {
            steps[i].step(s);
            return;
        }
        at -= steps[i].weight;
    }
}

/* --- the end ---------------------------------------------------------------------- */

static bool all_final(const struct sim *s)
{
    for (const struct call *c = s->calls; c != NULL; c = c->next)
        if (!c->done)
            return false;
    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (t->gone == 0 && !truth_is_final(t))
            return false;
    return true;
}

/* Everything goes well from here on: everybody comes to an end. */
static void drain(struct sim *s)
{
    unsigned n = 0;

    s->draining = true;
    sim_note(s, "from here on all goes well");
    for (n = 0; !all_final(s) || !workers_idle(s); n++) {
        s->step++;
        if (n > 4000)
            sim_fail(s, "the jobs do not come to an end");
        server_pass_time(s, chance_between(&s->chance, 0, 500));
        for (size_t i = 0; i < MAX_WORKERS; i++)
            worker_step(s, i);
        speaker_step(s);
        if (n % 50 == 49)
            client_cancel_all(s);
        if (s->p.n_gateways > 0)
            gateways_settle(s);
        step_turn(s);
        /* With re-checks it takes seconds, and leases do not run out meanwhile. */
        if (n % 200 == 0 || !s->server->notifier.ops->may_lose)
            readers_settle(s);
    }
    for (n = 0; !readers_finished(s); n++)
        if (n > 20)
            sim_fail(s, "the readers do not come to an end");
    model_check_folds(s);
}

/* Time goes on, and retention takes everything. */
static void expire_all(struct sim *s)
{
    for (unsigned n = 0;; n++) {
        size_t left = 0;

        server_pass_time(s, 2000000000);
        if (s->p.n_gateways > 0)
            gateways_settle(s);
        step_turn(s);
        for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
            left += t->gone == 0;
        if (left == 0)
            return;
        if (n > 3000) {
            for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
                if (t->gone == 0)
                    sim_note(s, "%.*s is %.*s, %zu of %zu records are gone",
                             STR_ARG(t->job->row.id), STR_ARG(t->job->row.state),
                             t->job->n_expired, t->job->n);
            sim_fail(s, "%zu jobs never go", left);
        }
    }
}

/* Returns how many requests it had. */
static uint64_t run_seed(uint64_t seed, bool verbose, bool has_gateways)
{
    long before = fake_memory_blocks();
    struct sim *s = calloc(1, sizeof(*s));

    if (s == NULL)
        abort();
    s->server = &s->servers[0];
    s->seed = seed;
    s->verbose = verbose;
    s->chance.state = seed * 0x2545f4914f6cdd1du;
    s->now = 1771237800000;
    fake_clock_set(s->now);
    draw_profile(s);
    if (has_gateways)
        make_gateways(s);
    make_agents(s);
    s->model = model_new(s);
    s->disk = disk_new(model_committed, s->model);
    disk_set_expire_rows(s->disk, (size_t)chance_between(&s->chance, 20, 600));
    workers_init(s);
    speakers_init(s);
    readers_init(s);
    if (has_gateways)
        gateways_start(s);
    else
        server_start(s);
    for (s->step = 1; s->step <= s->p.n_steps; s->step++)
        one_step(s);
    s->model->n_questions = disk_questions(s->disk)->n;
    drain(s);
    expire_all(s);
    if (has_gateways)
        gateways_stop(s);
    else
        server_stop(s);
    workers_done(s);
    speakers_done(s);
    readers_done(s);
    calls_lose_all(s);
    while (s->calls != NULL)
        call_free(s->calls);
    if (verbose)
        printf("seed %" PRIu64 ": %" PRIu64 " commits, %" PRIu64 " batches, %" PRIu64
               " frames, %zu questions, %" PRIu64 " pushed records\n",
               seed, s->model->n_commits, s->model->n_batches, s->model->n_reads,
               s->model->n_questions, s->n_pushed);
    model_free(s->model);
    disk_free(s->disk);
    for (size_t i = 0; i < s->p.n_agents; i++)
        agent_free(s->settings[i]);
    long left = fake_memory_blocks() - before - 1;
    if (left != 0)
        sim_fail(s, "%ld blocks of memory were not given back", left);
    uint64_t n_posts = s->n_posts;
    free(s);
    return n_posts;
}

/* --- seeds ------------------------------------------------------------------------ */

/* Requests of all seeds so far, counted across their processes. */
static uint64_t *new_counter(void)
{
    void *p =
        mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort();
    return p;
}

/* In a process of its own, so that a crash of one seed is only its own. */
static bool seed_passes(uint64_t seed, bool has_gateways, uint64_t *n_requests)
{
    int status;

    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        *n_requests += run_seed(seed, false, has_gateways);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child)
        abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
        printf("seed %" PRIu64 " died (%s %d)\n  again: sim --seed %" PRIu64 "\n", seed,
               WIFEXITED(status) ? "exit" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), seed);
    return false;
}

/* Until @last, or for @seconds when that is not 0. */
static int run_seeds(uint64_t first, uint64_t last, time_t seconds, bool has_gateways)
{
    unsigned passed = 0, failed = 0;
    uint64_t *n_requests = new_counter();
    time_t end = time(NULL) + seconds; /* the real one: only clock_gettime is played */

    for (uint64_t seed = first; seed <= last && (seconds == 0 || time(NULL) < end); seed++) {
        if (seed_passes(seed, has_gateways, n_requests))
            passed++;
        else
            failed++;
    }
    printf("%u sequences from seed %" PRIu64 ", %" PRIu64 " requests\n", passed + failed, first,
           *n_requests);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last = 200;
    bool has_gateways = argc > 1 && strcmp(argv[1], "--gateways") == 0;
    int at = has_gateways ? 2 : 1;
    const char *what = argc > at + 1 ? argv[at] : "",
               *value = argc > at + 1 ? argv[at + 1] : "";
    bool verbose = argc > at + 2 && strcmp(argv[at + 2], "-v") == 0;

    if (strcmp(what, "--seed") == 0) {
        (void)run_seed(strtoull(value, NULL, 10), verbose, has_gateways);
        printf("seed %s passed\n", value);
        return 0;
    }
    if (strcmp(what, "--seeds") == 0 &&
        sscanf(value, "%" SCNu64 "..%" SCNu64, &first, &last) == 2)
        return run_seeds(first, last, 0, has_gateways);
    if (strcmp(what, "--seconds") == 0)
        return run_seeds((uint64_t)time(NULL) * 100000, UINT64_MAX,
                         (time_t)strtoll(value, NULL, 10), has_gateways);
    fprintf(stderr, "usage: sim [--gateways] --seed N [-v] | --seeds A..B | --seconds N\n");
    return 2;
}
