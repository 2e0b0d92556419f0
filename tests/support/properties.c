#include "support/properties.h"

#include "base/error.h"
#include "base/json.h"
#include "dialect/gathered.h"
#include "filter/filter.h"
#include "ingest/agent.h"
#include "ingest/intake.h"
#include "support/ledger.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT = 60,      /* messages: such recordings are looked at in every way */
    EVERY_CUT = 300, /* cuts of a longer one; then a sample */
    SAMPLES = 40,
    STEP_MS = 7, /* between two messages, so that durations are worth comparing */
};

static const char *fail(struct test *t, const char *what, size_t where)
{
    (void)snprintf(t->detail, sizeof(t->detail), "%s (at %zu)", what, where);
    return t->detail;
}

static const char *fail_in(struct test *t, const char *what, size_t view, size_t where)
{
    (void)snprintf(t->detail, sizeof(t->detail), "%s (%s, at %zu)", what, views[view].name,
                   where);
    return t->detail;
}

static int64_t ms_of(size_t message)
{
    return (int64_t)message * STEP_MS;
}

static size_t first_of(const struct test *t, size_t n)
{
    return t->pick != 0 && n > 0 ? t->pick % n : 0;
}

/* The cut after @cut: each one up to EVERY_CUT, then evenly spread ones. */
static size_t next_cut(const struct test *t, size_t cut)
{
    size_t step = (t->in.n_cuts - EVERY_CUT) / SAMPLES;

    if (t->pick != 0)
        return t->in.n_cuts + 1;
    if (cut < EVERY_CUT || t->in.n_cuts <= EVERY_CUT + SAMPLES)
        return cut + 1;
    return cut + (step > 0 ? step : 1);
}

/* --- the case ------------------------------------------------------------------------ */

static int play_all(struct test *t, struct play *p, size_t from)
{
    int err = 0;

    for (size_t i = from; err == 0 && i < t->in.n_cuts; i++)
        err = play_step(p, recording_message(&t->in, i), ms_of(i));
    return err != 0 ? err : play_end(p, ms_of(t->in.n_cuts));
}

static struct play_options play_options(const struct test *t, bool render)
{
    return (struct play_options){
        .agent = t->setting->agent,
        .field_limit = t->setting->field_limit,
        .render = render,
    };
}

const char *test_init(struct test *t, struct recording in, const struct setting *setting)
{
    *t = (struct test){ .setting = setting, .in = in };
    t->n_after = calloc(t->in.n_cuts + 1, sizeof(*t->n_after));
    play_init(&t->play, play_options(t, true));
    for (size_t i = 0; i < t->in.n_cuts; i++) {
        if (play_step(&t->play, recording_message(&t->in, i), ms_of(i)) != 0)
            return "cannot be fed";
        t->n_after[i] = t->play.stored.n;
    }
    if (play_end(&t->play, ms_of(t->in.n_cuts)) != 0)
        return "cannot be ended";
    return loaded_init(&t->loaded, &t->play.stored);
}

void test_done(struct test *t)
{
    loaded_done(&t->loaded);
    play_done(&t->play);
    recording_done(&t->in);
    free(t->n_after);
}

/* A job whose fold was rebuilt from the first @n stored records. */
static const char *rebuild(struct test *t, struct play *p, size_t n, bool render)
{
    play_init(p, play_options(t, render));
    for (size_t i = 0; i < n; i++) {
        struct record rec = *t->loaded.rec[i];

        rec.header = NULL; /* the fold must find it */
        if (fold_replay(p->fold, &rec) != 0)
            return fail(t, "a stored record cannot be replayed", i + 1);
    }
    if (fold_seq(p->fold) != n)
        return fail(t, "a rebuilt fold has another seq", n);
    return NULL;
}

/* --- records ------------------------------------------------------------------------- */

static bool is_start(enum record_kind kind)
{
    return kind == REC_RUN_START || kind == REC_NODE_START || kind == REC_LLM_START ||
           kind == REC_TOOL_START || kind == REC_RETRIEVER_START;
}

