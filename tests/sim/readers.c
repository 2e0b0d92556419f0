/* Readers: each follows one job in one stream format, disconnects and resumes with the last id
 * that it has seen, and compares every frame with the reference stream. */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct reader_sim {
    char name[16];
    char job[ID_BYTES];
    bool chosen; /* it has a job to read */
    const struct stream_format *format;
    struct server *home; /* that it reads from */
    unsigned loop;
    struct http_request *req; /* owned; NULL: not connected */
    bool by_header, by_path, slow;
    struct cursor cursor; /* the last id that it has seen */
    struct cursor asked;  /* where this connection began */
    struct buf text;      /* of the stream, without the chunks; not yet looked at */
    uint64_t connected;   /* commits before it */
    /* This connection: */
    struct buf seen;     /* all frames with an id that came */
    struct truth *truth; /* what it reads, as far as they tell */
    size_t next;         /* the frame that must come */
    bool gap;            /* the server has said that the cursor is not good */
    int64_t away_until;
    unsigned n_tries; /* connections that brought nothing new */
};

/* All that a reader may choose, once per process: channels and canons compare addresses. */
#define SSE(...)                                              \
    {                                                         \
        .framing = &framing_sse, .chunked = true, __VA_ARGS__ \
    }

static const struct stream_format ways[] = {
    SSE(.dialect = &dialect_agent),
    { .framing = &framing_sse, .dialect = &dialect_agent },
    SSE(.dialect = &dialect_messages, .variant.modes = MODE_DEFAULT),
    SSE(.dialect = &dialect_messages, .variant = { .modes = 0xff, .subgraphs = true }),
    SSE(.dialect = &dialect_messages, .variant.modes = MODE_CUSTOM),
    SSE(.dialect = &dialect_aiq),
    SSE(.dialect = &dialect_aiq, .variant.aiq_compat = true),
    SSE(.dialect = &dialect_raw),
    SSE(.dialect = &dialect_raw, .variant.stored = true),
    { .framing = &framing_sse, .dialect = &dialect_raw, .variant.stored = true },
    SSE(.dialect = &dialect_nodes),
    SSE(.dialect = &dialect_envelope),
    { .framing = &framing_ndjson, .dialect = &dialect_agent, .chunked = true, .wrap = true },
    { .framing = &framing_ndjson, .dialect = &dialect_aiq, .wrap = true },
};

void readers_init(struct sim *s)
{
    s->readers = calloc(MAX_READERS, sizeof(*s->readers));
    if (s->readers == NULL)
        abort();
    for (size_t i = 0; i < MAX_READERS; i++) {
        (void)snprintf(s->readers[i].name, sizeof(s->readers[i].name), "reader-%zu", i);
        buf_init(&s->readers[i].text, SIZE_MAX / 4);
        buf_init(&s->readers[i].seen, SIZE_MAX / 4);
    }
}

void readers_done(struct sim *s)
{
    for (size_t i = 0; i < MAX_READERS; i++) {
        buf_done(&s->readers[i].text);
        buf_done(&s->readers[i].seen);
    }
    free(s->readers);
}

/* --- connections ------------------------------------------------------------------ */

static void disconnect(struct reader_sim *r)
{
    buf_done(&r->req->got);
    free(r->req);
    r->req = NULL;
    r->truth = NULL;
    buf_clear(&r->text);
    buf_clear(&r->seen);
}

/* It leaves; the server is told at once. */
static void leave(struct reader_sim *r)
{
    r->req->left = true;
    fake_http_close(r->req);
    disconnect(r);
}

void readers_lose_server(struct sim *s)
{
    for (size_t i = 0; i < MAX_READERS; i++)
        if (s->readers[i].req != NULL && s->readers[i].home == s->server)
            leave(&s->readers[i]);
}

static bool is_sse(const struct reader_sim *r)
{
    return r->format->framing == &framing_sse;
}

