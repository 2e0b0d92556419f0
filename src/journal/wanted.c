/* See wanted.h. */
#include "journal/active_job.h"
#include "store/rows.h"

#include <stdlib.h>

void wanted_done(struct wanted *all)
{
    free(all->list);
}

void wanted_clear(struct wanted *all)
{
    all->n = all->n_read = 0;
    all->is_checking = false;
    all->error = 0;
    memset(all->n_new, 0, sizeof(all->n_new));
}

static void want(struct journal *j, const struct store_want *w)
{
    struct wanted *all = &j->wanted;

    if (all->n == all->cap) {
        size_t cap = all->cap > 0 ? all->cap * 2 : 64;
        struct store_want *wants = realloc(all->list, cap * sizeof(*wants));

        if (wants == NULL) {
            all->error = ERR_NOMEM;
            return;
        }
        all->list = wants;
        all->cap = cap;
    }
    all->list[all->n++] = *w;
}

/* Is it known, or already wanted? */
static bool is_known(struct journal *j, struct key k)
{
    bool is_there = table_get(&j->known.rows, k) != NULL;

    j->wanted.is_missing |= !is_there;
    return is_there || j->wanted.is_checking;
}

/* Adds a want for a row that is not known, and returns its entry; NULL: not known, and nothing
 * was added. */
static void *want_new(struct journal *j, struct key k, size_t size, struct store_want w)
{
    if (is_known(j, k))
        return table_get(&j->known.rows, k);
    w.place = known_add(j, k, size);
    if (w.place == NULL)
        j->wanted.error = ERR_NOMEM;
    else
        want(j, &w);
    return w.place;
}

void want_more(struct journal *j)
{
    j->wanted.has_more = true;
}

static const struct job_row *row_of(const struct known_job *job)
{
    return job != NULL && job->is_there ? &job->row : NULL;
}

const struct job_row *want_job(struct journal *j, struct str id)
{
    return row_of(want_new(j, known_text_key(j, KNOWN_JOB, id), sizeof(struct known_job),
                           (struct store_want){ .kind = WANT_JOB, .text = id }));
}

const struct job_row *want_idempotency(struct journal *j, struct str key)
{
    return row_of(
        want_new(j, known_text_key(j, KNOWN_IDEMPOTENCY, key), sizeof(struct known_job),
                 (struct store_want){ .kind = WANT_JOB_BY_IDEMPOTENCY, .text = key }));
}

void want_run(struct journal *j, int64_t job)
{
    (void)want_new(j, known_key(KNOWN_RUN, job), sizeof(struct known_run_row),
                   (struct store_want){ .kind = WANT_RUN, .key = job });
}

void want_owner(struct journal *j, struct str owner)
{
    if (j->opt.n_shards > 1 && !str_absent(owner))
        (void)want_new(j, known_text_key(j, KNOWN_OWNER, owner), sizeof(struct owner_counts),
                       (struct store_want){ .kind = WANT_OWNER, .text = owner });
}

void want_questions(struct journal *j, int64_t job)
{
    (void)want_new(j, known_key(KNOWN_QUESTIONS, job), sizeof(struct known_questions),
                   (struct store_want){ .kind = WANT_QUESTIONS, .key = job });
}

void want_no_questions(struct journal *j, int64_t job)
{
    struct key k = known_key(KNOWN_QUESTIONS, job);

    if (table_get(&j->known.rows, k) == NULL &&
        known_add(j, k, sizeof(struct known_questions)) == NULL)
        j->wanted.error = ERR_NOMEM;
}

static struct known_thread *want_known_thread(struct journal *j, struct str id)
{
    return want_new(j, known_text_key(j, KNOWN_THREAD, id), sizeof(struct known_thread),
                    (struct store_want){ .kind = WANT_THREAD, .text = id });
}

const struct thread_row *want_thread(struct journal *j, struct str id)
{
    const struct known_thread *t = want_known_thread(j, id);

    return t != NULL && t->is_there ? &t->row : NULL;
}

void want_thread_jobs(struct journal *j, struct str id)
{
    struct known_thread *t = want_known_thread(j, id);

    if (t == NULL || t->has_jobs)
        return;
    if (j->wanted.is_checking) {
        j->wanted.is_missing = true;
        return;
    }
    t->has_jobs = true;
    want(j, &(struct store_want){ .kind = WANT_THREAD_JOBS, .text = id, .place = t });
}

void want_expired_threads(struct journal *j)
{
    if (j->wanted.n_read > 0) /* they are known already */
        return;
    want(j, &(struct store_want){ .kind = WANT_THREADS_EXPIRED, .key = j->now });
    want_more(j); /* again, for their runs that have not ended */
}

