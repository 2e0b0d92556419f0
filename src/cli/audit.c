#include "cli/audit.h"

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/table.h"
#include "dialect/dialect.h"
#include "ingest/fold.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPACE_HEAD = 1, SPACE_OPEN };

struct audit {
    struct audit_job job; /* texts in `names` */
    struct buf names;
    audit_cb tell;
    void *arg;
    struct json_reader reader, inner;
    struct agent *agent;
    struct fold *fold; /* NULL: not rebuilt, or given up after an error */
    struct frames frames;
    struct buf again;     /* a record, encoded anew */
    struct table headers; /* by seq, and by run when records stand alone -> struct record */
    struct record **kept; /* refs; all of those */
    size_t n_kept, cap_kept;
    struct table open; /* runs -> the record that began them */
    uint64_t last;     /* record that came */
    uint64_t n_ends, end_seq;
    char end_status[24];
    int err;
};

static void told(struct audit *a, uint64_t seq, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void told(struct audit *a, uint64_t seq, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    va_end(args);
    a->tell(a->arg, seq, text);
}

/* --- life -----------------------------------------------------------------------------------
 */

static int on_emit(void *arg, const struct record *rec)
{
    (void)arg, (void)rec;
    return 0;
}

static bool is_whole(const struct audit *a)
{
    return a->job.first_seq == 1;
}

static int start_fold(struct audit *a)
{
    struct fold_options options = {
        .job = a->job.id, .agent = a->agent, .attempt = 1, .emit = on_emit
    };

    return is_whole(a) ? fold_new(&options, &a->fold) : 0;
}

int audit_new(const struct audit_job *job, audit_cb tell, void *arg, struct audit **ret)
{
    struct audit *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return ERR_NOMEM;
    *a = (struct audit){ .job = *job, .tell = tell, .arg = arg };
    json_reader_init(&a->reader, SIZE_MAX / 64, 256);
    json_reader_init(&a->inner, SIZE_MAX / 64, 512);
    frames_init(&a->frames, SIZE_MAX / 4);
    buf_init(&a->again, SIZE_MAX / 4);
    buf_init(&a->names, 64 * 1024);
    table_init(&a->headers);
    table_init(&a->open);
    buf_str(&a->names, job->id);
    buf_str(&a->names, job->state);
    int err = a->names.error != 0 ? a->names.error : agent_new(job->agent, &a->agent);
    a->job.id = str_head(buf_text(&a->names), job->id.n);
    a->job.state = str_skip(buf_text(&a->names), job->id.n);
    a->last = job->first_seq > 0 ? job->first_seq - 1 : 0;
    if (err == 0)
        err = start_fold(a);
    if (err != 0) {
        audit_free(a);
        return err;
    }
    *ret = a;
    return 0;
}

void audit_free(struct audit *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->n_kept; i++)
        record_unref(a->kept[i]);
    free(a->kept);
    table_done(&a->headers);
    table_done(&a->open);
    fold_free(a->fold);
    agent_free(a->agent);
    frames_done(&a->frames);
    buf_done(&a->again);
    buf_done(&a->names);
    json_reader_done(&a->reader);
    json_reader_done(&a->inner);
    free(a);
}

/* --- heads ----------------------------------------------------------------------------------
 */

static struct key header_key(uint64_t seq)
{
    return (struct key){ seq, SPACE_HEAD };
}

static bool begins_run(enum record_kind kind)
{
    return kind == REC_RUN_START || kind == REC_NODE_START || kind == REC_LLM_START ||
           kind == REC_TOOL_START || kind == REC_RETRIEVER_START;
}

static bool ends_run(enum record_kind kind)
{
    return kind == REC_RUN_END || kind == REC_NODE_END || kind == REC_LLM_END ||
           kind == REC_TOOL_END || kind == REC_RETRIEVER_END;
}

/* Keeps a header: later records may name it. */
static void keep_header(struct audit *a, const struct record *rec)
{
    struct record *copy = NULL;

    if (!array_grow(&a->kept, a->n_kept, &a->cap_kept, sizeof(struct record *))) {
        a->err = ERR_NOMEM;
        return;
    }
    a->err = record_new(rec, &copy);
    if (a->err != 0)
        return;
    a->kept[a->n_kept++] = copy;
    a->err = table_put(&a->headers, header_key(rec->seq), copy);
    if (a->err == 0 && a->job.alone && rec->info.run.n > 0)
        a->err =
            table_put(&a->headers, table_key(&a->headers, SPACE_HEAD, rec->info.run), copy);
}