static void connect_to(struct sim *s, struct reader_sim *r)
{
    struct job_request what = { .job = str_of(r->job),
                                .transport = is_sse(r) ? &transport_sse : &transport_ndjson,
                                .format = *r->format,
                                .after = r->cursor };

    r->req = calloc(1, sizeof(*r->req));
    if (r->req == NULL)
        abort();
    buf_init(&r->req->got, SIZE_MAX / 4);
    r->req->is_10 = !r->format->chunked;
    r->req->is_header = !s->draining && chance_of(&s->chance, 10);
    r->req->is_over = !s->draining && chance_of(&s->chance, 10);
    r->req->room = chance_of(&s->chance, 300) ? 200 : 65536;
    r->asked = r->cursor;
    r->by_header = r->cursor.seq > 0 && chance_of(&s->chance, 500);
    r->by_path = r->cursor.seq % 2 == 1 && !r->by_header;
    r->gap = false;
    r->next = 0;
    r->connected = s->model->n_commits;
    what.by_header = r->by_header;
    what.by_path = r->by_path;
    what.resumed = r->cursor.seq > 0;
    sim_note(s, "%s connects to %s in %s after %" PRIu64 ".%u%s%s", r->name, r->job,
             r->format->dialect->name, r->cursor.seq, r->cursor.k,
             r->by_header ? " by header"
             : r->by_path ? " by path"
                          : "",
             r->req->is_header ? " (HEAD)" : "");
    r->home = sim_some_server(s);
    job_stream_open(r->home->loops[r->loop].streams, r->req, &what);
}

/* --- choosing --------------------------------------------------------------------- */

static struct cursor some_cursor(struct sim *s, const struct truth *t)
{
    size_t what = chance_below(&s->chance, 100);
    uint64_t n = t != NULL ? t->n : 0;

    if (what < 60 || n == 0)
        return (struct cursor){ 0 };
    if (what < 85)
        return (struct cursor){ 1 + chance_below(&s->chance, n), 0 };
    if (what < 95)
        return (struct cursor){ 1 + chance_below(&s->chance, n),
                                (uint32_t)chance_between(&s->chance, 1, 3) };
    return (struct cursor){ n + 1 + chance_below(&s->chance, 40), 0 }; /* of another server */
}

static void choose(struct sim *s, struct reader_sim *r)
{
    if (s->n_submissions == 0)
        return;
    size_t recent = s->n_submissions < 8 ? s->n_submissions : 8;
    size_t i = chance_of(&s->chance, 700)
                   ? s->n_submissions - 1 - chance_below(&s->chance, recent)
                   : chance_below(&s->chance, s->n_submissions);

    memcpy(r->job, s->submissions[i].id, sizeof(r->job));
    r->format = &ways[chance_below(&s->chance, sizeof(ways) / sizeof(ways[0]))];
    r->loop = (unsigned)chance_below(&s->chance, s->p.n_loops);
    const struct reader_sim *other = &s->readers[chance_below(&s->chance, MAX_READERS)];
    if (other->req != NULL && chance_of(&s->chance, 300)) { /* beside somebody else */
        memcpy(r->job, other->job, sizeof(r->job));
        r->format = other->format;
        r->loop = other->loop;
    }
    r->cursor = some_cursor(s, model_truth(s->model, str_of(r->job)));
    r->n_tries = 0;
    r->slow = chance_of(&s->chance, 300);
    r->chosen = true;
}

/* --- frames ----------------------------------------------------------------------- */

/* The rest of the line that begins with @name. */
static struct str line_value(struct str frame, struct str name)
{
    while (frame.n > 0) {
        size_t n = str_find(frame, '\n');
        struct str line = str_head(frame, n);

        if (str_starts(line, name))
            return str_skip(line, name.n);
        frame = str_skip(frame, n + 1);
    }
    return STR_NONE;
}