/* The row that is found is stored in @place itself. */
static bool want_into(struct journal *j, struct key k, struct store_want w)
{
    if (is_known(j, k))
        return false;
    if (table_put(&j->known.rows, k, w.place) != 0)
        j->wanted.error = ERR_NOMEM;
    else
        want(j, &w);
    return true;
}

void want_thread_of(struct active_job *job)
{
    if (job->thread == NULL || job->thread->has_row ||
        known_find_thread(job->journal, job->row.thread) != NULL)
        return;
    (void)want_into(job->journal, known_key(KNOWN_THREAD_OF, job->row.thread),
                    (struct store_want){ .kind = WANT_THREAD_BY_KEY,
                                         .key = job->row.thread,
                                         .place = job->thread });
}

void want_state(struct active_job *job)
{
    struct thread_row row;

    want_thread_of(job);
    if (job->thread == NULL || known_thread_row(job->journal, job->row.thread, &row) != 0)
        want_more(job->journal); /* collect again when its id is known */
    else
        (void)want_new(job->journal, known_text_key(job->journal, KNOWN_STATE, row.id),
                       sizeof(struct known_text),
                       (struct store_want){ .kind = WANT_STATE, .text = row.id });
}

void want_values(struct active_job *job)
{
    struct journal *j = job->journal;
    struct key k = known_key(KNOWN_VALUES, job->row.key);
    const struct known_text *v = want_new(j, k, sizeof(*v),
                                          (struct store_want){ .kind = WANT_VALUES_BEFORE,
                                                               .key = job->row.thread,
                                                               .number = job->row.ordinal });

    if (v != NULL && v->key != 0 && known_is_gone(j, v->job, v->key)) {
        known_forget(j, k);
        j->wanted.is_missing = true;
    }
}

void want_fold(struct active_job *job)
{
    struct journal *j = job->journal;
    struct key k = known_key(KNOWN_FOLD, job->row.key);

    if (job->fold != NULL || job->row.seq == 0 || job->stale || is_known(j, k))
        return;
    struct rebuild *r = rebuild_begin(job);
    if (r == NULL || table_put(&j->known.rows, k, r) != 0)
        j->wanted.error = ERR_NOMEM;
    if (r != NULL)
        want(j, &(struct store_want){ .kind = WANT_RECORDS, .key = job->row.key, .place = r });
}

void want_item(struct journal *j, const struct item_row *row)
{
    struct key k = known_item_key(j, row);

    if (is_known(j, k))
        return;
    struct known_item *item = known_add(j, k, sizeof(*item));
    if (item == NULL) {
        j->wanted.error = ERR_NOMEM;
        return;
    }
    item->row = *row;
    want(j, &(struct store_want){
                .kind = WANT_ITEM, .item = &item->row, .key = j->now, .place = item });
}

void want_assistant(struct journal *j, struct str id)
{
    (void)want_new(j, known_text_key(j, KNOWN_ASSISTANT, id), sizeof(struct known_assistant),
                   (struct store_want){ .kind = WANT_ASSISTANT, .text = id });
}

void want_assistant_version(struct journal *j, struct str id, int64_t version)
{
    (void)want_new(
        j, known_version_key(j, id, version), sizeof(struct known_assistant),
        (struct store_want){ .kind = WANT_ASSISTANT_VERSION, .text = id, .number = version });
}

void want_cron(struct journal *j, struct str id)
{
    (void)want_new(j, known_text_key(j, KNOWN_CRON, id), sizeof(struct known_cron),
                   (struct store_want){ .kind = WANT_CRON, .text = id });
}

void want_webhook(struct journal *j, struct str id)
{
    (void)want_new(j, known_text_key(j, KNOWN_WEBHOOK, id), sizeof(struct known_webhook),
                   (struct store_want){ .kind = WANT_WEBHOOK, .text = id });
}

void want_key(struct journal *j, enum store_keys kind)
{
    if (j->wanted.n_read == 0 && !j->wanted.is_checking)
        j->wanted.n_new[kind]++;
}

/* --- reading before the turn -------------------------------------------------- */

