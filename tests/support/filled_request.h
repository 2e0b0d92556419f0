/* Requests of all operations, filled by their layouts: no two members have the same value. */
#ifndef SUPPORT_FILLED_REQUEST_H
#define SUPPORT_FILLED_REQUEST_H

#include "cluster/layout.h"

#include <stdio.h>
#include <stdlib.h>

struct filler {
    struct arena mem;
    int64_t n;
};

static inline void fill(struct filler *f, const struct layout *l, char *at, unsigned flow);

static inline void *piece(struct filler *f, size_t n)
{
    void *p = arena_alloc(&f->mem, n);

    if (p == NULL)
        abort();
    memset(p, 0, n);
    return p;
}

static inline void fill_member(struct filler *f,
                               const struct member *m,
                               char *at,
                               unsigned flow)
{
    void *p = at + m->at;
    char text[32];

    switch (m->kind) {
    case MEMBER_TEXT:
        (void)snprintf(text, sizeof(text), "text %lld", (long long)++f->n);
        if (!arena_copy(&f->mem, str_of(text), p))
            abort();
        break;
    case MEMBER_INT64:
        *(int64_t *)p = f->n % 2 == 0 ? ++f->n : -(++f->n << 40);
        break;
    case MEMBER_INT:
        *(int *)p = m->max != 0 ? m->max : (int)++f->n;
        break;
    case MEMBER_BOOL:
        *(bool *)p = true;
        break;
    case MEMBER_STRUCT:
        fill(f, m->of, p, flow);
        break;
    case MEMBER_POINTER:
        fill(f, m->of, *(char **)p = piece(f, m->of->size), flow);
        break;
    case MEMBER_ARRAY:
        *(size_t *)(void *)(at + m->n_at) = 2;
        *(char **)p = piece(f, 2 * m->of->size);
        for (size_t i = 0; i < 2; i++)
            fill(f, m->of, *(char **)p + i * m->of->size, flow);
        break;
    case MEMBER_OWN:
        break;
    }
}

static inline void fill(struct filler *f, const struct layout *l, char *at, unsigned flow)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->members[i].flow & flow)
            fill_member(f, &l->members[i], at, flow);
}

static inline void fill_request(struct filler *f, struct journal_request *req, unsigned flow)
{
    const struct layout *op = layout_of_op(req->op);

    fill(f, layout_of_header(), (char *)req, flow);
    if (op != NULL)
        fill(f, op, (char *)req + LAYOUT_OP_AT, flow);
}

#endif