/* What stands between @before and the next quotation mark. */
static struct str quoted(struct str frame, struct str before)
{
    for (; frame.n > 0; frame = str_skip(frame, 1))
        if (str_starts(frame, before))
            return str_head(str_skip(frame, before.n),
                            str_find(str_skip(frame, before.n), '"'));
    return STR_NONE;
}

static struct str frame_id(const struct reader_sim *r, struct str frame)
{
    struct str before = STR("{\"id\":\"");

    if (is_sse(r))
        return line_value(frame, STR("id: "));
    return str_starts(frame, before) ? quoted(frame, before) : STR_NONE;
}

static struct str frame_event(const struct reader_sim *r, struct str frame)
{
    return is_sse(r) ? line_value(frame, STR("event: ")) : quoted(frame, STR("\"event\":\""));
}

/* May a connection of @r begin with frame @i of the stream? */
static bool may_begin(const struct reader_sim *r,
                      const struct truth *t,
                      const struct canon *c,
                      size_t i)
{
    size_t after = canon_after(c, r->asked);

    if (i == after && r->asked.seq <= t->n)
        return true;
    if (i == 0 && r->gap && !r->by_header)
        return true;
    if (i == 0 && r->gap)
        return true;
    /* A person who has everything gets the end once more. */
    return truth_is_final(t) && r->by_path && after == c->n && c->frames[i].place.seq == t->n &&
           (i == 0 || c->frames[i - 1].place.seq < t->n);
}

/* Finds the job that has what this connection has brought: an id may have been used again,
 * and the first frames of two jobs may be the same. */
static bool find_truth_in(struct sim *s, struct reader_sim *r, struct truth *t)
{
    struct str seen = buf_text(&r->seen);
    const struct canon *c = truth_canon(s->model, t, r->format);

    for (size_t i = 0; i < c->n; i++) {
        size_t from = i > 0 ? c->frames[i - 1].end : 0, k = i;

        if (c->bytes.n - from < seen.n || memcmp(c->bytes.p + from, seen.p, seen.n) != 0 ||
            !may_begin(r, t, c, i))
            continue;
        while (c->frames[k].end < from + seen.n)
            k++;
        r->truth = t;
        r->next = k + 1;
        return true;
    }
    return false;
}

