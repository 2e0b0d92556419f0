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
    struct publish_cursor *cursor = table_get(&all->by_id, table_key(&all->by_id, 0, id));

    return cursor != NULL && str_eq(publish_cursor_id(cursor), id) ? cursor : NULL;
}

struct publish_cursor *publish_cursors_add(struct publish_cursors *all,
                                           const struct job_row *row)
{
    struct publish_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL || row->id.n > PUBLISH_CURSOR_MAX_ID ||
        table_put(&all->by_id, table_key(&all->by_id, 0, row->id), cursor) != 0) {
        free(cursor);
        return NULL;
    }
    str_copy(cursor->id, row->id);
    cursor->id_n = row->id.n;
    cursor->key = row->key;
    cursor->shard = row->shard;
    cursor->marked = row->published;
    cursor->is_silent = row->published < 0;
    cursor->published = cursor->known = cursor->is_silent ? 0 : (uint64_t)row->published;
    cursor->prev = all->all.prev;
    cursor->next = &all->all;
    cursor->prev->next = all->all.prev = cursor;
    return cursor;
}

void publish_cursors_disown(struct publish_cursors *all, struct publish_cursor *cursor)
{
    if (publish_cursors_find(all, publish_cursor_id(cursor)) == cursor)
        table_remove(&all->by_id, table_key(&all->by_id, 0, publish_cursor_id(cursor)));
}

void publish_cursors_discard(struct publish_cursors *all, struct publish_cursor *cursor)
{
    publish_cursors_disown(all, cursor);
    cursor->prev->next = cursor->next;
    cursor->next->prev = cursor->prev;
    free(cursor);
}

void publish_cursors_line_up(struct publish_cursors *all, struct publish_cursor *cursor)
{
    if (cursor->in_line || cursor->is_flying || cursor->is_silent || cursor->is_gone ||
        cursor->published >= cursor->known)
        return;
    cursor->in_line = true;
    cursor->after = NULL;
    *all->last = cursor;
    all->last = &cursor->after;
}

struct publish_cursor *publish_cursors_next(struct publish_cursors *all)
{
    struct publish_cursor *cursor = all->first;

    all->first = cursor->after;
    if (all->first == NULL)
        all->last = &all->first;
    cursor->in_line = false;
    return cursor;
}

bool publish_cursor_is_complete(const struct publish_cursor *cursor)
{
    return cursor->is_final && cursor->published >= cursor->known && !cursor->is_flying;
}