/* The start that a run's other records must have behind their head; REC_KIND_MAX: any. */
static enum record_kind start_of(const struct record *rec)
{
    static const struct {
        enum record_kind kind, start;
    } table[] = {
        { REC_NODE_END, REC_NODE_START }, { REC_RUN_END, REC_RUN_START },
        { REC_TOOL_END, REC_TOOL_START }, { REC_RETRIEVER_END, REC_RETRIEVER_START },
        { REC_LLM_END, REC_LLM_START },   { REC_LLM_REPEAT, REC_LLM_START },
        { REC_LLM_DELTA, REC_LLM_START },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].kind == rec->kind && !rec->mirror)
            return table[i].start;
    return REC_KIND_MAX;
}

/* The record that started the run which @head is about. */
static const struct record *started(const struct test *t, const struct record *header)
{
    for (size_t i = (size_t)header->seq; i-- > 0;) {
        const struct record *rec = t->loaded.rec[i];

        if (is_start(rec->kind) && str_eq(rec->info.run, header->info.run))
            return rec;
    }
    return NULL;
}

static const char *heads_name_starts(struct test *t)
{
    for (size_t i = 0; i < t->loaded.n; i++) {
        const struct record *rec = t->loaded.rec[i], *header = rec->header;
        enum record_kind wanted = start_of(rec);

        if (rec->seq != i + 1)
            return fail(t, "seq is not dense", i + 1);
        if (rec->header_seq >= rec->seq)
            return fail(t, "a head that is not earlier", i + 1);
        if (header == NULL) {
            if (wanted != REC_KIND_MAX)
                return fail(t, "a run's record without a head", i + 1);
            continue;
        }
        if (!is_start(header->kind) && header->kind != REC_RUN_INFO)
            return fail(t, "a head that starts nothing", i + 1);
        const struct record *start = started(t, header);
        if (start == NULL || (wanted != REC_KIND_MAX && start->kind != wanted))
            return fail(t, "a head of another sort of run", i + 1);
    }
    return NULL;
}

static const char *job_records_frame_the_log(struct test *t)
{
    bool ended = fold_ended(t->play.fold);

    for (size_t i = 0; i < t->loaded.n; i++) {
        enum record_kind kind = t->loaded.rec[i]->kind;

        if ((i == 0) != (kind == REC_JOB_START))
            return fail(t, "job.start is not the first record, once", i + 1);
        if ((ended && i + 1 == t->loaded.n) != (kind == REC_JOB_END))
            return fail(t, "job.end is not the last record, once", i + 1);
    }
    return NULL;
}

static const char *stored_form_is_stable(struct test *t)
{
    const char *wrong = NULL;
    struct buf again;

    buf_init(&again, SIZE_MAX / 4);
    for (size_t i = 0; wrong == NULL && i < t->loaded.n; i++) {
        struct str stored = tape_at(&t->play.stored, i);

        buf_clear(&again);
        record_encode(t->loaded.rec[i], &again);
        if (!str_eq(buf_text(&again), stored))
            wrong = fail(t, "a record read back is stored in other bytes", i + 1);
        if (str_find(stored, '\n') < stored.n)
            wrong = fail(t, "a stored record of more than one line", i + 1);
    }
    buf_done(&again);
    return wrong;
}

static const char *render_same(struct test *t,
                               size_t i,
                               size_t view,
                               struct frames *frames,
                               struct buf *out)
{
    buf_clear(out);
    view_put(&views[view], t->loaded.rec[i], frames, out);
    return str_eq(buf_text(out), tape_at(&t->play.frames_of[view], i))
               ? NULL
               : fail_in(t, "a stored record gives other frames than the live one", view,
                         i + 1);
}

