#include "support/play.h"

#include "base/error.h"
#include "base/json.h"
#include "framing/framing.h"
#include "ingest/agent.h"
#include "ingest/intake.h"

#include <stdio.h>
#include <stdlib.h>

static void need(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "the test itself failed: %s\n", what);
        abort();
    }
}

/* --- tape ---------------------------------------------------------------------------- */

void tape_init(struct tape *t)
{
    *t = (struct tape){ 0 };
    buf_init(&t->bytes, SIZE_MAX / 4);
}

void tape_done(struct tape *t)
{
    buf_done(&t->bytes);
    free(t->end);
    t->end = NULL;
    t->n = t->cap = 0;
}

void tape_clear(struct tape *t)
{
    buf_clear(&t->bytes);
    t->n = 0;
}

void tape_add(struct tape *t, struct str s)
{
    if (t->n == t->cap) {
        t->cap = t->cap > 0 ? t->cap * 2 : 64;
        t->end = realloc(t->end, t->cap * sizeof(*t->end));
        need(t->end != NULL, "memory");
    }
    buf_str(&t->bytes, s);
    need(t->bytes.error == 0, "memory");
    t->end[t->n++] = t->bytes.n;
}

struct str tape_at(const struct tape *t, size_t i)
{
    size_t from = i > 0 ? t->end[i - 1] : 0;

    return str_head(buf_since(&t->bytes, from), t->end[i] - from);
}

/* --- views --------------------------------------------------------------------------- */

const struct view views[N_VIEWS] = {
    [VIEW_AGENT] = { "agent", &dialect_agent, { .modes = MODE_DEFAULT } },
    [VIEW_ENVELOPE] = { "envelope", &dialect_envelope, { .modes = MODE_DEFAULT } },
    [VIEW_MESSAGES] = { "messages", &dialect_messages, { .modes = MODE_DEFAULT } },
    [VIEW_MESSAGES_ALL] = { "messages --modes all --subgraphs",
                            &dialect_messages,
                            { .modes = 0xFF, .subgraphs = true } },
    [VIEW_NODES] = { "nodes", &dialect_nodes, { .modes = MODE_DEFAULT } },
    [VIEW_AIQ] = { "aiq", &dialect_aiq, { .modes = MODE_DEFAULT } },
    [VIEW_RAW] = { "raw", &dialect_raw, { .modes = MODE_DEFAULT } },
    [VIEW_STORED] = { "raw, stored", &dialect_raw, { .modes = MODE_DEFAULT, .stored = true } },
};

void view_put(const struct view *view,
              const struct record *rec,
              struct frames *frames,
              struct buf *out)
{
    int err = dialect_render(view->dialect, rec, &view->variant, frames);

    need(err == 0, "rendering");
    for (size_t i = 0; i < frames->n; i++) {
        struct message_out m = {
            .seq = rec->seq,
            .k = frames->frame[i].k,
            .total = frames->total,
            .event = frame_name(frames, &frames->frame[i]),
            .data = frame_data(frames, &frames->frame[i]),
        };

        framing_sse.put(&m, out);
    }
    need(out->error == 0, "memory");
}

/* --- a job --------------------------------------------------------------------------- */

static int on_record(void *arg, const struct record *rec)
{
    struct play *p = arg;

    buf_clear(&p->tmp);
    record_encode(rec, &p->tmp);
    tape_add(&p->stored, buf_text(&p->tmp));
    for (size_t i = 0; p->opt.render && i < N_VIEWS; i++) {
        buf_clear(&p->tmp);
        view_put(&views[i], rec, &p->frames, &p->tmp);
        tape_add(&p->frames_of[i], buf_text(&p->tmp));
    }
    if (p->opt.record != NULL)
        p->opt.record(p->opt.arg, rec);
    return 0;
}

static void on_bad(void *arg, uint64_t line, const struct error *why)
{
    struct play *p = arg;

    p->n_bad++;
    (void)snprintf(p->why, sizeof(p->why), "line %llu: %.220s", (unsigned long long)line,
                   why->text);
}

void play_init(struct play *p, struct play_options options)
{
    struct intake_options in = { .from = options.from, .bad = on_bad, .arg = p };

    *p = (struct play){ .opt = options };
    if (p->opt.agent.p == NULL)
        p->opt.agent = STR("triage");
    if (p->opt.job.p == NULL)
        p->opt.job = STR("job-1");
    frames_init(&p->frames, SIZE_MAX / 4);
    buf_init(&p->tmp, SIZE_MAX / 4);
    tape_init(&p->stored);
    for (size_t i = 0; i < N_VIEWS; i++)
        tape_init(&p->frames_of[i]);
    need(agent_new(p->opt.agent, &p->agent) == 0, "agent_new");
    need(intake_new(&in, &p->intake) == 0, "intake_new");
    struct fold_options fold = {
        .job = p->opt.job,
        .agent = p->agent,
        .field_limit = p->opt.field_limit,
        .attempt = 1,
        .emit = on_record,
        .arg = p,
    };
    need(fold_new(&fold, &p->fold) == 0, "fold_new");
    intake_begin(p->intake, p->fold);
}

void play_done(struct play *p)
{
    fold_free(p->fold);
    intake_free(p->intake);
    agent_free(p->agent);
    frames_done(&p->frames);
    buf_done(&p->tmp);
    tape_done(&p->stored);
    for (size_t i = 0; i < N_VIEWS; i++)
        tape_done(&p->frames_of[i]);
}

static int64_t at(int64_t ms)
{
    return (int64_t)PLAY_TS * 1000 + ms;
}