static bool find_truth(struct sim *s, struct reader_sim *r)
{
    for (struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (str_eq(t->job->row.id, str_of(r->job)) && find_truth_in(s, r, t))
            return true;
    return false;
}

/* Takes out of @frame what the end of a job says to a reader who comes back, and to no other.
 */
static struct str without_reconnected(const struct reader_sim *r,
                                      struct str frame,
                                      struct buf *out)
{
    const struct str word = STR(",\"reconnected\":true");

    for (size_t i = 0; i + word.n <= frame.n && r->asked.seq > 0; i++) {
        if (memcmp(frame.p + i, word.p, word.n) != 0)
            continue;
        buf_str(out, str_head(frame, i));
        buf_str(out, str_skip(frame, i + word.n));
        return buf_text(out);
    }
    return frame;
}

static void take_frame_with_id(struct sim *s,
                               struct reader_sim *r,
                               struct str wire,
                               struct str id)
{
    const struct canon *c =
        r->truth != NULL ? truth_canon(s->model, r->truth, r->format) : NULL;
    struct buf plain;

    buf_init(&plain, SIZE_MAX / 4);
    struct str frame =
        r->format->dialect == &dialect_aiq ? without_reconnected(r, wire, &plain) : wire;
    buf_str(&r->seen, frame);
    if (c != NULL && r->next < c->n && str_eq(canon_frame(c, r->next), frame))
        r->next++;
    else if (!find_truth(s, r))
        sim_fail(s,
                 "%s (%s of %s, connected after %" PRIu64 ".%u%s) got as frame %zu\n%.*s"
                 "instead of\n%.*s",
                 r->name, r->format->dialect->name, r->job, r->asked.seq, r->asked.k,
                 r->gap ? ", gap" : "", r->next, STR_ARG(str_head(frame, 400)),
                 STR_ARG(c == NULL        ? STR("(another first frame)")
                         : r->next < c->n ? str_head(canon_frame(c, r->next), 400)
                                          : STR("(nothing: no more is committed)")));
    buf_done(&plain);
    if (cursor_parse(id, &r->cursor) != 0)
        sim_fail(s, "%s: an id \"%.*s\"", r->name, STR_ARG(id));
    r->n_tries = 0;
    s->model->n_reads++;
}

/* Retention has taken away what comes next: it goes on where the job's ending begins. */
static void take_expiry(struct sim *s, struct reader_sim *r, uint64_t oldest)
{
    bool known = false;

    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        known |= str_eq(t->job->row.id, str_of(r->job)) && t->first_seq == oldest;
    if (!known)
        sim_fail(s, "%s: %s is said to begin at %" PRIu64, r->name, r->job, oldest);
    if (r->seen.n > 0 && r->cursor.seq + (r->cursor.k == 0) >= oldest)
        sim_fail(s, "%s: %s has lost nothing after %" PRIu64, r->name, r->job, r->cursor.seq);
    r->gap = false;
    r->asked = (struct cursor){ .seq = oldest - 1 };
    r->truth = NULL;
    r->next = 0;
    buf_clear(&r->seen);
}

static void take_gap(struct sim *s, struct reader_sim *r, struct str frame)
{
    static const char mark[] = "\"oldest\":";

    r->gap = true;
    for (size_t i = 0; i + sizeof(mark) < frame.n; i++)
        if (memcmp(frame.p + i, mark, sizeof(mark) - 1) == 0)
            take_expiry(s, r, strtoull(frame.p + i + sizeof(mark) - 1, NULL, 10));
}

/* Frames that are made for the connection. */
static void take_frame_without_id(struct sim *s, struct reader_sim *r, struct str frame)
{
    static const struct str known[] = { { "stream.mode", 11 },   { "job.status", 10 },
                                        { "job.heartbeat", 13 }, { "job.shutdown", 12 },
                                        { "stream.gap", 10 },    { "stream.keep_alive", 17 } };
    struct str event = frame_event(r, frame);

    if (str_starts(frame, STR(":")) || str_starts(frame, STR("retry: ")))
        return;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(event, known[i])) {
            if (i == 4)
                take_gap(s, r, frame);
            return;
        }
    }
    sim_fail(s, "%s: a frame without an id:\n%.*s", r->name, STR_ARG(str_head(frame, 400)));
}

/* Bytes up to and with the next blank line, or the next line; 0: there is none. */
static size_t frame_length(const struct reader_sim *r, struct str text)
{
    if (!is_sse(r))
        return str_find(text, '\n') < text.n ? str_find(text, '\n') + 1 : 0;
    for (size_t n = str_find(text, '\n'); n + 1 < text.n;
         n += 1 + str_find(str_skip(text, n + 1), '\n'))
        if (text.p[n + 1] == '\n')
            return n + 2;
    return 0;
}

static void take_frames(struct sim *s, struct reader_sim *r)
{
    struct str rest = buf_text(&r->text);
    size_t n;

    while ((n = frame_length(r, rest)) > 0) {
        struct str frame = str_head(rest, n);
        struct str id = frame_id(r, frame);

        if (id.p != NULL)
            take_frame_with_id(s, r, frame, id);
        else
            take_frame_without_id(s, r, frame);
        rest = str_skip(rest, frame.n);
    }
    if (rest.n < r->text.n && rest.n > 0)
        memmove(r->text.p, rest.p, rest.n);
    buf_cut(&r->text, rest.n);
}

/* --- bytes ------------------------------------------------------------------------ */