/* In a random order, so that nothing can be left over from the record before. */
static const char *frames_depend_on_the_record_alone(struct test *t)
{
    const char *wrong = NULL;
    struct frames frames;
    struct buf out;
    uint64_t random = 2026;

    frames_init(&frames, SIZE_MAX / 4);
    buf_init(&out, SIZE_MAX / 4);
    for (size_t turn = 0; wrong == NULL && turn < t->loaded.n; turn++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(random >> 33) % t->loaded.n;

        for (size_t view = 0; wrong == NULL && view < N_VIEWS; view++) {
            wrong = render_same(t, i, view, &frames, &out);
            if (wrong == NULL)
                wrong = render_same(t, turn, view, &frames, &out);
            if (wrong == NULL)
                wrong = render_same(t, turn, view, &frames, &out);
        }
    }
    frames_done(&frames);
    buf_done(&out);
    return wrong;
}

/* --- text ---------------------------------------------------------------------------- */

static bool is_cut(struct str text)
{
    return str_ends(text, STR(" bytes, over the field limit]"));
}

static const char *check_text(struct test *t, size_t end, struct buf *text)
{
    const struct record *last = t->loaded.rec[end];
    bool repeat = false;

    buf_clear(text);
    for (size_t i = 0; i < end; i++) {
        const struct record *rec = t->loaded.rec[i];

        if (rec->header == NULL || !str_eq(rec->header->info.run, last->header->info.run))
            continue;
        repeat |= rec->kind == REC_LLM_REPEAT;
        if (rec->kind == REC_LLM_DELTA && !rec->mirror)
            buf_str(text, rec->text);
    }
    if (repeat || str_eq(buf_text(text), last->text))
        return NULL;
    return fail(t, "the deltas do not add up to the model's final text", end + 1);
}

static const char *deltas_add_up(struct test *t)
{
    const char *wrong = NULL;
    struct buf text;

    buf_init(&text, SIZE_MAX / 4);
    for (size_t i = 0; wrong == NULL && i < t->loaded.n; i++) {
        const struct record *rec = t->loaded.rec[i];

        if (rec->kind == REC_LLM_END && rec->text.p != NULL && rec->header != NULL &&
            !is_cut(rec->text))
            wrong = check_text(t, i, &text);
    }
    buf_done(&text);
    return wrong;
}

/* --- frames -------------------------------------------------------------------------- */

/* Reads the frames of one record into @ledger (or only reads them). */
static const char *take_frames(struct test *t,
                               const struct play *p,
                               size_t view,
                               size_t i,
                               struct ledger *ledger)
{
    struct str rest = tape_at(&p->frames_of[view], i);
    size_t n = 0;

    while (rest.n > 0) {
        struct sse_frame frame;
        struct entry entry;

        if (!sse_frame_next(&rest, &frame))
            return fail_in(t, "not one id, event and data line", view, i + 1);
        const char *wrong =
            ledger_read_frame(view, frame.event, frame.data, p->opt.job, &entry);
        if (wrong == NULL && ledger != NULL)
            wrong = ledger_take(ledger, &entry);
        if (wrong != NULL)
            return fail_in(t, wrong, view, i + 1);
        n++;
    }
    return view == VIEW_AIQ && n > 1 ? fail_in(t, "more than one frame", view, i + 1) : NULL;
}

static const char *frames_are_lines_of_json(struct test *t)
{
    const char *wrong = NULL;

    for (size_t view = 0; wrong == NULL && view < N_VIEWS; view++)
        for (size_t i = 0; wrong == NULL && i < t->play.stored.n; i++)
            wrong = take_frames(t, &t->play, view, i, NULL);
    return wrong;
}

/* What the views leave out; the last one says messages whole, as they grow. */
static const struct {
    const struct dialect *dialect;
    struct variant variant;
} variants[] = {
    { &dialect_aiq, { .modes = MODE_DEFAULT, .aiq_compat = true } },
    { &dialect_nodes, { .modes = MODE_EVENTS } },
    { &dialect_messages, { .modes = MODE_EVENTS | MODE_DEBUG } },
    { &dialect_messages, { .modes = MODE_ALL | MODE_PARTIALS, .subgraphs = true } },
};

