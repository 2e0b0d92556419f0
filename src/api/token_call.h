/* A request to the token service: a store query that it answers instead of the thread pool. */
#ifndef API_TOKEN_CALL_H
#define API_TOKEN_CALL_H

#include "api/api.h"
#include "auth/draft.h"

struct token_call {
    struct token_request tokens;
    struct store_query *query; /* this is its data; its memory has the texts of the row */
    void (*answer)(struct token_call *call); /* on the loop, after success and while the client
                                                is connected */
    struct draft draft;                      /* of the token to be created */
};

/* NULL when memory ran out (the request is answered then). */
struct token_call *token_call_new(struct http_request *req,
                                  enum token_op op,
                                  void (*answer)(struct token_call *));
void token_call_post(struct token_call *e);
/* For a call that was not posted; does not answer. */
void token_call_free(struct token_call *e);

/* Writes what a token's holder may know of it, as members of an object that the caller
 * closes. */
void token_call_put_token(struct buf *b, const struct token *t);

#endif