/* A chunk: eight digits, a line end, so many bytes, a line end. */
static size_t take_chunk(struct sim *s, struct reader_sim *r, struct str bytes)
{
    char digits[9] = { 0 };

    if (bytes.n < 10)
        return 0;
    memcpy(digits, bytes.p, 8);
    size_t n = strtoul(digits, NULL, 16);
    if (bytes.n < n + 12)
        return 0;
    if (n == 0 || memcmp(bytes.p + 8, "\r\n", 2) != 0 ||
        memcmp(bytes.p + 10 + n, "\r\n", 2) != 0)
        sim_fail(s, "%s: a broken chunk", r->name);
    buf_put(&r->text, bytes.p + 10, n);
    return n + 12;
}

static void take_bytes(struct sim *s, struct reader_sim *r)
{
    struct buf *got = &r->req->got;
    size_t used = 0, n;

    if (!r->format->chunked) {
        buf_str(&r->text, buf_text(got));
        used = got->n;
    }
    while (used < got->n && (n = take_chunk(s, r, buf_since(got, used))) > 0)
        used += n;
    if (used > 0) {
        memmove(got->p, got->p + used, got->n - used);
        buf_cut(got, got->n - used);
    }
    take_frames(s, r);
}

/* --- how a connection ends ---------------------------------------------------------- */

/* Is there nothing left of @t for it to read? */
static bool has_all(struct sim *s, struct reader_sim *r, struct truth *t)
{
    const struct canon *c = truth_canon(s->model, t, r->format);

    return r->truth == t ? r->next == c->n
                         : canon_after(c, r->gap ? (struct cursor){ 0 } : r->asked) == c->n;
}

static struct truth *job_of(struct sim *s, struct reader_sim *r)
{
    return r->truth != NULL ? r->truth : model_truth(s->model, str_of(r->job));
}

/* Is what has come all there is of @t (or was, when retention or somebody took it away)? */
static bool is_all_of(struct sim *s, struct reader_sim *r, struct truth *t)
{
    struct truth *truth = r->truth;
    size_t next = r->next;

    if (!str_eq(t->job->row.id, str_of(r->job)) || (!truth_is_final(t) && t->gone == 0))
        return false;
    if (t->gone != 0)
        return true;
    r->truth = NULL;
    if (r->seen.n > 0 && !find_truth_in(s, r, t)) {
        r->truth = truth;
        r->next = next;
        return false;
    }
    return has_all(s, r, t);
}

static void take_clean_end(struct sim *s, struct reader_sim *r)
{
    bool ok = false;

    for (struct truth *t = s->model->truths; t != NULL && !ok; t = t->next)
        ok = is_all_of(s, r, t);
    if (!ok)
        sim_fail(s, "%s (%s of %s) was ended before it had everything (at %" PRIu64 ".%u)",
                 r->name, r->format->dialect->name, r->job, r->cursor.seq, r->cursor.k);
    r->chosen = false;
}

/* The same before it got anything, also of what retention has left. */
static bool nothing_left(struct sim *s, struct reader_sim *r, struct truth *t)
{
    struct cursor after = r->asked;

    if (after.seq < t->first_seq)
        after = (struct cursor){ .seq = t->first_seq - 1 };
    return canon_after(truth_canon(s->model, t, r->format), after) ==
           truth_canon(s->model, t, r->format)->n;
}

static void take_answer(struct sim *s, struct reader_sim *r)
{
    struct truth *t = model_truth(s->model, str_of(r->job));
    int status = r->req->status;

    sim_note(s, "%s is answered %d %s", r->name, status, r->req->reason);
    if (status == 404 && t != NULL && t->gone == 0 && t->created <= r->connected)
        sim_fail(s, "%s: %s is said not to be there", r->name, r->job);
    if (status == 204 && !(r->by_header && t != NULL &&
                           (t->gone != 0 || t->created > r->connected ||
                            (truth_is_final(t) && nothing_left(s, r, t)))))
        sim_fail(s, "%s is told that it has all of %s", r->name, r->job);
    bool is_away = status == 503 && !is_sse(r) && r->req->is_over;
    if (status != 204 && status != 404 && status != 200 && !is_away &&
        s->p.read_fault_permille == 0)
        sim_fail(s, "%s is answered %d", r->name, status);
    if (status == 204 || status == 404)
        r->chosen = false;
}