/* Gives a self-contained record the header that it has in the store. */
static void find_own_header(struct audit *a, struct record *rec)
{
    struct record *header;

    if (rec->info.run.n == 0 || begins_run(rec->kind) || rec->kind == REC_RUN_INFO)
        return;
    header = table_get(&a->headers, table_key(&a->headers, SPACE_HEAD, rec->info.run));
    if (header == NULL || !str_eq(header->info.section, rec->info.section) ||
        !str_eq(header->info.exec, rec->info.exec))
        return;
    rec->header_seq = header->seq;
    rec->header = header;
}

static void find_header(struct audit *a, struct record *rec)
{
    if (a->job.alone)
        find_own_header(a, rec);
    else if (rec->header_seq != 0) {
        rec->header = table_get(&a->headers, header_key(rec->header_seq));
        if (rec->header == NULL && is_whole(a))
            told(a, rec->seq, "it names record %llu as its header, which is not one",
                 (unsigned long long)rec->header_seq);
    }
    if (rec->header_seq == 0)
        keep_header(a, rec);
}

/* --- the checks -----------------------------------------------------------------------------
 */

static void check_runs(struct audit *a, const struct record *rec)
{
    struct str run = record_info(rec)->run;
    struct key key = table_key(&a->open, SPACE_OPEN, run);

    if (!is_whole(a) || run.n == 0)
        return;
    if (begins_run(rec->kind)) {
        if (table_get(&a->open, key) != NULL)
            told(a, rec->seq, "the run %.*s begins again before it has ended", STR_ARG(run));
        if (a->n_kept > 0)
            a->err = table_put(&a->open, key, a->kept[a->n_kept - 1]);
    } else if (ends_run(rec->kind)) {
        if (table_get(&a->open, key) == NULL)
            told(a, rec->seq, "the run %.*s ends, and is not open", STR_ARG(run));
        table_remove(&a->open, key);
    }
}

static void check_ending(struct audit *a, const struct record *rec)
{
    if (a->n_ends > 0 && rec->seq > a->end_seq)
        told(a, rec->seq, "it comes after the job's end, which is record %llu",
             (unsigned long long)a->end_seq);
    if (rec->seq == 1 && rec->kind != REC_JOB_START)
        told(a, 1, "the first record is %s and not job.start", record_kind_name(rec->kind));
    if (rec->kind != REC_JOB_END)
        return;
    if (a->n_ends++ == 0) {
        a->end_seq = rec->seq;
        (void)snprintf(a->end_status, sizeof(a->end_status), "%.*s", STR_ARG(rec->status));
    }
}

/* It must be byte for byte what we write: it was not edited by hand. */
static void check_form(struct audit *a, const struct record *rec, struct str stored)
{
    if (a->job.alone)
        return;
    buf_clear(&a->again);
    record_encode(rec, &a->again);
    if (a->again.error != 0)
        a->err = a->again.error;
    else if (!str_eq(buf_text(&a->again), stored))
        told(a, rec->seq, "it is not as it was written");
}

static void check_fold(struct audit *a, const struct record *rec)
{
    if (a->fold == NULL)
        return;
    int err = fold_replay(a->fold, rec);
    if (err == ERR_NOMEM)
        a->err = err;
    if (err == 0)
        return;
    told(a, rec->seq, "the fold cannot take it: %s", error_name(err));
    fold_free(a->fold);
    a->fold = NULL;
}

static void check_dialects(struct audit *a, const struct record *rec)
{
    static const struct variant variant = { .modes = UINT32_MAX, .subgraphs = true };
    const struct dialect *d;
    struct json json;

    for (size_t i = 0; a->err == 0 && (d = dialect_at(i)) != NULL; i++) {
        int err = dialect_render(d, rec, &variant, &a->frames);

        if (err != 0)
            told(a, rec->seq, "%s cannot say it: %s", d->name, error_name(err));
        for (size_t k = 0; err == 0 && k < a->frames.n; k++)
            if (json_read(&a->inner, frame_data(&a->frames, &a->frames.frame[k]), &json,
                          NULL) != 0)
                told(a, rec->seq, "what %s says of it is not JSON", d->name);
    }
}

