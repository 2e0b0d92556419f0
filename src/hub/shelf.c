#include "hub/shelf.h"

#include "base/error.h"
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>

enum { ENTRY_BYTES = 1024 }; /* what a sheet costs beside its bytes, about */

struct entry {
    struct entry *prev, *next; /* used most recently first */
    struct key key;
    struct sheet *sheet; /* ref; NULL: being read */
};

struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t news;  /* something is no longer being read */
    struct table entries; /* under lock, like all that follows: place -> struct entry */
    struct entry list;    /* head */
    size_t n_bytes, max_bytes;
};

/* --- sheets --------------------------------------------------------------------- */

struct sheet *sheet_new(void)
{
    struct sheet *sheet = calloc(1, sizeof(*sheet));

    if (sheet != NULL) {
        atomic_init(&sheet->refs, 1);
        buf_init(&sheet->bytes, SIZE_MAX / 4);
    }
    return sheet;
}

static struct sheet *sheet_ref(struct sheet *sheet)
{
    atomic_fetch_add_explicit(&sheet->refs, 1, memory_order_relaxed);
    return sheet;
}

void sheet_unref(struct sheet *sheet)
{
    if (sheet == NULL || atomic_fetch_sub(&sheet->refs, 1) > 1)
        return;
    buf_done(&sheet->bytes);
    free(sheet);
}

/* --- entries -------------------------------------------------------------------- */

static struct key key_of_place(const struct shelf *s, const struct place *p)
{
    uint64_t parts[WAY_PARTS + 4] = {
        [WAY_PARTS] = p->after.seq, p->after.k, p->max_frames, p->max_bytes
    };

    way_parts(&p->way, parts);
    return table_key(&s->entries, (uint64_t)p->key,
                     str_make((const char *)parts, sizeof(parts)));
}

static size_t weight(const struct entry *e)
{
    return ENTRY_BYTES + (e->sheet != NULL ? e->sheet->bytes.cap : 0);
}

static void unlink_entry(struct entry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void link_first(struct shelf *s, struct entry *e)
{
    e->next = s->list.next;
    e->prev = &s->list;
    e->next->prev = e;
    s->list.next = e;
}

static void remove_entry(struct shelf *s, struct entry *e)
{
    s->n_bytes -= weight(e);
    table_remove(&s->entries, e->key);
    unlink_entry(e);
    sheet_unref(e->sheet);
    free(e);
}

/* Those that are being read stay: somebody will come back to them. */
static void make_room(struct shelf *s)
{
    struct entry *e = s->list.prev;

    while (s->n_bytes > s->max_bytes && e != &s->list) {
        struct entry *before = e->prev;

        if (e->sheet != NULL)
            remove_entry(s, e);
        e = before;
    }
}

/* --- the shelf ------------------------------------------------------------------ */

int shelf_new(size_t max_bytes, struct shelf **ret)
{
    struct shelf *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail on Linux */
    (void)pthread_cond_init(&s->news, NULL);
    table_init(&s->entries);
    s->list.next = s->list.prev = &s->list;
    s->max_bytes = max_bytes;
    *ret = s;
    return 0;
}

void shelf_free(struct shelf *s)
{
    if (s == NULL)
        return;
    while (s->list.next != &s->list)
        remove_entry(s, s->list.next);
    table_done(&s->entries);
    (void)pthread_cond_destroy(&s->news);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

/* So that others wait; without memory they do not. */
static void begin_reading(struct shelf *s, struct key key)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (e == NULL || table_put(&s->entries, key, e) != 0) {
        free(e);
        return;
    }
    e->key = key;
    link_first(s, e);
    s->n_bytes += weight(e);
}

struct sheet *shelf_get(struct shelf *s, const struct place *place, uint64_t last_seq)
{
    struct key key = key_of_place(s, place);
    struct sheet *sheet = NULL;
    struct entry *e;

    (void)pthread_mutex_lock(&s->lock);
    while ((e = table_get(&s->entries, key)) != NULL && e->sheet == NULL)
        (void)pthread_cond_wait(&s->news, &s->lock);
    if (e != NULL && e->sheet->at_end && e->sheet->last_seq < last_seq) {
        remove_entry(s, e); /* the job has gone on */
        e = NULL;
    }
    if (e != NULL) {
        unlink_entry(e);
        link_first(s, e);
        sheet = sheet_ref(e->sheet);
    } else {
        begin_reading(s, key);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return sheet;
}

void shelf_put(struct shelf *s, const struct place *place, struct sheet *sheet)
{
    (void)pthread_mutex_lock(&s->lock);
    struct entry *e = table_get(&s->entries, key_of_place(s, place));
    if (e != NULL && e->sheet == NULL && sheet != NULL) {
        e->sheet = sheet_ref(sheet);
        s->n_bytes += sheet->bytes.cap;
        make_room(s);
    } else if (e != NULL && e->sheet == NULL) {
        remove_entry(s, e);
    }
    (void)pthread_cond_broadcast(&s->news);
    (void)pthread_mutex_unlock(&s->lock);
}