/* Was there a job of that id that has gone?  News of it may be behind a new
 * one's first. */
static bool has_lost_job(struct sim *s, const struct reader_sim *r)
{
    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (str_eq(t->job->row.id, str_of(r->job)) && t->gone != 0)
            return true;
    return false;
}

static void take_cut(struct sim *s, struct reader_sim *r)
{
    sim_note(s, "%s is cut: %s", r->name, r->req->reason);
    if (strcmp(r->req->reason, "the job was deleted") == 0 && !has_lost_job(s, r))
        sim_fail(s, "%s: %s is said to be deleted", r->name, r->job);
    if (strstr(r->req->reason, "memory") != NULL)
        sim_fail(s, "%s: %s", r->name, r->req->reason);
}

/* Looks at what has happened to the connection; false when it is over. */
static bool look(struct sim *s, struct reader_sim *r)
{
    struct http_request *req = r->req;

    if (req->answered && !req->streaming) {
        take_answer(s, r);
        disconnect(r);
        return false;
    }
    if (!req->answered)
        return true;
    take_bytes(s, r);
    if (!fake_http_must_close(req))
        return true;
    if (req->ended && !req->cut)
        take_clean_end(s, r);
    else
        take_cut(s, r);
    fake_http_close(req);
    disconnect(r);
    return false;
}

/* --- steps ------------------------------------------------------------------------ */

void reader_step(struct sim *s, size_t i)
{
    struct reader_sim *r = &s->readers[i];

    if (r->req == NULL) {
        if (!r->chosen || chance_of(&s->chance, 20))
            choose(s, r);
        if (r->chosen && s->now >= r->away_until)
            connect_to(s, r);
        return;
    }
    if (!look(s, r))
        return;
    if (chance_of(&s->chance, 40)) {
        sim_note(s, "%s leaves %s after %" PRIu64 ".%u", r->name, r->job, r->cursor.seq,
                 r->cursor.k);
        if (chance_of(&s->chance, 300))
            r->away_until = s->now + chance_between(&s->chance, 0, 20000);
        leave(r);
    } else if (r->req->streaming) {
        fake_http_drain(r->req, chance_below(&s->chance, r->slow ? 300 : 65536));
    }
}

/* --- at rest ---------------------------------------------------------------------- */

static bool move_readers(struct sim *s)
{
    bool moved = false;

    for (size_t i = 0; i < MAX_READERS; i++) {
        struct reader_sim *r = &s->readers[i];

        if (r->req == NULL)
            continue;
        bool waited = r->req->n_pending > 0;
        if (r->req->streaming && waited)
            fake_http_drain(r->req, 1 << 24);
        moved |= !look(s, r) || waited;
    }
    return moved;
}

static bool move_server(struct sim *s, struct server *server)
{
    bool moved = false;

    for (unsigned i = 0; i < s->p.n_loops; i++) {
        while (fake_mailbox_waiting(server->loops[i].box) > 0) {
            fake_mailbox_deliver(server->loops[i].box);
            moved = true;
        }
    }
    while (fake_pool_waiting(server->pool) > 0) {
        fake_pool_run(server->pool, 0);
        moved = true;
    }
    return moved;
}

static bool move_all(struct sim *s)
{
    bool moved = move_readers(s);

    for (size_t i = 0; i < MAX_GATEWAYS; i++)
        if (s->servers[i].up)
            moved |= move_server(s, &s->servers[i]);
    return moved;
}

