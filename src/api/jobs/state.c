/* /state and /report: the result of a job, folded from its records on request.
 *
 * A tool's start and end are paired by their run; artifacts are copied as they are; a record
 * that cannot be parsed is skipped.  Only what is in the answer is held in memory. */
#include "api/api.h"
#include "api/jobs/jobs.h"

#include "base/array.h"
#include "base/error.h"
#include "base/json_format.h"
#include "base/table.h"
#include "dialect/render.h"
#include "record/record.h"

#include <stdlib.h>

enum { PAGE_ROWS = 2000 };

struct folding {
    struct store_query *query;
    struct json_reader reader, inner;
    struct buf tools, outputs, found, cited, todos, files;
    size_t n_found, n_cited;
    struct table urls; /* URLs that are in found and cited */
    struct buf report;
    bool has_report;
    struct buf output;  /* the job's own, else that of the root run that ended last; without a
                         * root, of the execution that ended last with one */
    struct buf details; /* of the job's end */
    uint64_t root;      /* the record that started it */
    uint64_t last;
    int err;
};

/* --- tools: the start is remembered by its seq, the end names it --------------------- */

static void put_tool(struct folding *f, const struct record *end, const struct record *start)
{
    struct buf *b = &f->tools;

    json_format(
        json_next(b), "{'id':%s,'name':%s,'input':%j,'output':%j,'status':%s,'workflow':%s",
        start->info.run, start->info.name, start->input, end != NULL ? end->output : STR_NONE,
        end == NULL         ? STR("running")
        : render_is_ok(end) ? STR("completed")
                            : end->status,
        start->info.node);
    json_add_time(b, "timestamp", start->ts);
    json_end(b);
}

struct start {
    uint64_t seq;
    struct record *record; /* ref; NULL: it has ended */
};

struct starts {
    struct start *all; /* owned; by seq */
    size_t n, cap;
};

static void remember(struct folding *f, struct starts *s, const struct record *rec)
{
    f->err = array_grow(&s->all, s->n, &s->cap, sizeof(*s->all)) ? 0 : ERR_NOMEM;
    if (f->err != 0)
        return;
    struct start *start = &s->all[s->n];
    start->seq = rec->seq;
    f->err = record_new(rec, &start->record);
    if (f->err == 0)
        s->n++;
}

static int compare_seq(const void *key, const void *member)
{
    const uint64_t *seq = key;
    const struct start *start = member;

    return *seq < start->seq ? -1 : *seq > start->seq;
}

static void end_tool(struct folding *f, struct starts *s, const struct record *rec)
{
    struct start *start =
        s->n > 0 ? bsearch(&rec->header_seq, s->all, s->n, sizeof(*s->all), compare_seq) : NULL;

    if (start == NULL || start->record == NULL)
        return;
    put_tool(f, rec, start->record);
    record_unref(start->record);
    start->record = NULL;
}

/* Those that still run. */
static void put_open_tools(struct folding *f, struct starts *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->all[i].record == NULL)
            continue;
        put_tool(f, NULL, s->all[i].record);
        record_unref(s->all[i].record);
    }
    free(s->all);
}

/* --- artifacts ----------------------------------------------------------------------- */

/* Name and time of the event, then what its sender put into @data, which may have members of
 * the same names. */
static void put_output(struct folding *f, const struct record *rec, yyjson_val *data)
{
    struct buf *b = &f->outputs;

    json_begin(json_next(b));
    json_add_text(b, "name", rec->title.n > 0 ? rec->title : json_text(json_at(data, "name")));
    json_add_time(b, "timestamp", rec->ts);
    json_each_member(key, v, data) {
        if (str_is(json_text(key), "name") || str_is(json_text(key), "timestamp"))
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, v);
    }
    json_end(b);
}

static bool is_url(struct str s)
{
    return str_starts(s, STR("http://")) || str_starts(s, STR("https://"));
}

/* The URL of a citation.  Citations that the fold derives have it as `url`; a worker may send
 * it as the content, or as the artifact's name.  A name that is not a URL is ignored. */
static struct str citation_url(const yyjson_val *data, struct str title)
{
    struct str url = json_text(json_at(data, "url"));
    struct str content = json_text(json_at(data, "content"));

