#include "cluster/codec.h"

#include "cluster/layout.h"

#include <limits.h>

enum { MAX_JOBS = 10000 }; /* in one SUBMIT */

/* --- writing ------------------------------------------------------------------------------ */

static void put_uint(struct buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_char(b, (char)(n | 0x80));
    buf_char(b, (char)n);
}

/* Small numbers are short, whatever their sign. */
static void put_int(struct buf *b, int64_t n)
{
    put_uint(b, ((uint64_t)n << 1) ^ (uint64_t)(n >> 63));
}

static void put_text(struct buf *b, struct str text)
{
    put_uint(b, str_absent(text) ? 0 : text.n + 1);
    buf_str(b, text);
}

static void put_struct(struct buf *b, const struct layout *l, const char *at, unsigned flow);

static void put_array(struct buf *b, const struct member *m, const char *at, unsigned flow)
{
    const char *rows = *(const char *const *)(const void *)(at + m->at);
    size_t n = *(const size_t *)(const void *)(at + m->n_at);

    put_uint(b, n);
    for (size_t i = 0; i < n; i++)
        put_struct(b, m->of, rows + i * m->of->size, flow);
}

static void put_pointer(struct buf *b, const struct member *m, const char *at, unsigned flow)
{
    const char *there = *(const char *const *)(const void *)(at + m->at);

    put_uint(b, there != NULL);
    if (there != NULL)
        put_struct(b, m->of, there, flow);
}

static void put_member(struct buf *b, const struct member *m, const char *at, unsigned flow)
{
    const void *p = at + m->at;

    switch (m->kind) {
    case MEMBER_TEXT:
        put_text(b, *(const struct str *)p);
        break;
    case MEMBER_INT64:
        put_int(b, *(const int64_t *)p);
        break;
    case MEMBER_INT:
        put_int(b, *(const int *)p);
        break;
    case MEMBER_BOOL:
        put_uint(b, *(const bool *)p);
        break;
    case MEMBER_STRUCT:
        put_struct(b, m->of, p, flow);
        break;
    case MEMBER_POINTER:
        put_pointer(b, m, at, flow);
        break;
    case MEMBER_ARRAY:
        put_array(b, m, at, flow);
        break;
    case MEMBER_OWN:
        break;
    }
}

static void put_struct(struct buf *b, const struct layout *l, const char *at, unsigned flow)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->members[i].flow & flow)
            put_member(b, &l->members[i], at, flow);
}

static void put_parts(struct buf *b, const struct journal_request *req, unsigned flow)
{
    const struct layout *op = layout_of_op(req->op);

    put_struct(b, layout_of_header(), (const char *)req, flow);
    if (op != NULL)
        put_struct(b, op, (const char *)req + LAYOUT_OP_AT, flow);
}

static const struct journal_request *next_job(const struct journal_request *req)
{
    return req->op == JOURNAL_SUBMIT ? req->submit.more : NULL;
}

void codec_put_request(struct buf *b, const struct journal_request *req)
{
    size_t n = 0;

    for (const struct journal_request *r = next_job(req); r != NULL; r = next_job(r))
        n++;
    put_uint(b, req->op);
    put_uint(b, n);
    for (; req != NULL; req = next_job(req))
        put_parts(b, req, FLOW_IN);
}

/* Lines that an append has refused are no error of the request. */
static bool says_why(const struct journal_request *req)
{
    return req->code != 0 || (req->op == JOURNAL_APPEND && req->append.taken.rejected > 0);
}

void codec_put_answer(struct buf *b, const struct journal_request *req)
{
    put_int(b, req->code);
    put_text(b, says_why(req) ? str_of(req->why.text) : STR_NONE);
    for (; req != NULL; req = next_job(req))
        put_parts(b, req, FLOW_OUT);
}

/* --- reading ------------------------------------------------------------------------------ */

/* What is left of the bytes.  An error sticks; what is read after it is 0. */
struct decoder {
    struct str left;
    struct arena *mem; /* borrowed */
    int err;
};