int play_feed(struct play *p, struct str bytes, int64_t ms)
{
    return intake_feed(p->intake, bytes, at(ms));
}

int play_step(struct play *p, struct str message, int64_t ms)
{
    if (!str_starts(message, STR("!")))
        return play_feed(p, message, ms);
    if (fold_ended(p->fold))
        return 0;
    int err = fold_begin(p->fold, at(ms));
    if (err == 0 && str_starts(message, STR("!attempt")))
        err = fold_new_attempt(p->fold, 2, STR("lost"), at(ms));
    else if (err == 0 && str_starts(message, STR("!cancel")))
        err = fold_cancel_requested(p->fold, STR("enough"), at(ms));
    else if (err == 0 && str_starts(message, STR("!pause")))
        err = fold_pause(p->fold, at(ms));
    else if (err == 0)
        err = fold_resume(p->fold, at(ms));
    return err;
}

int play_end(struct play *p, int64_t ms)
{
    int err = intake_end(p->intake, at(ms));

    return err != 0 ? err : fold_end_of_stream(p->fold, at(ms));
}

int play_finish(struct play *p, enum job_end end, struct str error, int64_t ms)
{
    struct job_ending word = { .end = end, .error = error };

    return fold_finish(p->fold, &word, at(ms));
}

/* --- stored records, read back ------------------------------------------------------- */

static const char *load_one(struct loaded *l,
                            struct json_reader *reader,
                            struct str stored,
                            struct str *job)
{
    struct error why = { 0 };
    struct record rec;

    if (record_decode(reader, stored, &rec, &why) != 0) {
        fprintf(stderr, "record_decode: %s: %.*s\n", why.text, STR_ARG(stored));
        return "a stored record cannot be read";
    }
    if (rec.seq != l->n + 1)
        return "a stored record has the wrong seq";
    if (rec.header_seq > l->n)
        return "a stored record names a later head";
    rec.job_id = rec.kind == REC_JOB_START ? rec.job : *job;
    if (rec.header_seq > 0)
        rec.header = l->rec[rec.header_seq - 1];
    need(record_new_with_header(&rec, &l->rec[l->n]) == 0, "memory");
    if (rec.kind == REC_JOB_START)
        *job = l->rec[l->n]->job;
    l->n++;
    return NULL;
}

const char *loaded_init(struct loaded *l, const struct tape *stored)
{
    struct json_reader reader;
    const char *wrong = NULL;
    struct str job = STR_NONE;

    *l = (struct loaded){ .rec = calloc(stored->n + 1, sizeof(struct record *)) };
    need(l->rec != NULL, "memory");
    json_reader_init(&reader, SIZE_MAX / 64, 256);
    for (size_t i = 0; wrong == NULL && i < stored->n; i++)
        wrong = load_one(l, &reader, tape_at(stored, i), &job);
    json_reader_done(&reader);
    return wrong;
}

void loaded_done(struct loaded *l)
{
    for (size_t i = 0; i < l->n; i++)
        record_unref(l->rec[i]);
    free(l->rec);
    *l = (struct loaded){ 0 };
}

/* --- files --------------------------------------------------------------------------- */

static bool read_all(struct recording *r, FILE *file)
{
    size_t cap = 1 << 16, got;

    r->bytes = malloc(cap);
    while (r->bytes != NULL && (got = fread(r->bytes + r->n, 1, cap - r->n, file)) > 0) {
        r->n += got;
        if (r->n == cap)
            r->bytes = realloc(r->bytes, cap *= 2);
    }
    need(r->bytes != NULL, "memory");
    return ferror(file) == 0;
}

/* A message is a line, or in server-sent events all lines up to a blank one. */
static void find_cuts(struct recording *r)
{
    bool sse = r->n > 0 && strchr("{[!", r->bytes[0]) == NULL;
    size_t line = 0, cap = 0;

    for (size_t i = 0; i < r->n; i++) {
        bool blank = i == line || (i == line + 1 && r->bytes[line] == '\r');

        if (r->bytes[i] != '\n' && i + 1 < r->n)
            continue;
        line = i + 1;
        if (sse && !blank && i + 1 < r->n)
            continue;
        if (r->n_cuts == cap) {
            cap = cap > 0 ? cap * 2 : 256;
            r->cut = realloc(r->cut, cap * sizeof(*r->cut));
            need(r->cut != NULL, "memory");
        }
        r->cut[r->n_cuts++] = i + 1;
    }
}

bool recording_open(struct recording *r, const char *path)
{
    FILE *file = fopen(path, "rb");

    *r = (struct recording){ .path = path };
    if (file == NULL)
        return false;
    bool ok = read_all(r, file);
    (void)fclose(file); /* only read from */
    find_cuts(r);
    return ok;
}

void recording_init(struct recording *r, const char *name, struct str bytes)
{
    *r = (struct recording){ .path = name, .bytes = malloc(bytes.n + 1), .n = bytes.n };
    need(r->bytes != NULL, "memory");
    memcpy(r->bytes, bytes.p, bytes.n);
    find_cuts(r);
}

void recording_done(struct recording *r)
{
    free(r->bytes);
    free(r->cut);
    *r = (struct recording){ 0 };
}

struct str recording_message(const struct recording *r, size_t i)
{
    size_t from = i > 0 ? r->cut[i - 1] : 0;

    return str_make(r->bytes + from, r->cut[i] - from);
}

struct str quoted_text(struct buf *out, const char *text)
{
    size_t from = out->n;

    for (; *text != '\0'; text++)
        buf_char(out, *text == '\'' ? '"' : *text == '`' ? '\'' : *text);
    need(out->error == 0, "memory");
    return buf_since(out, from);
}
