#include "redis/publish_cursor.h"

#include "store/store.h"

#include <stdlib.h>

void publish_cursors_init(struct publish_cursors *all)
{
    *all = (struct publish_cursors){ 0 };
    table_init(&all->by_id);
    all->all.prev = all->all.next = &all->all;
    all->last = &all->first;
}

void publish_cursors_done(struct publish_cursors *all)
{
    while (all->all.next != &all->all)
        publish_cursors_discard(all, all->all.next);
    table_done(&all->by_id);
}

struct publish_cursor *publish_cursors_find(const struct publish_cursors *all, struct str id)
{
    struct publish_cursor *o = table_get(&all->by_id, table_key(&all->by_id, 0, id));

    return o != NULL && str_eq(publish_cursor_id(o), id) ? o : NULL;
}

struct publish_cursor *publish_cursors_add(struct publish_cursors *all,
                                           const struct job_row *row)
{
    struct publish_cursor *o = calloc(1, sizeof(*o));

    if (o == NULL || row->id.n > PUBLISH_CURSOR_MAX_ID ||
        table_put(&all->by_id, table_key(&all->by_id, 0, row->id), o) != 0) {
        free(o);
        return NULL;
    }
    str_copy(o->id, row->id);
    o->id_n = row->id.n;
    o->key = row->key;
    o->marked = row->published;
    o->is_silent = row->published < 0;
    o->published = o->known = o->is_silent ? 0 : (uint64_t)row->published;
    o->prev = all->all.prev;
    o->next = &all->all;
    o->prev->next = all->all.prev = o;
    return o;
}

void publish_cursors_disown(struct publish_cursors *all, struct publish_cursor *o)
{
    if (publish_cursors_find(all, publish_cursor_id(o)) == o)
        table_remove(&all->by_id, table_key(&all->by_id, 0, publish_cursor_id(o)));
}

void publish_cursors_discard(struct publish_cursors *all, struct publish_cursor *o)
{
    publish_cursors_disown(all, o);
    o->prev->next = o->next;
    o->next->prev = o->prev;
    free(o);
}

void publish_cursors_line_up(struct publish_cursors *all, struct publish_cursor *o)
{
    if (o->in_line || o->is_flying || o->is_silent || o->is_gone || o->published >= o->known)
        return;
    o->in_line = true;
    o->after = NULL;
    *all->last = o;
    all->last = &o->after;
}

struct publish_cursor *publish_cursors_next(struct publish_cursors *all)
{
    struct publish_cursor *o = all->first;

    all->first = o->after;
    if (all->first == NULL)
        all->last = &all->first;
    o->in_line = false;
    return o;
}

bool publish_cursor_is_complete(const struct publish_cursor *o)
{
    return o->is_final && o->published >= o->known && !o->is_flying;
}