    if (url.n > 0)
        return url;
    if (is_url(content))
        return content;
    return is_url(title) ? title : STR_NONE;
}

static void put_url(struct folding *f, struct str url, struct buf *urls, size_t *n)
{
    struct key key = table_key(&f->urls, (uint64_t)(urls == &f->cited), url);

    if (url.n == 0 || table_get(&f->urls, key) != NULL)
        return;
    f->err = table_put(&f->urls, key, f);
    json_put_str(json_next(urls), url);
    (*n)++;
}

static void put_artifact(struct folding *f, const struct record *rec)
{
    struct json j;

    if (json_read(&f->inner, rec->data, &j, NULL) != 0 || !yyjson_is_obj(j.root))
        return;
    struct str type = json_text(json_at(j.root, "type"));
    yyjson_val *content = json_at(j.root, "content");
    put_output(f, rec, j.root);
    if (str_is(type, "todo")) {
        buf_clear(&f->todos);
        json_put_value(&f->todos, content); /* the newest list replaces older ones */
    } else if (str_is(type, "file")) {
        buf_str(json_next(&f->files), rec->data);
    } else if (str_is(type, "citation_source")) {
        put_url(f, citation_url(j.root, rec->title), &f->found, &f->n_found);
    } else if (str_is(type, "citation_use")) {
        put_url(f, citation_url(j.root, rec->title), &f->cited, &f->n_cited);
    } else if (str_is(json_text(json_at(j.root, "output_category")), "final_report")) {
        buf_clear(&f->report);
        json_put_value(&f->report, content);
        f->has_report = json_text(content).n > 0;
    }
}

/* --- reading the log ----------------------------------------------------------------- */

struct pass {
    struct folding *folding;
    struct starts *starts;
};

/* Is this record's output the job's, as far as the log was read?  The ends of executions have
 * counts; those of nodes inside of them do not. */
static bool is_result(const struct folding *f, const struct record *rec)
{
    bool execution = rec->kind == REC_NODE_END && rec->chains != RECORD_NO_NUMBER;
    bool root = rec->kind == REC_RUN_END && rec->header_seq == f->root;

    if (rec->output.p == NULL)
        return false;
    return rec->kind == REC_JOB_END || root ||
           (execution && f->root == 0 && str_is(rec->status, "ok"));
}

static void keep(struct buf *b, struct str text)
{
    buf_clear(b);
    buf_str(b, text);
}

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct pass *p = arg;
    struct folding *f = p->folding;
    struct record rec;

    f->last = seq;
    int err = record_decode(&f->reader, stored, &rec, NULL);
    if (err == ERR_SYNTAX || err == ERR_TYPE)
        return 0; /* damaged record: skip it */
    f->err = err;
    if (err != 0)
        return 1;
    if (rec.kind == REC_RUN_START && rec.info.root)
        f->root = rec.seq;
    else if (is_result(f, &rec))
        keep(&f->output, rec.output);
    if (rec.kind == REC_JOB_END)
        keep(&f->details, rec.details);
    if (rec.kind == REC_TOOL_START)
        remember(f, p->starts, &rec);
    else if (rec.kind == REC_TOOL_END)
        end_tool(f, p->starts, &rec);
    else if (rec.kind == REC_ARTIFACT)
        put_artifact(f, &rec);
    return f->err != 0;
}

static void read_log(struct folding *f, struct store *store, const struct job_row *row)
{
    struct starts starts = { .n = 0 };
    struct pass pass = { f, &starts };
    uint64_t end = row->seq;
    int64_t key = row->key;

    f->last = row->first_seq - 1;
    while (f->err == 0 && f->last < end) {
        uint64_t before = f->last;

        int err =
            store_records(store, key, before, PAGE_ROWS, SIZE_MAX, on_record, &pass, NULL);
        if (f->err == 0) /* keep an error of the callback */
            f->err = err;
        if (f->last == before)
            break;
    }
    put_open_tools(f, &starts);
}

