#include "base/table.h"

#include "base/error.h"

#include <stdlib.h>
#include <sys/auxv.h>

/* --- keys: two lanes of multiply-and-fold over eight bytes at a time --------- */

static uint64_t fold64(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *p, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, p, n < 8 ? n : 8);
    return word;
}

static struct key hash(struct key secret, uint64_t space, struct str text)
{
    uint64_t a = space * 0x9E3779B97F4A7C15u ^ 0xA0761D6478BD642Fu ^ secret.a;
    uint64_t b = (text.n + 1) * 0xE7037ED1A0B428DBu ^ space ^ secret.b;
    size_t at = 0;

    for (; at < text.n; at += 8) {
        uint64_t word = load(text.p + at, text.n - at);

        a = fold64(a ^ word, 0x8EBC6AF09C88C6E3u);
        b = fold64(b + word, 0x589965CC75374CC3u) ^ a;
    }
    a = fold64(a ^ text.n, 0x1D8E4E27C47D124Fu);
    b = fold64(b ^ a, 0xEB44ACCAB455D165u);
    return (struct key){ a, b };
}

struct key key_stable(uint64_t space, struct str text)
{
    return hash((struct key){ 0 }, space, text);
}

struct key table_key(const struct table *t, uint64_t space, struct str text)
{
    return hash(t->secret, space, text);
}

void key_uuid(struct key k, char out[KEY_UUID_CHARS])
{
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;

    k.a = (k.a & ~(uint64_t)0xF000) | 0x8000;               /* version 8 */
    k.b = (k.b & ~((uint64_t)3 << 62)) | (uint64_t)2 << 62; /* variant */
    for (int i = 0; i < 32; i++) {
        uint64_t word = i < 16 ? k.a : k.b;

        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = hex[word >> (60 - 4 * (i & 15)) & 15];
    }
}

/* --- the table: open addressing, at most three quarters full ----------------- */

enum { FIRST_SLOTS = 64 };

/* From the random bytes that the kernel gives each process.  They guard the stack, too, so only
 * a hash of them is kept. */
static struct key secret_of_process(void)
{
    const char *bytes = (const char *)(uintptr_t)getauxval(AT_RANDOM);

    return bytes != NULL ? key_stable(0, str_make(bytes, 16)) : (struct key){ 0 };
}

void table_init(struct table *t)
{
    *t = (struct table){ .secret = secret_of_process() };
}

void table_done(struct table *t)
{
    free(t->slots);
    table_init(t);
}

static struct table_slot *probe(struct table_slot *slots, size_t cap, struct key k)
{
    size_t at = (size_t)k.a & (cap - 1);

    while (slots[at].value != NULL && !key_eq(slots[at].key, k))
        at = (at + 1) & (cap - 1);
    return &slots[at];
}

void *table_get(const struct table *t, struct key k)
{
    return t->n > 0 ? probe(t->slots, t->cap, k)->value : NULL;
}

static int grow(struct table *t)
{
    size_t cap = t->cap > 0 ? t->cap * 2 : FIRST_SLOTS;
    struct table_slot *slots = calloc(cap, sizeof(*slots));

    if (slots == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].value != NULL)
            *probe(slots, cap, t->slots[i].key) = t->slots[i];
    free(t->slots);
    t->slots = slots;
    t->cap = cap;
    return 0;
}

int table_put(struct table *t, struct key k, void *value)
{
    if ((t->n + 1) * 4 > t->cap * 3 && table_get(t, k) == NULL) {
        int err = grow(t);

        if (err != 0)
            return err;
    }
    struct table_slot *slot = probe(t->slots, t->cap, k);
    if (slot->value == NULL)
        t->n++;
    *slot = (struct table_slot){ k, value };
    return 0;
}

void table_remove(struct table *t, struct key k)
{
    if (t->n == 0)
        return;
    struct table_slot *hole = probe(t->slots, t->cap, k);
    if (hole->value == NULL)
        return;
    t->n--;
    /* Close the gap: move up what was pushed behind it, so that probing still ends at it. */
    size_t at = (size_t)(hole - t->slots), mask = t->cap - 1;
    for (size_t next = (at + 1) & mask; t->slots[next].value != NULL;
         next = (next + 1) & mask) {
        size_t home = (size_t)t->slots[next].key.a & mask;

        if (((next - home) & mask) >= ((next - at) & mask)) {
            t->slots[at] = t->slots[next];
            at = next;
        }
    }
    t->slots[at].value = NULL;
}