static const char *variant_is_json(struct test *t,
                                   size_t variant,
                                   struct frames *frames,
                                   struct json_reader *reader)
{
    for (size_t i = 0; i < t->loaded.n; i++) {
        if (dialect_render(variants[variant].dialect, t->loaded.rec[i],
                           &variants[variant].variant, frames) != 0)
            return fail(t, "a variant cannot be rendered", i + 1);
        for (size_t k = 0; k < frames->n; k++) {
            struct json ignored;

            if (json_read(reader, frame_data(frames, &frames->frame[k]), &ignored, NULL) != 0)
                return fail(t, variants[variant].dialect->name, i + 1);
        }
    }
    return NULL;
}

static const char *variants_are_json(struct test *t)
{
    const char *wrong = NULL;
    struct json_reader reader;

    json_reader_init(&reader, SIZE_MAX / 64, 256);
    for (size_t v = 0; wrong == NULL && v < sizeof(variants) / sizeof(variants[0]); v++) {
        struct gathered *gathered = NULL;
        struct frames frames;

        frames_init(&frames, SIZE_MAX / 4);
        if (gathered_new(&gathered) != 0)
            wrong = "memory";
        frames.gathered = gathered;
        if (wrong == NULL)
            wrong = variant_is_json(t, v, &frames, &reader);
        gathered_free(gathered);
        frames_done(&frames);
    }
    json_reader_done(&reader);
    return wrong;
}

/* --- ends ---------------------------------------------------------------------------- */

struct books {
    struct ledger of[N_VIEWS];
};

static void books_init(struct books *b)
{
    for (size_t i = 0; i < N_VIEWS; i++)
        ledger_init(&b->of[i]);
}

static void books_done(struct books *b)
{
    for (size_t i = 0; i < N_VIEWS; i++)
        ledger_done(&b->of[i]);
}

static bool holds_text(struct str s, struct str part)
{
    for (size_t i = 0; i + part.n <= s.n; i++)
        if (str_starts(str_skip(s, i), part))
            return true;
    return false;
}

/* Ids may be used again after this record, which is a new attempt's first. */
static bool begins_attempt(struct str stored)
{
    return holds_text(stored, STR("\"kind\":\"job.update\"")) &&
           holds_text(stored, STR("\"attempt\":"));
}

/* Books the records from @from to @to of @p. */
static const char *books_take(struct test *t,
                              struct books *b,
                              const struct play *p,
                              size_t from,
                              size_t to)
{
    const char *wrong = NULL;

    for (size_t view = 0; wrong == NULL && view < N_VIEWS; view++)
        for (size_t i = from; wrong == NULL && i < to; i++) {
            wrong = take_frames(t, p, view, i, &b->of[view]);
            if (wrong == NULL && begins_attempt(tape_at(&p->stored, i)))
                wrong = ledger_next_attempt(&b->of[view]);
        }
    return wrong;
}

static const char *books_settle(struct test *t, const struct books *b, size_t where)
{
    for (size_t view = 0; view < N_VIEWS; view++) {
        const char *wrong = ledger_settle(&b->of[view], view);

        if (wrong != NULL)
            return fail_in(t, wrong, view, where);
    }
    return NULL;
}

static const char *stays_closed(struct test *t, struct play *p, size_t where)
{
    static const char late[] = "{\"event\":\"on_chain_start\",\"name\":\"late\",\"run_id\":"
                               "\"late\",\"tags\":[],\"metadata\":{},\"data\":{}}\n";
    size_t n = p->stored.n;
    uint64_t n_bad = p->n_bad;

    if (play_finish(p, JOB_END_SUCCEEDED, STR_NONE, 0) != ERR_CLOSED)
        return fail(t, "a second end is not refused", where);
    if (play_feed(p, str_of(late), 0) != 0 || p->n_bad != n_bad + 1 || play_end(p, 0) != 0 ||
        p->stored.n != n)
        return fail(t, "an event after the end is not refused", where);
    return NULL;
}

