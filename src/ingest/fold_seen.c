/* What the fold has seen: runs by id, and the keys of everything else that it must recognise
 * (message ids, sections, URLs, updates that are still to come).
 *
 * One table has them all; enum seen_space tells the kinds apart.  The code that decides what an
 * event means looks things up here; fold_apply.c adds them. */
#include "ingest/fold_state.h"

#include "base/error.h"

struct run *fold_find(struct fold *f, struct str run_id)
{
    struct run *last = f->last_found;

    if (run_id.p == NULL)
        return NULL;
    if (last != NULL && last->header != NULL && str_eq(last->header->info.run, run_id))
        return last;
    last = table_get(&f->seen, fold_key(f, SEEN_RUN, run_id));
    if (last != NULL && last->header != NULL && !str_eq(last->header->info.run, run_id))
        return NULL; /* another id with the same key */
    if (last != NULL)
        f->last_found = last;
    return last;
}

struct run *fold_find_exec(struct fold *f, struct str segment)
{
    if (segment.n == 0)
        return NULL;
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->top && str_eq(r->header->info.ns, segment))
            return r;
    return NULL;
}

struct run *fold_open_root(const struct fold *f)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->header->info.root)
            return r;
    return NULL;
}

bool fold_seen(const struct fold *f, struct key k)
{
    return table_get(&f->seen, k) != NULL;
}

struct key fold_owner_key(const struct fold *f, const struct run *exec, struct str message)
{
    struct key k = fold_key(f, SEEN_OWNER, message);

    k.b ^= exec != NULL ? exec->start_seq * 0x9E3779B97F4A7C15u : 0;
    return k;
}

/* The key of a node's due updates in one run of the graph. */
struct key fold_updates_key(const struct fold *f, const struct run *root, struct str node)
{
    struct key k = fold_key(f, SEEN_UPDATES, node);

    k.b ^= root != NULL ? root->start_seq * 0x9E3779B97F4A7C15u : 0;
    return k;
}

uint64_t fold_updates_due(const struct fold *f, struct str node)
{
    const uint64_t *due = table_get(&f->seen, fold_updates_key(f, fold_open_root(f), node));

    return due != NULL ? *due : 0;
}

int fold_expect_update(struct fold *f, const struct run *exec)
{
    struct key k = fold_updates_key(f, exec->root, exec->node);
    uint64_t *due = table_get(&f->seen, k);

    if (due == NULL) {
        due = arena_alloc(&f->keep, sizeof(*due));
        if (due == NULL)
            return ERR_NOMEM;
        *due = 0;
    }
    ++*due;
    return fold_mark(f, k, due);
}

/* Has @run, open or closed, streamed exactly @text? */
static bool has_said(const struct fold *f, const struct run *run, struct str text)
{
    size_t n = run->header != NULL ? run->text.n : run->said_n;
    struct key said =
        run->header != NULL ? table_key(&f->seen, SEEN_TEXT, buf_text(&run->text)) : run->said;

    if (!run->keeps_text)
        return true; /* its end has the whole text */
    return text.n == run->streamed &&
           key_eq(said, table_key(&f->seen, SEEN_TEXT, str_head(text, n)));
}

bool fold_was_sent(const struct fold *f, struct str id, struct str text, struct str data)
{
    const void *found = table_get(&f->seen, fold_key(f, SEEN_MESSAGE, id));
    const struct sent *sent = found;

    if (found == NULL || found == f)
        return false;
    return sent->run != NULL ? has_said(f, sent->run, text)
                             : key_eq(sent->data, table_key(&f->seen, SEEN_TEXT, data));
}

int fold_mark_sent(struct fold *f, struct str id, struct sent what)
{
    struct key k = fold_key(f, SEEN_MESSAGE, id);
    void *found = table_get(&f->seen, k);
    struct sent *sent =
        found == NULL || found == f ? arena_alloc(&f->keep, sizeof(*sent)) : found;

    if (sent == NULL)
        return ERR_NOMEM;
    *sent = what;
    return fold_mark(f, k, sent);
}

struct key fold_section_key(const struct fold *f,
                            enum seen_space space,
                            const struct run *exec,
                            struct str section)
{
    struct key k = table_key(&f->seen, (uint64_t)space, section);

    k.b ^= exec != NULL ? exec->start_seq * 0x9E3779B97F4A7C15u : 0;
    return k;
}
