/* From bytes to one request: llhttp, and stricter rules on top of it.  No sockets.
 *
 *     parser_feed ... HEAD -> ASK        look at the head, then
 *     parser_accept   ASK -> BODY or DONE
 *     parser_feed ... BODY -> DONE
 *     parser_reset    for the next request of the connection */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include "base/buf.h"
#include "base/str.h"
#include "http/head.h"

#include <llhttp.h>
#include <stdint.h>

enum parser_state {
    PARSER_HEAD,
    PARSER_ASK,
    PARSER_BODY,
    PARSER_DONE,
    PARSER_BAD, /* see status and problem; nothing more is read */
};

enum { PARSER_MAX_HEADERS = 100 };

/* Places in `text`, which may move while the head arrives. */
struct parser_header {
    uint32_t name_at, name_n;
    uint32_t value_at, value_n;
};

struct parser {
    llhttp_t llhttp;
    struct head scan;
    enum parser_state state;
    int status;          /* when bad: 400, 413, 414, 431, 500, 501, 505 */
    const char *problem; /* one sentence; static */
    bool head_done;      /* llhttp said so */
    bool complete;       /* llhttp has seen the last byte of the body */
    bool is_chunked;
    bool in_name;
    uint64_t length; /* of the body as announced; 0 when chunked */
    size_t max_head; /* bytes */
    size_t max_body;
    size_t head_bytes;    /* as received */
    size_t body_bytes;    /* as received, with chunk sizes and trailers */
    size_t skipped_bytes; /* of chunk extensions and trailers */
    struct buf text;      /* target, names and values, back to back */
    struct buf body;
    size_t target_n;
    uint32_t n_headers;
    struct parser_header headers[PARSER_MAX_HEADERS];
};

void parser_init(struct parser *p, size_t max_head);
void parser_done(struct parser *p);
/* Ready for the next request.  Keeps its buffers unless they have grown large. */
void parser_reset(struct parser *p);

/* Returns how many bytes were taken: all of them, or those up to the next change of state. */
size_t parser_feed(struct parser *p, struct str in);

/* From ASK: the body may come. */
void parser_accept(struct parser *p, size_t max_body);

struct str parser_target(const struct parser *p);
/* The first header of that name; absent when missing. */
struct str parser_header(const struct parser *p, struct str name);
/* The @i-th header; false after the last. */
bool parser_header_at(const struct parser *p,
                      size_t i,
                      struct str *ret_name,
                      struct str *ret_value);
size_t parser_count_headers(const struct parser *p, struct str name);

static inline bool parser_is_10(const struct parser *p)
{
    return p->llhttp.http_major == 1 && p->llhttp.http_minor == 0;
}

#endif
