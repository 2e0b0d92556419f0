#include "hub/page_cache.h"

#include "base/error.h"
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>

enum { ENTRY_BYTES = 1024 }; /* overhead of a cached page, about */

struct page_cache_entry {
    struct page_cache_entry *prev, *next; /* list, most recently used first */
    struct key key;
    struct cached_page *cached; /* ref; NULL: being read */
};

struct page_cache {
    pthread_mutex_t lock;
    pthread_cond_t news;          /* a read has finished */
    struct table entries;         /* under lock, like all that follows: key -> struct entry */
    struct page_cache_entry list; /* head */
    size_t n_bytes, max_bytes;
};

/* --- cached pages --------------------------------------------------------------------- */

struct cached_page *cached_page_new(void)
{
    struct cached_page *cached = calloc(1, sizeof(*cached));

    if (cached != NULL) {
        atomic_init(&cached->refs, 1);
        buf_init(&cached->bytes, SIZE_MAX / 4);
    }
    return cached;
}

static struct cached_page *cached_page_ref(struct cached_page *cached)
{
    atomic_fetch_add_explicit(&cached->refs, 1, memory_order_relaxed);
    return cached;
}

void cached_page_unref(struct cached_page *cached)
{
    if (cached == NULL || atomic_fetch_sub(&cached->refs, 1) > 1)
        return;
    buf_done(&cached->bytes);
    free(cached);
}

/* --- entries -------------------------------------------------------------------- */

static struct key key_of_place(const struct page_cache *s, const struct page_key *p)
{
    uint64_t parts[STREAM_FORMAT_PARTS + 5] = {
        [STREAM_FORMAT_PARTS] = p->after.seq, p->after.k, p->max_frames, p->max_bytes, p->era
    };

    stream_format_parts(&p->format, parts);
    return table_key(&s->entries, (uint64_t)p->key,
                     str_make((const char *)parts, sizeof(parts)));
}

static size_t weight(const struct page_cache_entry *e)
{
    return ENTRY_BYTES + (e->cached != NULL ? e->cached->bytes.cap : 0);
}

static void unlink_entry(struct page_cache_entry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void link_first(struct page_cache *s, struct page_cache_entry *e)
{
    e->next = s->list.next;
    e->prev = &s->list;
    e->next->prev = e;
    s->list.next = e;
}

static void remove_entry(struct page_cache *s, struct page_cache_entry *e)
{
    s->n_bytes -= weight(e);
    table_remove(&s->entries, e->key);
    unlink_entry(e);
    cached_page_unref(e->cached);
    free(e);
}

/* Evicts old entries, but not those that are being read. */
static void make_room(struct page_cache *s)
{
    struct page_cache_entry *e = s->list.prev;

    while (s->n_bytes > s->max_bytes && e != &s->list) {
        struct page_cache_entry *before = e->prev;

        if (e->cached != NULL)
            remove_entry(s, e);
        e = before;
    }
}

/* --- the page cache ------------------------------------------------------------------ */

int page_cache_new(size_t max_bytes, struct page_cache **ret)
{
    struct page_cache *s = calloc(1, sizeof(*s));

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

void page_cache_free(struct page_cache *s)
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

/* Adds an entry, so that other readers wait; without memory they read it themselves. */
static void begin_reading(struct page_cache *s, struct key key)
{
    struct page_cache_entry *e = calloc(1, sizeof(*e));

    if (e == NULL || table_put(&s->entries, key, e) != 0) {
        free(e);
        return;
    }
    e->key = key;
    link_first(s, e);
    s->n_bytes += weight(e);
}

struct cached_page *page_cache_get(struct page_cache *s,
                                   const struct page_key *place,
                                   uint64_t last_seq)
{
    struct key key = key_of_place(s, place);
    struct cached_page *cached = NULL;
    struct page_cache_entry *e;

    (void)pthread_mutex_lock(&s->lock);
    while ((e = table_get(&s->entries, key)) != NULL && e->cached == NULL)
        (void)pthread_cond_wait(&s->news, &s->lock);
    if (e != NULL && e->cached->at_end && e->cached->last_seq < last_seq) {
        remove_entry(s, e); /* outdated: the job has more records now */
        e = NULL;
    }
    if (e != NULL) {
        unlink_entry(e);
        link_first(s, e);
        cached = cached_page_ref(e->cached);
    } else {
        begin_reading(s, key);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return cached;
}

void page_cache_put(struct page_cache *s,
                    const struct page_key *place,
                    struct cached_page *cached)
{
    (void)pthread_mutex_lock(&s->lock);
    struct page_cache_entry *e = table_get(&s->entries, key_of_place(s, place));
    if (e != NULL && e->cached == NULL && cached != NULL) {
        e->cached = cached_page_ref(cached);
        s->n_bytes += cached->bytes.cap;
        make_room(s);
    } else if (e != NULL && e->cached == NULL) {
        remove_entry(s, e);
    }
    (void)pthread_cond_broadcast(&s->news);
    (void)pthread_mutex_unlock(&s->lock);
}
