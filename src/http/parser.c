/* From bytes to one request.
 *
 * The head goes through head_scan first, and llhttp gets exactly the bytes that head_scan
 * takes for the head: when the two disagree about its end, the request is refused.  So is
 * every way to say the body's length that two programs could read differently (RFC 9112,
 * 6.3): two lengths, a transfer coding that is not just "chunked", chunks in HTTP/1.0.
 *
 * llhttp's callbacks copy what they are given to `text` and `body`, which have their
 * limits; trailers are read and forgotten.  llhttp stops at the last byte of a request, so
 * bytes of the next one stay with the caller. */
#include "http/parser.h"

#include "base/error.h"
#include "http/header.h"

enum {
    KEEP_BYTES = 16384, /* a buffer that grew beyond is given back between requests */
    BODY_FIRST = 65536, /* reserved at first for a body of announced length */
    CHUNK_OVERHEAD = 8, /* bytes on the wire per byte of a chunked body */
};

/* Small enough that sums and products do not overflow. */
#define MAX_BODY ((size_t)1 << 48)

/* --- llhttp's callbacks ------------------------------------------------------------- */

static int refuse(struct parser *p, int status, const char *problem)
{
    p->status = status;
    p->problem = problem;
    return HPE_USER;
}

static int append(struct parser *p, struct buf *b, const char *at, size_t n)
{
    buf_put(b, at, n);
    if (b->error == 0)
        return 0;
    return b->error == ERR_NOMEM ? refuse(p, 500, "Out of memory")
                                 : refuse(p, 431, "The request's head is too large");
}

/* Trailers and chunk extensions are read and forgotten, but not without end. */
static int skip(struct parser *p, size_t n)
{
    p->skipped_bytes += n;
    return p->skipped_bytes > p->max_head ? refuse(p, 400, "Too much beside the body") : 0;
}

static int on_url(llhttp_t *l, const char *at, size_t n)
{
    struct parser *p = l->data;

    p->target_n += n;
    return append(p, &p->text, at, n);
}

static int on_header_field(llhttp_t *l, const char *at, size_t n)
{
    struct parser *p = l->data;

    if (p->head_done) /* a trailer */
        return skip(p, n);
    if (!p->in_name) {
        if (p->n_headers == PARSER_MAX_HEADERS)
            return refuse(p, 431, "The request has too many headers");
        p->headers[p->n_headers++] = (struct parser_header){ .name_at = (uint32_t)p->text.n };
        p->in_name = true;
    }
    p->headers[p->n_headers - 1].name_n += (uint32_t)n;
    return append(p, &p->text, at, n);
}

static int on_header_field_complete(llhttp_t *l)
{
    struct parser *p = l->data;

    if (p->head_done)
        return skip(p, sizeof(": \r\n") - 1);
    p->headers[p->n_headers - 1].value_at = (uint32_t)p->text.n;
    p->in_name = false;
    return 0;
}

static int on_header_value(llhttp_t *l, const char *at, size_t n)
{
    struct parser *p = l->data;

    if (p->head_done)
        return skip(p, n);
    p->headers[p->n_headers - 1].value_n += (uint32_t)n;
    return append(p, &p->text, at, n);
}

static int on_header_value_complete(llhttp_t *l)
{
    struct parser *p = l->data;

    if (p->head_done)
        return 0;
    struct parser_header *h = &p->headers[p->n_headers - 1];
    while (h->value_n > 0) {
        char last = p->text.p[h->value_at + h->value_n - 1];
        if (last != ' ' && last != '\t')
            break;
        h->value_n--;
    }
    return 0;
}

static int on_headers_complete(llhttp_t *l)
{
    struct parser *p = l->data;

    p->head_done = true;
    p->is_chunked = (l->flags & F_CHUNKED) != 0;
    p->length = p->is_chunked ? 0 : l->content_length;
    l->upgrade = 0; /* llhttp must not stop parsing: handlers decide about upgrades */
    return 0;
}

