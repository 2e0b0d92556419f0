/* A request on its way to the keeper of the tokens and back. */
#ifndef API_ERRAND_H
#define API_ERRAND_H

#include "api/api.h"
#include "auth/draft.h"

struct errand {
    struct keeper_request keeper;
    struct letter letter;
    struct app_loop *loop;
    struct http_request *req;              /* NULL: the connection is gone */
    void (*answer)(struct errand *errand); /* on the loop, when it went well and req is there */
    struct draft draft;                    /* of what is created */
    struct token *token;                   /* ref, or NULL; the row may borrow from it */
    struct arena mem;                      /* the texts of the row */
};

/* NULL when memory ran out (the request is answered then). */
struct errand *errand_new(struct http_request *req,
                          enum keeper_op op,
                          void (*answer)(struct errand *));
void errand_post(struct errand *e);
/* For one that never left; does not answer. */
void errand_free(struct errand *e);

/* What the holder of a token may know of it, as the members of an object that goes on. */
void errand_put_token(struct buf *b, const struct token *t);

#endif
