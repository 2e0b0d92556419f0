/* Plays the same random operations on every backend (same.h tells the story).
 *
 *     store_same [--seed=N] [--seconds=N]
 *
 * Seeds from N on (1), until the time is over (3 seconds).  With STORE_TEST_URL in the
 * environment PostgreSQL is one of the backends (store/postgres/run). */
#define _GNU_SOURCE /* mkdtemp, MAP_ANONYMOUS */
#include "same.h"

#include "postgres_place.h"
#include "sim/disk.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum {
    LIVES = 5,
    TRANSACTIONS = 14,
    PARTIAL = '~',      /* an operation that only some backends offer */
    TOLD_BEFORE = 2500, /* so many bytes of the transcript are shown before what differs */
    OPEN_SECONDS = 60
};

/* --- the transcript ------------------------------------------------------------------ */

void say(struct player *p, const char *format, ...)
{
    struct same_world *w = p->world;
    size_t room = sizeof(w->text) - w->n;
    va_list args;

    va_start(args, format);
    int n = vsnprintf(w->text + w->n, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room) {
        (void)fprintf(stderr, "the transcript is full\n");
        abort();
    }
    w->n += (size_t)n;
}

void say_text(struct player *p, const char *name, struct str text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a: of a long text, that is all */

    if (str_absent(text)) {
        say(p, " %s=-", name);
        return;
    }
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * 1099511628211u;
    bool is_plain = text.n < 40;
    for (size_t i = 0; is_plain && i < text.n; i++)
        is_plain = (unsigned char)text.p[i] >= ' ';
    if (is_plain)
        say(p, " %s=\"%.*s\"", name, STR_ARG(text));
    else
        say(p, " %s=%zu bytes %016llx", name, text.n, (unsigned long long)hash);
}

void say_answer(struct player *p, int code)
{
    say(p, ": %s\n", code == 0 ? "ok" : error_name(code));
    if (code != 0 && code != ERR_REFUSED && code != ERR_NOT_FOUND)
        say(p, "  %s\n", p->err.text);
}

bool say_partial(struct player *p, bool is_offered)
{
    if (is_offered)
        say(p, "%c ", PARTIAL);
    return is_offered;
}

/* --- choices --------------------------------------------------------------------------- */

struct str some_text(struct player *p)
{
    static const char *const texts[] = {
        NULL, "", "words", "\xc3\xa4 \xf0\x9f\x9a\x80", "it's \"so\"\\", "a\tb\nc"
    };

    return str_of(texts[below(p, sizeof(texts) / sizeof(texts[0]))]);
}

struct str some_json(struct player *p)
{
    static const char *const texts[] = { "{}",
                                         "null",
                                         "{\"b\": 2.50, \"a\":[1, 1e3]}",
                                         "\"\\u0000 \xc3\xa4\"",
                                         "[\"it's\", \"\\\\\"]",
                                         "{\"a\":1,\"a\":2}" };

    return str_of(texts[below(p, sizeof(texts) / sizeof(texts[0]))]);
}

int64_t some_time(struct player *p)
{
    return one_in(p, 2) ? 0 : model(p)->now + (int64_t)below(p, 20000) - 5000;
}

struct same_job *some_job(struct player *p, bool open_only)
{
    size_t from = below(p, N_JOBS);

    for (size_t i = 0; i < N_JOBS; i++) {
        struct same_job *job = &model(p)->jobs[(from + i) % N_JOBS];

        if (job->is_there && !(open_only && job->is_final))
            return job;
    }
    return NULL;
}

struct same_thread *some_thread(struct player *p)
{
    size_t from = below(p, N_THREADS);

    for (size_t i = 0; i < N_THREADS; i++) {
        struct same_thread *thread = &model(p)->threads[(from + i) % N_THREADS];

        if (thread->is_there)
            return thread;
    }
    return NULL;
}

void play_one(struct player *p, const struct same_choice *list)
{
    unsigned all = 0;

    for (size_t i = 0; list[i].play != NULL; i++)
        all += list[i].weight;
    for (;;) {
        size_t roll = below(p, all), i = 0;

        for (; roll >= list[i].weight; i++)
            roll -= list[i].weight;
        if (list[i].play(p))
            break;
    }
    p->world->n_operations++;
}

void look_what_is_left(struct player *p)
{
    struct job_row row;
    struct thread_row thread;

    for (size_t i = 0; i < N_JOBS; i++) {
        struct same_job *job = &model(p)->jobs[i];

        job->is_there =
            job->is_there && store_job_get(p->s, str_of(job->id), &row, &p->err) == 0;
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        struct same_thread *t = &model(p)->threads[i];

        t->is_there =
            t->is_there && store_thread_get(p->s, str_of(t->id), &thread, &p->err) == 0;
    }
}