/* JOB_END_NONE: its stream ends without a word, and when it waits then, it is cancelled. */
static int end_job(struct play *p, enum job_end end, int64_t ms)
{
    int err;

    if (end != JOB_END_NONE)
        return play_finish(p, end, end == JOB_END_SUCCEEDED ? STR_NONE : STR("why not"), ms);
    err = play_end(p, ms);
    if (err != 0 || fold_seq(p->fold) == 0 || fold_ended(p->fold))
        return err;
    return play_finish(p, JOB_END_CANCELLED, STR_NONE, ms);
}

/* The job, rebuilt after @n records, ends like this. */
static const char *end_after(struct test *t,
                             const struct books *so_far,
                             struct books *all,
                             size_t n,
                             enum job_end end)
{
    struct play p;

    for (size_t view = 0; view < N_VIEWS; view++)
        ledger_copy(&all->of[view], &so_far->of[view]);
    const char *wrong = rebuild(t, &p, n, true);
    bool ended = fold_ended(p.fold) && end != JOB_END_NONE;
    if (wrong == NULL && end_job(&p, end, ms_of(n)) != (ended ? ERR_CLOSED : 0))
        wrong = fail(t, "the job cannot be ended", n);
    if (wrong == NULL)
        wrong = books_take(t, all, &p, 0, p.stored.n);
    if (wrong == NULL && fold_seq(p.fold) > 0)
        wrong = books_settle(t, all, n);
    if (wrong == NULL && fold_seq(p.fold) > 0)
        wrong = stays_closed(t, &p, n);
    play_done(&p);
    return wrong;
}

static const char *every_start_has_one_end(struct test *t)
{
    static const enum job_end ends[] = { JOB_END_FAILED, JOB_END_CANCELLED, JOB_END_SUCCEEDED,
                                         JOB_END_NONE };
    const char *wrong = NULL;
    struct books so_far, all;
    size_t n = 0;

    books_init(&so_far);
    books_init(&all);
    for (size_t cut = first_of(t, t->in.n_cuts + 1); wrong == NULL && cut <= t->in.n_cuts;
         cut = next_cut(t, cut)) {
        size_t to = cut == 0 ? 0 : cut < t->in.n_cuts ? t->n_after[cut - 1] : t->play.stored.n;

        wrong = books_take(t, &so_far, &t->play, n, to);
        n = to;
        for (size_t i = 0; wrong == NULL && i < sizeof(ends) / sizeof(ends[0]); i++)
            wrong = end_after(t, &so_far, &all, n, ends[i]);
    }
    if (wrong == NULL)
        wrong = books_take(t, &so_far, &t->play, n, t->play.stored.n);
    if (wrong == NULL && fold_ended(t->play.fold))
        wrong = books_settle(t, &so_far, t->play.stored.n);
    books_done(&so_far);
    books_done(&all);
    return wrong;
}

/* --- law 7 --------------------------------------------------------------------------- */

static const char *same_tail(struct test *t, const struct play *p, size_t n)
{
    for (size_t i = 0; i < p->stored.n && n + i < t->play.stored.n; i++) {
        if (!str_eq(tape_at(&p->stored, i), tape_at(&t->play.stored, n + i))) {
            (void)snprintf(t->detail, sizeof(t->detail),
                           "rebuilt after record %zu, record %zu is %.120s", n, n + i + 1,
                           tape_at(&p->stored, i).p);
            return t->detail;
        }
        for (size_t view = 0; p->opt.render && view < N_VIEWS; view++)
            if (!str_eq(tape_at(&p->frames_of[view], i),
                        tape_at(&t->play.frames_of[view], n + i)))
                return fail_in(t, "a rebuilt fold's record gives other frames", view,
                               n + i + 1);
    }
    return n + p->stored.n == t->play.stored.n
               ? NULL
               : fail(t, "a rebuilt fold gives another number of records", n);
}