static uint64_t fail(struct decoder *d, int err)
{
    if (d->err == 0)
        d->err = err;
    d->left.n = 0;
    return 0;
}

static uint64_t read_uint(struct decoder *d)
{
    uint64_t n = 0;

    for (unsigned shift = 0; shift < 64 && d->left.n > 0; shift += 7) {
        unsigned char c = (unsigned char)d->left.p[0];

        d->left = str_skip(d->left, 1);
        if (shift == 63 && c > 1)
            break;
        n |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return n;
    }
    return fail(d, ERR_SYNTAX);
}

static int64_t read_int(struct decoder *d)
{
    uint64_t n = read_uint(d);

    return (int64_t)(n >> 1 ^ (0 - (n & 1)));
}

/* Lies in the bytes. */
static struct str read_text(struct decoder *d)
{
    uint64_t n = read_uint(d);

    if (n > (uint64_t)d->left.n + 1)
        (void)fail(d, ERR_SYNTAX);
    if (n == 0 || d->err != 0)
        return STR_NONE;
    struct str text = str_head(d->left, (size_t)n - 1);
    d->left = str_skip(d->left, text.n);
    return text;
}

/* At most @max; 0 for @max: any that an int has. */
static int read_small(struct decoder *d, int max)
{
    int64_t n = read_int(d);

    if (n > INT_MAX || n < INT_MIN || (max != 0 && (n < 0 || n > max)))
        n = (int64_t)fail(d, ERR_SYNTAX);
    return (int)n;
}

static bool read_bool(struct decoder *d)
{
    uint64_t n = read_uint(d);

    return (n > 1 ? fail(d, ERR_SYNTAX) : n) != 0;
}

static void *allocate(struct decoder *d, size_t n)
{
    void *p = d->err == 0 ? arena_alloc(d->mem, n) : NULL;

    if (p == NULL)
        (void)fail(d, ERR_NOMEM);
    else
        memset(p, 0, n);
    return p;
}

static void read_struct(struct decoder *d, const struct layout *l, char *at, unsigned flow);

static void read_array(struct decoder *d, const struct member *m, char *at, unsigned flow)
{
    uint64_t n = read_uint(d);
    size_t bytes = 0; /* of a row, at least */
    char *rows = NULL;

    for (size_t i = 0; i < m->of->n; i++)
        bytes += (m->of->members[i].flow & flow) != 0;
    if (n > d->left.n / bytes)
        n = fail(d, ERR_SYNTAX);
    if (n > 0)
        rows = allocate(d, (size_t)n * m->of->size);
    if (d->err != 0)
        n = 0;
    for (size_t i = 0; i < n && d->err == 0; i++)
        read_struct(d, m->of, rows + i * m->of->size, flow);
    *(char **)(void *)(at + m->at) = rows;
    *(size_t *)(void *)(at + m->n_at) = (size_t)n;
}

static void read_pointer(struct decoder *d, const struct member *m, char *at, unsigned flow)
{
    char *there = read_bool(d) ? allocate(d, m->of->size) : NULL;

    if (there != NULL)
        read_struct(d, m->of, there, flow);
    *(char **)(void *)(at + m->at) = there;
}

static void read_member(struct decoder *d, const struct member *m, char *at, unsigned flow)
{
    void *p = at + m->at;

    switch (m->kind) {
    case MEMBER_TEXT:
        *(struct str *)p = read_text(d);
        break;
    case MEMBER_INT64:
        *(int64_t *)p = read_int(d);
        break;
    case MEMBER_INT:
        *(int *)p = read_small(d, m->max);
        break;
    case MEMBER_BOOL:
        *(bool *)p = read_bool(d);
        break;
    case MEMBER_STRUCT:
        read_struct(d, m->of, p, flow);
        break;
    case MEMBER_POINTER:
        read_pointer(d, m, at, flow);
        break;
    case MEMBER_ARRAY:
        read_array(d, m, at, flow);
        break;
    case MEMBER_OWN:
        break;
    }
}

