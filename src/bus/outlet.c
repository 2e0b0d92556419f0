#include "bus/outlet.h"

#include "store/store.h"

#include <stdlib.h>

void outlets_init(struct outlets *all)
{
    *all = (struct outlets){ 0 };
    table_init(&all->by_id);
    all->all.prev = all->all.next = &all->all;
    all->last = &all->first;
}

void outlets_done(struct outlets *all)
{
    while (all->all.next != &all->all)
        outlets_discard(all, all->all.next);
    table_done(&all->by_id);
}

struct outlet *outlets_find(const struct outlets *all, struct str id)
{
    struct outlet *o = table_get(&all->by_id, table_key(&all->by_id, 0, id));

    return o != NULL && str_eq(outlet_id(o), id) ? o : NULL;
}

struct outlet *outlets_add(struct outlets *all, const struct job_row *row)
{
    struct outlet *o = calloc(1, sizeof(*o));

    if (o == NULL || row->id.n > OUTLET_MAX_ID ||
        table_put(&all->by_id, table_key(&all->by_id, 0, row->id), o) != 0) {
        free(o);
        return NULL;
    }
    memcpy(o->id, row->id.p, row->id.n);
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

void outlets_disown(struct outlets *all, struct outlet *o)
{
    if (outlets_find(all, outlet_id(o)) == o)
        table_remove(&all->by_id, table_key(&all->by_id, 0, outlet_id(o)));
}

void outlets_discard(struct outlets *all, struct outlet *o)
{
    outlets_disown(all, o);
    o->prev->next = o->next;
    o->next->prev = o->prev;
    free(o);
}

void outlets_line_up(struct outlets *all, struct outlet *o)
{
    if (o->in_line || o->is_flying || o->is_silent || o->is_gone || o->published >= o->known)
        return;
    o->in_line = true;
    o->after = NULL;
    *all->last = o;
    all->last = &o->after;
}

struct outlet *outlets_next(struct outlets *all)
{
    struct outlet *o = all->first;

    all->first = o->after;
    if (all->first == NULL)
        all->last = &all->first;
    o->in_line = false;
    return o;
}

bool outlet_is_complete(const struct outlet *o)
{
    return o->is_final && o->published >= o->known && !o->is_flying;
}