static const char *rebuilding_changes_nothing(struct test *t)
{
    const char *wrong = NULL;

    for (size_t cut = first_of(t, t->in.n_cuts + 1); wrong == NULL && cut <= t->in.n_cuts;
         cut = next_cut(t, cut)) {
        size_t n = cut > 0 ? t->n_after[cut - 1] : 0;
        struct play p;

        wrong = rebuild(t, &p, n, t->in.n_cuts <= EVERY_CUT / 2);
        if (wrong == NULL && play_all(t, &p, cut) != 0)
            wrong = fail(t, "a rebuilt fold cannot go on", n);
        if (wrong == NULL)
            wrong = same_tail(t, &p, n);
        play_done(&p);
    }
    return wrong;
}

/* Also in the middle of what one message gave: nobody goes on from there with the same
 * input, but a crash may leave the log like this. */
static const char *any_prefix_can_be_replayed(struct test *t)
{
    const char *wrong = NULL;
    size_t step = t->pick != 0 ? SIZE_MAX / 2 : t->loaded.n / EVERY_CUT + 1;

    for (size_t n = first_of(t, t->loaded.n + 1); wrong == NULL && n <= t->loaded.n;
         n += step) {
        struct play p;

        wrong = rebuild(t, &p, n, false);
        bool ended = fold_ended(p.fold);
        if (wrong == NULL &&
            play_finish(&p, JOB_END_FAILED, STR("lost"), ms_of(n)) != (ended ? ERR_CLOSED : 0))
            wrong = fail(t, "a rebuilt fold cannot end", n);
        play_done(&p);
    }
    return wrong;
}

/* Ends what the attempt so far has left open, and books it. */
static const char *next_attempt(struct test *t, struct play *p, struct books *books, size_t n)
{
    if (fold_begin(p->fold, ms_of(n)) != 0 ||
        fold_new_attempt(p->fold, 2, STR("lost"), ms_of(n)) != 0)
        return fail(t, "a new attempt cannot begin", n);
    return books_take(t, books, p, 0, p->stored.n);
}

/* The worker is lost after @n records, and another one begins anew, with the same ids. */
static const char *attempt_after(struct test *t, size_t n)
{
    struct books books;
    struct play p;

    books_init(&books);
    const char *wrong = books_take(t, &books, &t->play, 0, n);
    const char *replayed = rebuild(t, &p, n, true);
    if (wrong == NULL)
        wrong = replayed;
    if (wrong == NULL && !fold_ended(p.fold)) {
        wrong = next_attempt(t, &p, &books, n);
        size_t from = p.stored.n;

        if (wrong == NULL && play_all(t, &p, 0) != 0)
            wrong = fail(t, "a new attempt cannot go on", n);
        if (wrong == NULL && !fold_ended(p.fold) &&
            play_finish(&p, JOB_END_SUCCEEDED, STR_NONE, ms_of(n)) != 0)
            wrong = fail(t, "a new attempt cannot end", n);
        if (wrong == NULL)
            wrong = books_take(t, &books, &p, from, p.stored.n);
        if (wrong == NULL)
            wrong = books_settle(t, &books, n);
    }
    play_done(&p);
    books_done(&books);
    return wrong;
}

static const char *a_new_attempt_begins_clean(struct test *t)
{
    const char *wrong = NULL;
    size_t step = t->pick != 0 ? SIZE_MAX / 2 : t->in.n_cuts / SAMPLES + 1;

    for (size_t cut = first_of(t, t->in.n_cuts); wrong == NULL && cut < t->in.n_cuts;
         cut += step)
        wrong = attempt_after(t, cut > 0 ? t->n_after[cut - 1] : 0);
    return wrong;
}

/* --- the filter ---------------------------------------------------------------------- */

static int on_write(void *arg, struct str bytes)
{
    buf_str(arg, bytes);
    return ((struct buf *)arg)->error;
}