static void check_at_rest(struct sim *s, struct reader_sim *r)
{
    struct truth *t = job_of(s, r);

    if (!r->req->streaming)
        sim_fail(s, "%s waits for an answer about %s", r->name, r->job);
    if (t == NULL || (t->gone != 0 && t->created <= r->connected))
        sim_fail(s, "%s still reads %s, which is gone", r->name, r->job);
    if (!has_all(s, r, t))
        sim_fail(s, "%s (%s of %s) is at rest at %" PRIu64 ".%u, there is more", r->name,
                 r->format->dialect->name, r->job, r->cursor.seq, r->cursor.k);
    if (truth_is_final(t))
        sim_fail(s, "%s (%s of %s) has all of it and is not told so", r->name,
                 r->format->dialect->name, r->job);
}

static void come_to_rest(struct sim *s)
{
    unsigned n = 0;

    while (move_all(s))
        if (++n > 2000) {
            for (size_t i = 0; i < MAX_READERS; i++)
                if (s->readers[i].req != NULL)
                    sim_note(s, "%s reads %s in %s, at %" PRIu64 ".%u", s->readers[i].name,
                             s->readers[i].job, s->readers[i].format->dialect->name,
                             s->readers[i].cursor.seq, s->readers[i].cursor.k);
            sim_fail(s, "the readers do not come to rest");
        }
}

static void check_hubs(struct sim *s, const struct server *server)
{
    for (unsigned i = 0; i < s->p.n_loops; i++) {
        size_t here = 0;

        for (size_t k = 0; k < MAX_READERS; k++)
            here += s->readers[k].req != NULL && s->readers[k].home == server &&
                    s->readers[k].loop == i;
        if (hub_readers(server->loops[i].hub) != here)
            sim_fail(s, "the hub has %zu readers, there are %zu",
                     hub_readers(server->loops[i].hub), here);
    }
}

/* A gateway that takes itself for the one that writes hears of nobody else, until it knows. */
static bool is_told(const struct sim *s, const struct server *server)
{
    return s->p.n_gateways == 0 || server->store == NULL || disk_holds(s->disk, server->store);
}

/* Everybody has what was pushed and told. */
static void check_pushed(struct sim *s)
{
    for (size_t i = 0; i < MAX_READERS; i++) {
        struct reader_sim *r = &s->readers[i];
        struct truth *t = r->req != NULL && r->req->streaming ? job_of(s, r) : NULL;

        if (t != NULL && t->gone == 0 && pushes_reach(s, r->home, r->loop) && !has_all(s, r, t))
            sim_fail(s,
                     "%s (%s of %s) is at %" PRIu64 ".%u: more was neither pushed nor told to "
                     "gateway %u",
                     r->name, r->format->dialect->name, r->job, r->cursor.seq, r->cursor.k,
                     r->home->instance);
    }
}

void readers_settle(struct sim *s)
{
    come_to_rest(s);
    if (pushes_settle(s)) {
        come_to_rest(s);
        check_pushed(s);
    }
    /* What was not told is found by a re-check: the next one, or the one after it when
     * something else was told meanwhile. */
    for (unsigned i = 0; i < 2 && s->server->notifier.ops->may_lose; i++) {
        server_pass_time(s, 1000);
        come_to_rest(s);
    }
    for (size_t i = 0; i < MAX_GATEWAYS; i++)
        if (s->servers[i].up)
            check_hubs(s, &s->servers[i]);
    for (size_t i = 0; i < MAX_READERS; i++)
        if (s->readers[i].req != NULL && is_told(s, s->readers[i].home))
            check_at_rest(s, &s->readers[i]);
}

bool readers_finished(struct sim *s)
{
    bool finished = true;

    for (size_t i = 0; i < MAX_READERS; i++) {
        struct reader_sim *r = &s->readers[i];

        if (!r->chosen && r->req == NULL)
            continue;
        finished = false;
        if (r->req == NULL) {
            if (r->n_tries++ > 5)
                sim_fail(s, "%s cannot read %s to its end", r->name, r->job);
            connect_to(s, r);
        }
    }
    readers_settle(s);
    return finished;
}