static void read_struct(struct decoder *d, const struct layout *l, char *at, unsigned flow)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->members[i].flow & flow)
            read_member(d, &l->members[i], at, flow);
}

static void read_parts(struct decoder *d, struct journal_request *req, unsigned flow)
{
    const struct layout *op = layout_of_op(req->op);

    read_struct(d, layout_of_header(), (char *)req, flow);
    if (op != NULL)
        read_struct(d, op, (char *)req + LAYOUT_OP_AT, flow);
}

/* The texts that are read lie in a copy of the bytes. */
static struct decoder decoder_of(struct str bytes, struct arena *mem)
{
    struct decoder d = { .mem = mem };

    if (!arena_copy(mem, bytes, &d.left))
        (void)fail(&d, ERR_NOMEM);
    return d;
}

/* All bytes must have been used. */
static int end(const struct decoder *d)
{
    return d->err != 0 ? d->err : d->left.n > 0 ? ERR_SYNTAX : 0;
}

/* The journal wants the lines behind one another, with a newline between. */
static void join_lines(struct decoder *d, struct channel_request *feed)
{
    struct journal_line *lines = (struct journal_line *)(uintptr_t)feed->lines;
    size_t bytes = 0;

    for (size_t i = 0; i < feed->n_lines; i++)
        bytes += lines[i].text.n + 1;
    char *at = feed->n_lines > 0 ? allocate(d, bytes) : NULL;
    for (size_t i = 0; at != NULL && i < feed->n_lines; i++) {
        str_copy(at, lines[i].text);
        lines[i].text = str_make(at, lines[i].text.n);
        at += lines[i].text.n;
        *at++ = '\n';
    }
}

static void read_more(struct decoder *d, struct journal_request *first, uint64_t n)
{
    struct journal_request *last = first;

    for (; n > 0 && d->err == 0; n--) {
        struct journal_request *req = allocate(d, sizeof(*req));

        if (req == NULL)
            return;
        req->op = JOURNAL_SUBMIT;
        arena_init(&req->mem);
        last->submit.more = req;
        read_parts(d, req, FLOW_IN);
        last = req;
    }
}

int codec_read_request(struct str bytes, struct journal_request *ret)
{
    struct journal_request *empty = journal_request_begin(ret, JOURNAL_SUBMIT);
    struct decoder d = decoder_of(bytes, &empty->mem);
    uint64_t op = read_uint(&d), n = read_uint(&d);

    if (op >= JOURNAL_OP_MAX || op == JOURNAL_SETTINGS || n > MAX_JOBS ||
        (n > 0 && op != JOURNAL_SUBMIT))
        op = fail(&d, ERR_SYNTAX);
    ret->op = (enum journal_op)op;
    if (d.err == 0)
        read_parts(&d, ret, FLOW_IN);
    if (ret->op == JOURNAL_SUBMIT)
        read_more(&d, ret, n);
    if (ret->op == JOURNAL_FEED)
        join_lines(&d, &ret->feed);
    return end(&d);
}

void codec_request_done(struct journal_request *req)
{
    struct journal_request *next;

    /* The further ones are in the first one's memory. */
    for (struct journal_request *r = (struct journal_request *)(uintptr_t)next_job(req);
         r != NULL; r = next) {
        next = (struct journal_request *)(uintptr_t)next_job(r);
        arena_done(&r->mem);
    }
    arena_done(&req->mem);
}

int codec_read_answer(struct str bytes, struct journal_request *req)
{
    struct decoder d = decoder_of(bytes, &req->mem);

    req->code = read_small(&d, 0);
    struct str why = read_text(&d);
    if (req->code != 0 || !str_absent(why))
        (void)error_set(&req->why, req->code, "%.*s", STR_ARG(str_head(why, 239)));
    for (; req != NULL && d.err == 0; req = (struct journal_request *)(uintptr_t)next_job(req))
        read_parts(&d, req, FLOW_OUT);
    return end(&d);
}
