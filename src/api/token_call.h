/* A request to the token service: a store query that it answers instead of the thread pool. */
#ifndef API_TOKEN_CALL_H
#define API_TOKEN_CALL_H

#include "api/api.h"
#include "auth/draft.h"

struct token_call {
    struct token_request tokens;
    struct store_query *query; /* whose data this is; its memory has the texts of the row */
    void (*answer)(struct token_call *call); /* on the loop, when it went well and its client
                                              * is there */
    struct draft draft;                      /* of what is created */
};

/* NULL when memory ran out (the request is answered then). */
struct token_call *token_call_new(struct http_request *req,
                                  enum token_op op,
                                  void (*answer)(struct token_call *));
void token_call_post(struct token_call *e);
/* For one that never left; does not answer. */
void token_call_free(struct token_call *e);

/* What the holder of a token may know of it, as the members of an object that goes on. */
void token_call_put_token(struct buf *b, const struct token *t);

#endif
