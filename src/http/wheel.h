/* Deadlines of many connections: a wheel of lists, one per tick.
 *
 * Setting, moving and dropping a deadline is a few pointer writes, and a tick looks only at
 * the entries of its own list, however many others there are.  Entries without a deadline
 * are parked, so every entry is in exactly one list, and wheel_each finds it.
 *
 * The wheel has no callbacks: entries that are due are moved to a list.  Time is the
 * caller's, in milliseconds. */
#ifndef HTTP_WHEEL_H
#define HTTP_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WHEEL_TICK_MS = 250,
    WHEEL_SLOTS = 512, /* 128 s per turn; what is further off is looked at once per turn */
};

struct wheel_link {
    struct wheel_link *prev, *next;
};

struct wheel_entry {
    struct wheel_link link; /* first */
    uint32_t due;           /* in ticks, or one of the two below */
};

enum {
    WHEEL_PARKED = 0, /* no deadline */
    WHEEL_DUE = 1,    /* in the list of what is due */
    WHEEL_FIRST = 2,
};

struct wheel {
    struct wheel_link slots[WHEEL_SLOTS];
    struct wheel_link parked;
    struct wheel_link due;
    uint32_t tick;  /* looked at up to here */
    size_t n_armed; /* entries in slots */
};

void wheel_init(struct wheel *w, uint64_t now_ms);

void wheel_add(struct wheel *w, struct wheel_entry *e); /* parked */
void wheel_remove(struct wheel *w, struct wheel_entry *e);

/* Moves a deadline: never early, at most two ticks late. */
void wheel_arm(struct wheel *w, struct wheel_entry *e, uint64_t now_ms, uint64_t in_ms);
void wheel_park(struct wheel *w, struct wheel_entry *e);
/* Due at once. */
void wheel_hurry(struct wheel *w, struct wheel_entry *e);

/* Moves what became due by @now_ms to the list. */
void wheel_advance(struct wheel *w, uint64_t now_ms);
bool wheel_has_due(const struct wheel *w);
/* Takes one off and parks it; NULL when there is none. */
struct wheel_entry *wheel_next_due(struct wheel *w);

/* Calls @visit for every entry; it may remove or move the one it is given. */
void wheel_each(struct wheel *w, void (*visit)(struct wheel_entry *e));

#endif