/* --- transactions ---------------------------------------------------------------------- */

static void play_write(struct player *p)
{
    if (!p->gathers && one_in(p, 3))
        play_one(p, one_in(p, 3) ? same_graph_reads : same_reads);
    else if (one_in(p, 4))
        play_one(p, same_graph_writes);
    else if (!p->gathers && one_in(p, 10))
        play_one(p, same_direct_writes);
    else
        play_one(p, same_writes);
}

/* Leaves it open. */
static void play_begin(struct player *p)
{
    size_t n = 1 + below(p, N_OPERATIONS - 1);

    p->gathers = one_in(p, 2);
    p->n_played = 0;
    p->s = p->writer;
    model(p)->now += (int64_t)below(p, 4000);
    say(p, "begin%s", p->gathers ? ", gathered" : "");
    say_answer(p, store_begin(p->writer, &p->err));
    for (; p->n_played < n; p->n_played++)
        play_write(p);
    if (p->gathers) {
        say(p, "flush");
        say_answer(p, store_flush(p->writer, &p->batch, &p->err));
    }
}

static void play_end(struct player *p)
{
    p->gathers = false;
    p->n_played = 0;
    if (one_in(p, 6)) {
        say(p, "rollback\n");
        store_rollback(p->writer);
        p->world->model = p->world->committed;
        return;
    }
    say(p, "commit");
    say_answer(p, store_commit(p->writer, &p->err));
    store_compact(p->writer);
    p->world->committed = p->world->model;
}

static void play_between(struct player *p)
{
    for (size_t n = below(p, 8); n > 0; n--) {
        p->s = one_in(p, 3) ? p->writer : p->reader;
        play_one(p, one_in(p, 3) ? same_graph_reads : same_reads);
    }
    p->s = p->writer;
    if (one_in(p, 4))
        play_one(p, same_tokens);
    p->world->committed = p->world->model; /* tokens are stored at once */
}

/* --- lives ------------------------------------------------------------------------------- */

struct side {
    const char *name;
    struct same_world *world; /* shared with the processes that play */
    struct disk *disk;        /* the memory store's; NULL: a store with a URL */
    char url[160];
};

static void on_committed(void *arg, struct disk_job *dirty)
{
    (void)arg, (void)dirty;
}

/* Whoever was killed may have its lock for a moment longer. */
static bool open_stores(struct player *p, const struct side *side)
{
    struct store_options o = { .url = side->url, .relaxed = true, .busy_ms = 1000 };
    time_t deadline = time(NULL) + OPEN_SECONDS;
    int code;

    if (side->disk != NULL) {
        p->writer = disk_open(side->disk, true);
        p->reader = disk_open(side->disk, false);
        return true;
    }
    while ((code = store_open(&o, &p->writer, &p->err)) != 0 && time(NULL) < deadline)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    if (code == 0)
        code = store_open_reader(&o, &p->reader, &p->err);
    if (code != 0)
        say(p, "%s cannot be opened: %s\n", side->name, p->err.text);
    return code == 0;
}

/* Returns whether it is to be killed, in a transaction. */
static bool live(struct player *p, const struct side *side)
{
    bool dies = one_in(p, 2);

    p->world = side->world;
    store_batch_init(&p->batch);
    if (!open_stores(p, side))
        return false;
    for (size_t n = 1 + below(p, TRANSACTIONS); n > 0; n--) {
        play_between(p);
        play_begin(p);
        play_end(p);
    }
    if (dies) {
        play_begin(p);
        say(p, "killed\n");
    }
    return dies;
}

static void close_stores(struct player *p)
{
    store_batch_done(&p->batch);
    store_close(p->reader);
    store_close(p->writer);
}

