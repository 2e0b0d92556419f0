#include "auth/permit.h"

#include "auth/authenticator.h"

#include <stdlib.h>

struct permit {
    struct token *token; /* ref */
    int64_t until;
};

int permit_new(const struct visitor *v, struct permit **ret)
{
    struct permit *p = malloc(sizeof(*p));

    if (p == NULL)
        return ERR_NOMEM;
    if (!token_take_stream(v->token)) {
        free(p);
        return ERR_LIMIT;
    }
    *p = (struct permit){ .token = token_ref(v->token), .until = v->until };
    *ret = p;
    return 0;
}

void permit_free(struct permit *p)
{
    if (p == NULL)
        return;
    token_give_stream(p->token);
    token_unref(p->token);
    free(p);
}

const struct job_scope *permit_job_scope(const struct permit *p)
{
    return p != NULL ? &p->token->job_scope : NULL;
}

bool permit_holds(const struct permit *p, int64_t now)
{
    return p == NULL || (now < p->until && token_is_good(p->token, now));
}

int64_t permit_until(const struct permit *p)
{
    if (p == NULL)
        return INT64_MAX;
    int64_t ends = atomic_load(&p->token->ends);
    return ends < p->until ? ends : p->until;
}