static int64_t on_clock(void *arg)
{
    (void)arg;
    return (int64_t)PLAY_TS * 1000;
}

/* The program's own path: all of it through the filter, in pieces of @piece bytes. */
static bool filter_run(struct test *t,
                       struct filter_options *options,
                       size_t piece,
                       struct buf *out)
{
    struct str rest = str_make(t->in.bytes, t->in.n);
    struct filter *f = NULL;
    int err;

    buf_clear(out);
    options->agent = t->play.agent;
    options->field_limit = t->setting->field_limit;
    options->write = on_write;
    options->clock = on_clock;
    options->arg = out;
    err = filter_new(options, &f);
    if (err == 0)
        err = filter_begin(f, STR("job-1"));
    while (err == 0 && rest.n > 0) {
        err = filter_feed(f, str_head(rest, piece));
        rest = str_skip(rest, piece);
    }
    if (err == 0)
        err = filter_end(f);
    filter_free(f);
    return err == 0;
}

static struct filter_options options_of(size_t view, const struct framing *framing)
{
    return (struct filter_options){
        .dialect = views[view].dialect,
        .variant = views[view].variant,
        .framing = framing,
    };
}

static const char *pieces_do_not_matter(struct test *t)
{
    static const size_t pieces[] = { 1, 7, 4096 };
    const char *wrong = NULL;
    struct buf whole, out;

    buf_init(&whole, SIZE_MAX / 4);
    buf_init(&out, SIZE_MAX / 4);
    for (size_t view = VIEW_MESSAGES_ALL; wrong == NULL && view < N_VIEWS;
         view += VIEW_RAW - VIEW_MESSAGES_ALL) {
        struct filter_options options = options_of(view, &framing_sse);

        if (!filter_run(t, &options, SIZE_MAX, &whole))
            wrong = fail_in(t, "the filter failed", view, 0);
        for (size_t i = 0; wrong == NULL && i < sizeof(pieces) / sizeof(pieces[0]); i++)
            if (!filter_run(t, &options, pieces[i], &out) ||
                !str_eq(buf_text(&out), buf_text(&whole)))
                wrong =
                    fail_in(t, "pieces of this many bytes give other frames", view, pieces[i]);
    }
    buf_done(&whole);
    buf_done(&out);
    return wrong;
}

/* The ids that frames carried, and where each frame ends in either framing. */
struct ids {
    struct tape id;
    size_t *sse_end;
    size_t *line_end;
};

static void ids_done(struct ids *ids)
{
    tape_done(&ids->id);
    free(ids->sse_end);
    free(ids->line_end);
}

static bool ids_read(struct ids *ids, struct str sse, struct str lines)
{
    struct str rest = sse;
    size_t at = 0;

    tape_init(&ids->id);
    ids->sse_end = calloc(sse.n / 16 + 1, sizeof(size_t));
    ids->line_end = calloc(sse.n / 16 + 1, sizeof(size_t));
    while (rest.n > 0) {
        struct sse_frame frame;

        if (!sse_frame_next(&rest, &frame))
            return false;
        at += str_find(str_skip(lines, at), '\n') + 1;
        ids->sse_end[ids->id.n] = sse.n - rest.n;
        ids->line_end[ids->id.n] = at;
        tape_add(&ids->id, frame.id);
    }
    return at == lines.n;
}

static const char *ids_rise(struct test *t, const struct ids *ids, size_t view)
{
    struct cursor before = { 0 };

    for (size_t i = 0; i < ids->id.n; i++) {
        struct cursor c;

        if (cursor_parse(tape_at(&ids->id, i), &c) != 0)
            return fail_in(t, "an id is no cursor", view, i);
        /* The last frame of a record has no k, and is after all others. */
        if (c.seq < before.seq ||
            (c.seq == before.seq && (before.k == 0 || (c.k != 0 && c.k <= before.k))))
            return fail_in(t, "ids do not rise", view, i);
        before = c;
    }
    return NULL;
}