static void folding_init(struct folding *f, struct store_query *query)
{
    struct buf *all[] = { &f->tools, &f->outputs, &f->found,  &f->cited,  &f->todos,
                          &f->files, &f->report,  &f->output, &f->details };

    *f = (struct folding){ .query = query };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_init(all[i], SIZE_MAX / 4);
    json_reader_init(&f->reader, SIZE_MAX / 64, 256);
    json_reader_init(&f->inner, SIZE_MAX / 64, 256);
    table_init(&f->urls);
}

static void folding_done(struct folding *f)
{
    struct buf *all[] = { &f->tools, &f->outputs, &f->found,  &f->cited,  &f->todos,
                          &f->files, &f->report,  &f->output, &f->details };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_done(all[i]);
    json_reader_done(&f->reader);
    json_reader_done(&f->inner);
    table_done(&f->urls);
}

/* --- answers ------------------------------------------------------------------------- */

static void put_artifacts(struct folding *f, struct buf *b)
{
    json_format(b,
                "{'tools':[%j],'outputs':[%j],'sources':{'found':%d,'cited':%d,"
                "'found_urls':[%j],'cited_urls':[%j]},'todos':%j,'files':[%j]}",
                buf_text(&f->tools), buf_text(&f->outputs), f->n_found, f->n_cited,
                buf_text(&f->found), buf_text(&f->cited),
                f->todos.n > 0 ? buf_text(&f->todos) : STR("[]"), buf_text(&f->files));
}

static bool fold_job(struct store_query *query, struct store *store, struct folding *f)
{
    struct job_row row;

    if (!jobs_get(query, store, &row))
        return false;
    folding_init(f, query);
    read_log(f, store, &row);
    if (f->err == 0)
        return true;
    folding_done(f);
    query->status = 500;
    buf_lit(&query->out, "the job's records cannot be read");
    return false;
}

static void run_state(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct folding f;
    struct buf *b = &query->out;

    if (!fold_job(query, store, &f))
        return;
    bool any = f.tools.n > 0 || f.outputs.n > 0;
    json_format(b, "{'job_id':%s,'has_state':%b,'state':null,'artifacts':",
                str_make(query->job, query->job_n), any);
    if (any)
        put_artifacts(&f, b);
    else
        buf_lit(b, "null");
    json_end(b);
    folding_done(&f);
}

/* Without a report artifact: the run's final output, if it is a text. */
static void report_from_output(struct folding *f)
{
    struct json j;

    if (f->has_report || f->output.n == 0 ||
        json_read(&f->inner, buf_text(&f->output), &j, NULL) != 0)
        return;
    struct str text = json_text(j.root);
    if (text.n == 0)
        return;
    f->has_report = true;
    buf_clear(&f->report);
    json_put_str(&f->report, text);
}

static void run_report(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct folding f;
    struct buf *b = &query->out;

    if (!fold_job(query, store, &f))
        return;
    report_from_output(&f);
    json_format(b, "{'job_id':%s,'has_report':%b,'report':%j}",
                str_make(query->job, query->job_n), f.has_report,
                f.report.n > 0 ? buf_text(&f.report) : STR_NONE);
    folding_done(&f);
}

/* The job, with its result once it has ended; for clients that wait for it. */
void state_run_result(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct folding f;
    struct job_row row;
    enum job_state state = JOB_QUEUED;

    if (!jobs_get(query, store, &row))
        return;
    (void)job_state_find(row.state, &state); /* written by us */
    query->status = job_state_is_final(state) ? 200 : 202;
    api_put_job(&query->out, &row);
    if (!job_state_is_final(state) || !fold_job(query, store, &f))
        return;
    report_from_output(&f);
    query->out.n--; /* removes the closing brace: more members follow */
    json_add_raw(&query->out, "details", f.details.n > 0 ? buf_text(&f.details) : STR_NONE);
    json_add_raw(&query->out, "output", f.output.n > 0 ? buf_text(&f.output) : STR_NONE);
    json_add_raw(&query->out, "report", f.has_report ? buf_text(&f.report) : STR_NONE);
    json_end(&query->out);
    folding_done(&f);
}

static void look_into(struct http_request *req,
                      void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query = store_query_new(req, http_param(req, "id"), run);

    if (query != NULL)
        store_query_post(query);
}

void api_aiq_state(struct http_request *req)
{
    look_into(req, run_state);
}

void api_aiq_report(struct http_request *req)
{
    look_into(req, run_report);
}