static int keep_job(struct journal *j, struct known_job *to, const struct job_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &job_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int keep_run(struct journal *j, struct known_run_row *to, const struct run_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &run_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int add_thread_job(struct arena *mem, struct known_run **list, const struct job_row *row)
{
    struct known_run *run = arena_alloc(mem, sizeof(*run));

    if (run == NULL || !arena_copy(mem, row->id, &run->id))
        return ERR_NOMEM;
    run->key = row->key;
    run->next = *list; /* they are read newest first */
    *list = run;
    return 0;
}

/* An expired thread, or one of its jobs. */
static int keep_expired(struct journal *j, const struct store_found *found)
{
    struct known *k = &j->known;
    struct key key = known_text_key(j, KNOWN_THREAD, found->thread->id);
    struct known_thread *t = table_get(&k->rows, key);

    if (found->job != NULL)
        return t->takes_jobs ? add_thread_job(&j->mem, &t->jobs, found->job) : 0;
    if (t == NULL)
        t = known_add(j, key, sizeof(*t));
    if (t == NULL)
        return ERR_NOMEM;
    t->takes_jobs = !t->has_jobs;
    t->has_jobs = true;
    t->next_expired = k->expired;
    k->expired = t;
    return known_put_thread(j, t, found->thread);
}

static int keep_text(struct journal *j, struct known_text *to, const struct store_found *found)
{
    if (found->job != NULL)
        to->key = found->job->key;
    return arena_copy(&j->mem, found->stored, &to->text) &&
                   (found->job == NULL || arena_copy(&j->mem, found->job->id, &to->job))
               ? 0
               : ERR_NOMEM;
}

/* Owner, namespace and key are those of the request. */
static int keep_item(struct journal *j, struct known_item *to, const struct item_row *row)
{
    to->row.created = row->created;
    to->row.updated = row->updated;
    to->is_there = arena_copy(&j->mem, row->value, &to->row.value);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int keep_assistant(struct journal *j,
                          struct known_assistant *to,
                          const struct assistant_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &assistant_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int keep_cron(struct journal *j, struct known_cron *to, const struct cron_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &cron_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int keep_webhook(struct journal *j,
                        struct known_webhook *to,
                        const struct webhook_row *row)
{
    to->row = *row;
    to->row.run = to->row.values = STR_NONE;
    to->is_there = row_copy(&j->mem, &webhook_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

static int on_found(void *arg, const struct store_want *w, const struct store_found *found)
{
    struct journal *j = arg;

    switch (w->kind) {
    case WANT_JOB:
    case WANT_JOB_BY_IDEMPOTENCY:
        return keep_job(j, w->place, found->job);
    case WANT_RUN:
        return keep_run(j, w->place, found->run);
    case WANT_OWNER:
        *(struct owner_counts *)w->place = *found->owner;
        return 0;
    case WANT_QUESTIONS:
        return known_add_question(j, w->place, found->question);
    case WANT_RECORDS:
        return rebuild_record(w->place, found->seq, found->stored);
    case WANT_THREAD:
        return known_put_thread(j, w->place, found->thread);
    case WANT_THREAD_BY_KEY:
        return thread_keep_row(w->place, found->thread);
    case WANT_THREAD_JOBS: {
        struct known_thread *t = w->place;

        return add_thread_job(&j->mem, &t->jobs, found->job);
    }
    case WANT_THREADS_EXPIRED:
        return keep_expired(j, found);
    case WANT_VALUES_BEFORE:
    case WANT_STATE:
        return keep_text(j, w->place, found);
    case WANT_ITEM:
        return keep_item(j, w->place, found->item);
    case WANT_ASSISTANT:
    case WANT_ASSISTANT_VERSION:
        return keep_assistant(j, w->place, found->assistant);
    case WANT_CRON:
        return keep_cron(j, w->place, found->cron);
    case WANT_WEBHOOK:
        return keep_webhook(j, w->place, found->webhook);
    }
    return 0;
}

/* Reads the rows that were wanted since the last call. */
static int read_wants(struct journal *j)
{
    struct wanted *all = &j->wanted;
    int err = all->error;

    if (err == 0)
        err = store_read(j->opt.store, all->list + all->n_read, all->n - all->n_read, on_found,
                         j, &j->failure);
    for (; all->n_read < all->n; all->n_read++)
        if (all->list[all->n_read].kind == WANT_RECORDS)
            rebuild_end(all->list[all->n_read].place, err == 0);
    breadcrumb_set(&j->opt.breadcrumb, 0);
    return err;
}

int wanted_read(struct journal *j, const struct journal_request *list)
{
    struct wanted *all = &j->wanted;
    int err = 0;

    do {
        all->has_more = false;
        wants_collect(j, list);
        if (all->n == all->n_read)
            break;
        err = read_wants(j);
    } while (err == 0 && all->has_more);
    if (err == 0)
        err = all->error;
    if (err == ERR_NOMEM)
        (void)error_set(&j->failure, ERR_NOMEM, "out of memory");
    return err == 0 ? gather_take_keys(j) : err;
}

void wanted_check_begin(struct journal *j)
{
    j->wanted.is_checking = true;
    j->wanted.is_missing = false;
}

bool wanted_check_end(struct journal *j)
{
    j->wanted.is_checking = false;
    return !j->wanted.is_missing;
}

void wanted_end_turn(struct journal *j)
{
    const struct wanted *all = &j->wanted;

    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].kind == WANT_RECORDS)
            rebuild_done(all->list[i].place);
}