static const char *tail_after(struct test *t,
                              size_t view,
                              const struct framing *framing,
                              struct str id,
                              struct str tail,
                              struct buf *out)
{
    struct filter_options options = options_of(view, framing);

    if (cursor_parse(id, &options.after) == 0 && filter_run(t, &options, SIZE_MAX, out) &&
        str_eq(buf_text(out), tail))
        return NULL;
    (void)snprintf(t->detail, sizeof(t->detail),
                   "frames after id %.*s are not the tail (%s, %s)", STR_ARG(id),
                   views[view].name, framing->name);
    return t->detail;
}

static const char *tails_of_view(struct test *t, size_t view, struct buf *out)
{
    bool brief = t->in.n_cuts <= SHORT;
    struct filter_options sse = options_of(view, &framing_sse);
    struct filter_options lines = options_of(view, &framing_ndjson);
    const char *wrong = NULL;
    struct ids ids;
    struct buf all, all_lines;

    buf_init(&all, SIZE_MAX / 4);
    buf_init(&all_lines, SIZE_MAX / 4);
    if (!filter_run(t, &sse, SIZE_MAX, &all) || !filter_run(t, &lines, SIZE_MAX, &all_lines) ||
        !ids_read(&ids, buf_text(&all), buf_text(&all_lines)))
        wrong = fail_in(t, "the framings do not have the same frames", view, 0);
    if (wrong == NULL)
        wrong = ids_rise(t, &ids, view);
    size_t step = t->in.n_cuts > EVERY_CUT ? ids.id.n / SAMPLES + 1 : 1;
    for (size_t i = first_of(t, ids.id.n); wrong == NULL && i < ids.id.n;
         i += t->pick != 0  ? SIZE_MAX / 2
              : i < SAMPLES ? 1
                            : step) {
        struct str id = tape_at(&ids.id, i);

        wrong = tail_after(t, view, &framing_sse, id, buf_since(&all, ids.sse_end[i]), out);
        if (wrong == NULL && brief)
            wrong = tail_after(t, view, &framing_ndjson, id,
                               buf_since(&all_lines, ids.line_end[i]), out);
    }
    ids_done(&ids);
    buf_done(&all);
    buf_done(&all_lines);
    return wrong;
}

static const char *frames_after_an_id_are_the_tail(struct test *t)
{
    const char *wrong = NULL;
    struct buf out;

    buf_init(&out, SIZE_MAX / 4);
    for (size_t view = first_of(t, N_VIEWS); wrong == NULL && view < N_VIEWS;
         view += t->pick != 0 ? N_VIEWS : 1)
        wrong = tails_of_view(t, view, &out);
    buf_done(&out);
    return wrong;
}

/* --- all of them --------------------------------------------------------------------- */

const struct property properties[N_PROPERTIES] = {
    { .name = "heads name starts", .holds = heads_name_starts },
    { .name = "job records frame the log", .holds = job_records_frame_the_log },
    { .name = "the stored form is stable", .holds = stored_form_is_stable },
    { .name = "frames depend on the record alone", .holds = frames_depend_on_the_record_alone },
    { .name = "deltas add up", .holds = deltas_add_up, .sensible = true },
    { .name = "frames are lines of JSON", .holds = frames_are_lines_of_json },
    { .name = "every variant is JSON", .holds = variants_are_json },
    { .name = "every start has one end", .holds = every_start_has_one_end },
    { .name = "rebuilding changes nothing", .holds = rebuilding_changes_nothing },
    { .name = "any prefix can be replayed", .holds = any_prefix_can_be_replayed },
    { .name = "a new attempt begins clean", .holds = a_new_attempt_begins_clean },
    { .name = "pieces do not matter", .holds = pieces_do_not_matter, .once = true },
    { .name = "frames after an id are the tail",
      .holds = frames_after_an_id_are_the_tail,
      .once = true },
};