static void live_in_a_process(const struct side *side)
{
    static struct player p;
    pid_t child = fork();

    if (child == 0) {
        p = (struct player){ .world = side->world };
        if (live(&p, side))
            (void)raise(SIGKILL);
        close_stores(&p);
        _exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    bool is_well = WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL;
    if (child < 0 || !is_well) {
        p = (struct player){ .world = side->world };
        say(&p, "%s ended with status %x\n", side->name, (unsigned)status);
    }
}

static void live_here(const struct side *side)
{
    static struct player p;

    p = (struct player){ .world = side->world };
    (void)live(&p, side);
    close_stores(&p); /* which undoes what is not committed */
}

/* --- comparing -----------------------------------------------------------------------------
 */

/* The end of the operation that begins at @at: the next line that is not indented. */
static size_t end_of(const struct same_world *w, size_t at)
{
    while (at < w->n) {
        const char *newline = memchr(w->text + at, '\n', w->n - at);

        at = newline != NULL ? (size_t)(newline - w->text) + 1 : w->n;
        if (at < w->n && w->text[at] != ' ')
            break;
    }
    return at;
}

static size_t skip_partial(const struct same_world *w, size_t at, bool skips)
{
    while (skips && at < w->n && w->text[at] == PARTIAL)
        at = end_of(w, at);
    return at;
}

static void tell(const struct side *side, size_t from, size_t to)
{
    (void)printf("--- %s\n%.*s", side->name, (int)(to - from), side->world->text + from);
}

static bool is_same(const struct side *a, const struct side *b)
{
    bool skips = a->disk != NULL || b->disk != NULL;
    size_t i = 0, k = 0;

    for (;;) {
        i = skip_partial(a->world, i, skips);
        k = skip_partial(b->world, k, skips);
        size_t n = end_of(a->world, i) - i, m = end_of(b->world, k) - k;
        if (n == 0 && m == 0)
            return true;
        if (n != m || memcmp(a->world->text + i, b->world->text + k, n) != 0) {
            tell(a, i > TOLD_BEFORE ? i - TOLD_BEFORE : 0, i);
            tell(a, i, i + n);
            tell(b, k, k + m);
            return false;
        }
        i += n;
        k += m;
    }
}

/* --- a seed --------------------------------------------------------------------------------
 */

static void begin_side(struct side *side, uint64_t seed)
{
    struct same_world *w = side->world;

    w->chance = (struct chance){ seed };
    w->model = w->committed = (struct same_model){ .now = INT64_C(1700000000000) };
    w->n_operations = 0;
}

static bool play_seed(struct side *sides, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        begin_side(&sides[i], seed);
    for (int life = 0; life < LIVES; life++) {
        for (size_t i = 0; i < n; i++) {
            struct same_world *w = sides[i].world;

            w->n = 0;
            if (sides[i].disk != NULL)
                live_here(&sides[i]);
            else
                live_in_a_process(&sides[i]);
            w->model = w->committed;
        }
        for (size_t i = 1; i < n; i++)
            if (!is_same(&sides[i - 1], &sides[i])) {
                (void)printf("seed %llu: %s and %s give different answers in life %d\n",
                             (unsigned long long)seed, sides[i - 1].name, sides[i].name, life);
                return false;
            }
    }
    return true;
}

static bool play_in(const char *folder,
                    uint64_t seed,
                    struct same_world *const worlds[3],
                    unsigned *ret_n)
{
    struct side sides[3] = { { .name = "memory" },
                             { .name = "SQLite" },
                             { .name = "PostgreSQL" } };
    static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
    bool has_postgres = postgres_database() != NULL;
    char path[160];

    sides[0].disk = disk_new(on_committed, NULL);
    disk_set_lenient(sides[0].disk);
    (void)snprintf(sides[1].url, sizeof(sides[1].url), "%s/jobs.db", folder);
    bool is_good = !has_postgres || postgres_make_place(sides[2].url);
    for (size_t i = 0; i < 3; i++)
        sides[i].world = worlds[i];
    is_good = is_good && play_seed(sides, has_postgres ? 3 : 2, seed);
    *ret_n += worlds[0]->n_operations;
    disk_free(sides[0].disk);
    if (has_postgres)
        postgres_drop_place();
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", sides[1].url, ends[i]);
        (void)unlink(path); /* some are not there */
    }
    return is_good;
}

static uint64_t given(int argc, char **argv, const char *option, uint64_t otherwise)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], option, strlen(option)) == 0)
            return strtoull(argv[i] + strlen(option), NULL, 10);
    return otherwise;
}

int main(int argc, char **argv)
{
    uint64_t first = given(argc, argv, "--seed=", 1), seed = first;
    time_t end = time(NULL) + (time_t)given(argc, argv, "--seconds=", 3);
    char folder[] = "/dev/shm/store_same.XXXXXX";
    struct same_world *worlds[3];
    unsigned n = 0;
    bool is_good = mkdtemp(folder) != NULL;

    for (size_t i = 0; is_good && i < 3; i++) {
        worlds[i] = mmap(NULL, sizeof(*worlds[i]), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        is_good = worlds[i] != MAP_FAILED;
    }
    do
        is_good = is_good && play_in(folder, seed++, worlds, &n);
    while (is_good && time(NULL) < end);
    (void)rmdir(folder);
    (void)printf("%llu sequences from seed %llu on, %u operations on each of %d backends\n",
                 (unsigned long long)(seed - first), (unsigned long long)first, n,
                 postgres_database() != NULL ? 3 : 2);
    return is_good ? 0 : 1;
}