/* --- records --------------------------------------------------------------------------------
 */

static void check_number(struct audit *a, uint64_t seq)
{
    if (seq > a->last + 1) {
        if (seq == a->last + 2)
            told(a, seq - 1, "it is missing");
        else
            told(a, a->last + 1, "it and all up to %llu are missing",
                 (unsigned long long)seq - 1);
        fold_free(a->fold); /* it would refuse all records that follow */
        a->fold = NULL;
    } else if (seq <= a->last) {
        told(a, seq, "it is there twice");
    }
    a->last = seq;
}

int audit_take(struct audit *a, uint64_t seq, struct str stored)
{
    struct record rec;
    struct error why;

    if (a->job.first_seq == 0) {
        a->job.first_seq = seq;
        a->last = seq - 1;
    }
    check_number(a, seq);
    int err = record_decode(&a->reader, stored, &rec, &why);
    if (err == ERR_NOMEM)
        return err;
    if (err != 0 || rec.seq != seq) {
        if (err != 0)
            told(a, seq, "it cannot be read: %s", why.text);
        else
            told(a, seq, "it says that it is %llu", (unsigned long long)rec.seq);
        fold_free(a->fold);
        a->fold = NULL;
        return 0;
    }
    check_form(a, &rec, stored);
    find_header(a, &rec);
    if (a->err == 0)
        check_runs(a, &rec);
    check_ending(a, &rec);
    check_fold(a, &rec);
    check_dialects(a, &rec);
    return a->err;
}

/* --- the end --------------------------------------------------------------------------------
 */

static bool is_final(struct str state)
{
    return str_is(state, "succeeded") || str_is(state, "failed") || str_is(state, "cancelled");
}

static void compare_fold(struct audit *a)
{
    static const char *const ends[] = { [JOB_END_NONE] = "has not ended",
                                        [JOB_END_SUCCEEDED] = "succeeded",
                                        [JOB_END_FAILED] = "failed",
                                        [JOB_END_CANCELLED] = "cancelled" };
    struct fold_stats stats;
    struct fold_end end;

    fold_stats(a->fold, &stats);
    if (fold_seq(a->fold) != a->last)
        told(a, 0, "the rebuilt fold is at record %llu and not at %llu",
             (unsigned long long)fold_seq(a->fold), (unsigned long long)a->last);
    if (fold_ended(a->fold) != is_final(a->job.state))
        told(a, 0, "the rebuilt fold says that the job has %sended",
             fold_ended(a->fold) ? "" : "not ");
    if (stats.open_runs != a->open.n)
        told(a, 0, "the rebuilt fold has %zu open runs, the records %zu", stats.open_runs,
             a->open.n);
    if (!fold_ended(a->fold))
        return;
    fold_end(a->fold, &end);
    if (!str_eq(str_of(ends[end.end]), a->job.state))
        told(a, 0, "the rebuilt fold says that it %s", ends[end.end]);
}

int audit_end(struct audit *a)
{
    bool final = is_final(a->job.state);

    if (a->last != a->job.seq)
        told(a, a->last + 1, "it is missing: the job has %llu records",
             (unsigned long long)a->job.seq);
    if (final && a->n_ends == 0)
        told(a, 0, "the job is %.*s, and no record says so", STR_ARG(a->job.state));
    if (!final && a->n_ends > 0)
        told(a, a->end_seq, "the job ends here, but it is %.*s", STR_ARG(a->job.state));
    if (a->n_ends > 1)
        told(a, 0, "the job ends %llu times", (unsigned long long)a->n_ends);
    if (final && a->n_ends > 0 && !str_eq(str_of(a->end_status), a->job.state))
        told(a, a->end_seq, "it says that the job %s, but it is %.*s", a->end_status,
             STR_ARG(a->job.state));
    if (final && a->open.n > 0)
        told(a, 0, "%zu run%s never ended", a->open.n, a->open.n == 1 ? "" : "s");
    if (a->fold != NULL && a->last == a->job.seq)
        compare_fold(a);
    return a->err;
}
