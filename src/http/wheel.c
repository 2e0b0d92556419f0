#include "http/wheel.h"

static void list_init(struct wheel_link *list)
{
    list->prev = list->next = list;
}

static bool list_empty(const struct wheel_link *list)
{
    return list->next == list;
}

static void list_append(struct wheel_link *list, struct wheel_link *link)
{
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

static void list_unlink(struct wheel_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

static uint32_t tick_at(uint64_t ms)
{
    return (uint32_t)(ms / WHEEL_TICK_MS) + WHEEL_FIRST;
}

void wheel_init(struct wheel *w, uint64_t now_ms)
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        list_init(&w->slots[i]);
    list_init(&w->parked);
    list_init(&w->due);
    w->tick = tick_at(now_ms);
    w->n_armed = 0;
}

void wheel_add(struct wheel *w, struct wheel_entry *e)
{
    e->due = WHEEL_PARKED;
    list_append(&w->parked, &e->link);
}

void wheel_remove(struct wheel *w, struct wheel_entry *e)
{
    list_unlink(&e->link);
    if (e->due >= WHEEL_FIRST)
        w->n_armed--;
}

void wheel_arm(struct wheel *w, struct wheel_entry *e, uint64_t now_ms, uint64_t in_ms)
{
    wheel_remove(w, e);
    if (w->n_armed == 0) /* wheel_advance() may not have been called for long */
        w->tick = tick_at(now_ms);
    e->due = tick_at(now_ms + in_ms) + 1;
    list_append(&w->slots[e->due % WHEEL_SLOTS], &e->link);
    w->n_armed++;
}

void wheel_park(struct wheel *w, struct wheel_entry *e)
{
    if (e->due == WHEEL_PARKED)
        return;
    wheel_remove(w, e);
    wheel_add(w, e);
}

void wheel_hurry(struct wheel *w, struct wheel_entry *e)
{
    wheel_remove(w, e);
    e->due = WHEEL_DUE;
    list_append(&w->due, &e->link);
}

static void advance_slot(struct wheel *w, struct wheel_link *slot, uint32_t now)
{
    struct wheel_link *link = slot->next;

    while (link != slot) {
        struct wheel_entry *e = (struct wheel_entry *)link;
        link = link->next;
        if (e->due <= now)
            wheel_hurry(w, e);
    }
}

void wheel_advance(struct wheel *w, uint64_t now_ms)
{
    uint32_t now = tick_at(now_ms);
    uint32_t n = now - w->tick;

    if (n > WHEEL_SLOTS) /* also when the clock stood still for long: each slot once */
        n = WHEEL_SLOTS;
    for (uint32_t i = 0; i < n; i++)
        advance_slot(w, &w->slots[(now - i) % WHEEL_SLOTS], now);
    w->tick = now;
}

bool wheel_has_due(const struct wheel *w)
{
    return !list_empty(&w->due);
}

struct wheel_entry *wheel_next_due(struct wheel *w)
{
    if (list_empty(&w->due))
        return NULL;
    struct wheel_entry *e = (struct wheel_entry *)w->due.next;
    wheel_park(w, e);
    return e;
}

static void each_in(struct wheel_link *list, void (*visit)(struct wheel_entry *e))
{
    struct wheel_link *last = list->prev; /* what is moved here meanwhile is not visited twice
                                           */
    struct wheel_link *link = list->next;
    bool more = !list_empty(list);

    while (more) {
        struct wheel_link *next = link->next;
        more = link != last;
        visit((struct wheel_entry *)link);
        link = next;
    }
}

void wheel_each(struct wheel *w, void (*visit)(struct wheel_entry *e))
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        each_in(&w->slots[i], visit);
    each_in(&w->parked, visit);
    each_in(&w->due, visit);
}