static int on_chunk_extension(llhttp_t *l, const char *at, size_t n)
{
    (void)at;
    return skip(l->data, n);
}

static int on_chunk_header(llhttp_t *l)
{
    struct parser *p = l->data;

    /* Also stops a size whose sum with what came before would overflow. */
    if (l->content_length > p->max_body - p->body.n)
        return refuse(p, 413, "The request's body is too large");
    return 0;
}

static int on_body(llhttp_t *l, const char *at, size_t n)
{
    struct parser *p = l->data;

    if (n > p->max_body - p->body.n)
        return refuse(p, 413, "The request's body is too large");
    return append(p, &p->body, at, n);
}

static int on_message_complete(llhttp_t *l)
{
    struct parser *p = l->data;

    p->complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t callbacks = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_chunk_header = on_chunk_header,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* --- the head ----------------------------------------------------------------------- */

static void fail(struct parser *p, int status, const char *problem)
{
    p->state = PARSER_BAD;
    p->status = status;
    p->problem = problem;
}

/* After llhttp returned an error of its own or passed on one of a callback. */
static void fail_llhttp(struct parser *p)
{
    const char *reason = llhttp_get_error_reason(&p->llhttp);

    p->state = PARSER_BAD;
    if (p->status != 0)
        return;
    p->status = 400;
    p->problem = reason != NULL && reason[0] != '\0' ? reason : "Malformed request";
}

static void check_lengths(struct parser *p)
{
    size_t n = parser_count_headers(p, STR("transfer-encoding"));

    if (n == 0)
        return;
    if (parser_is_10(p))
        fail(p, 400, "Transfer-Encoding does not exist in HTTP/1.0");
    else if (n > 1)
        fail(p, 400, "More than one Transfer-Encoding");
    else if (!header_is(parser_header(p, STR("transfer-encoding")), "chunked"))
        fail(p, 501, "The only transfer coding here is chunked");
}

static void check_host(struct parser *p)
{
    size_t n = parser_count_headers(p, STR("host"));

    if (n > 1)
        fail(p, 400, "More than one Host");
    else if (n == 0 && !parser_is_10(p))
        fail(p, 400, "Host is missing");
}

static void finish_head(struct parser *p)
{
    if (!p->head_done) {
        fail(p, 400, "Malformed request");
        return;
    }
    p->state = PARSER_ASK;
    check_lengths(p);
    if (p->state == PARSER_ASK)
        check_host(p);
}

static size_t feed_head(struct parser *p, struct str in)
{
    in = str_head(in, p->max_head - p->head_bytes);
    size_t n = head_scan(&p->scan, in);
    p->head_bytes += n;
    if (p->scan.state == HEAD_BAD) {
        /* Parse the valid part all the same, so that the log can name the target. */
        (void)llhttp_execute(&p->llhttp, in.p, n - 1);
        fail(p, p->scan.status, p->scan.problem);
        return n;
    }
    llhttp_errno_t err = llhttp_execute(&p->llhttp, in.p, n);
    bool at_end = p->scan.state == HEAD_DONE;
    if (err != HPE_OK && !(err == HPE_PAUSED && p->complete && at_end))
        fail_llhttp(p);
    else if (at_end)
        finish_head(p);
    else if (p->head_done)
        fail(p, 400, "Malformed request");
    else if (p->head_bytes == p->max_head)
        fail(p, p->scan.in_request_line ? 414 : 431, "The request's head is too large");
    return n;
}

/* --- the body ----------------------------------------------------------------------- */

/* How many bytes the body may take on the wire; a sender can pad chunk sizes, too. */
static size_t body_allowance(const struct parser *p)
{
    return p->is_chunked ? p->max_head + CHUNK_OVERHEAD * p->max_body : (size_t)p->length;
}

static size_t feed_body(struct parser *p, struct str in)
{
    in = str_head(in, body_allowance(p) - p->body_bytes);
    llhttp_errno_t err = llhttp_execute(&p->llhttp, in.p, in.n);
    size_t n = in.n;

    if (err == HPE_PAUSED && p->complete) {
        n = (size_t)(llhttp_get_error_pos(&p->llhttp) - in.p);
        p->state = PARSER_DONE;
    } else if (err != HPE_OK) {
        fail_llhttp(p);
    }
    p->body_bytes += n;
    if (p->state == PARSER_BODY && p->body_bytes == body_allowance(p))
        fail(p, 400, "The body's chunks are mostly overhead");
    return n;
}

/* --- public ------------------------------------------------------------------------- */

static void start(struct parser *p)
{
    llhttp_init(&p->llhttp, HTTP_REQUEST, &callbacks);
    p->llhttp.data = p;
    head_init(&p->scan);
}

void parser_init(struct parser *p, size_t max_head)
{
    p->state = PARSER_HEAD;
    p->status = 0;
    p->problem = NULL;
    p->head_done = p->complete = p->is_chunked = p->in_name = false;
    p->length = 0;
    p->max_head = max_head;
    p->max_body = 0;
    p->head_bytes = p->body_bytes = p->skipped_bytes = p->target_n = 0;
    p->n_headers = 0;
    buf_init(&p->text, max_head);
    buf_init(&p->body, MAX_BODY); /* the callbacks know the limit */
    start(p);
}

void parser_done(struct parser *p)
{
    buf_done(&p->text);
    buf_done(&p->body);
}

static void empty(struct buf *b)
{
    if (b->cap > KEEP_BYTES)
        buf_done(b);
    buf_clear(b);
}

void parser_reset(struct parser *p)
{
    struct buf text = p->text;
    struct buf body = p->body;

    empty(&text);
    empty(&body);
    parser_init(p, p->max_head);
    p->text = text;
    p->body = body;
}

size_t parser_feed(struct parser *p, struct str in)
{
    switch (p->state) {
    case PARSER_HEAD:
        return feed_head(p, in);
    case PARSER_BODY:
        return feed_body(p, in);
    case PARSER_ASK:
    case PARSER_DONE:
    case PARSER_BAD:
        break;
    }
    return 0;
}

void parser_accept(struct parser *p, size_t max_body)
{
    p->max_body = max_body < MAX_BODY ? max_body : MAX_BODY;
    p->state = p->complete ? PARSER_DONE : PARSER_BODY;
    if (p->length > p->max_body) {
        fail(p, 413, "The request's body is too large");
    } else if (p->length > 0) {
        size_t first = p->length < BODY_FIRST ? (size_t)p->length : BODY_FIRST;
        if (!buf_reserve(&p->body, first))
            fail(p, 500, "Out of memory");
    }
}

struct str parser_target(const struct parser *p)
{
    return str_head(buf_text(&p->text), p->target_n);
}

static struct str header_name(const struct parser *p, uint32_t i)
{
    return str_make(p->text.p + p->headers[i].name_at, p->headers[i].name_n);
}

struct str parser_header(const struct parser *p, struct str name)
{
    for (uint32_t i = 0; i < p->n_headers; i++)
        if (header_eq(header_name(p, i), name))
            return str_make(p->text.p + p->headers[i].value_at, p->headers[i].value_n);
    return STR_NONE;
}

bool parser_header_at(const struct parser *p,
                      size_t i,
                      struct str *ret_name,
                      struct str *ret_value)
{
    if (i >= p->n_headers)
        return false;
    *ret_name = header_name(p, (uint32_t)i);
    *ret_value = str_make(p->text.p + p->headers[i].value_at, p->headers[i].value_n);
    return true;
}

size_t parser_count_headers(const struct parser *p, struct str name)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_headers; i++)
        n += header_eq(header_name(p, i), name);
    return n;
}
