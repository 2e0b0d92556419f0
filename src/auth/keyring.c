#include "auth/keyring.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>

int keyring_new(struct keyring **ret)
{
    struct keyring *k = calloc(1, sizeof(*k));

    if (k == NULL)
        return ERR_NOMEM;
    atomic_init(&k->refs, 1);
    table_init(&k->by_id);
    *ret = k;
    return 0;
}

struct keyring *keyring_ref(struct keyring *k)
{
    atomic_fetch_add(&k->refs, 1);
    return k;
}

void keyring_unref(struct keyring *k)
{
    if (k == NULL || atomic_fetch_sub(&k->refs, 1) > 1)
        return;
    for (size_t i = 0; i < k->n; i++)
        token_unref(k->all[i]);
    table_done(&k->by_id);
    free(k->all);
    secret_forget(k->ticket_key, sizeof(k->ticket_key));
    free(k);
}

int keyring_add(struct keyring *k, struct token *t)
{
    int err = array_grow(&k->all, k->n, &k->cap, sizeof(struct token *)) ? 0 : ERR_NOMEM;

    if (err == 0)
        err = table_put(&k->by_id, table_key(&k->by_id, 0, str_make(t->id, SECRET_ID)), t);

    if (err == 0)
        k->all[k->n++] = token_ref(t);
    return err;
}

struct token *keyring_find(const struct keyring *k, struct str id)
{
    struct token *t = table_get(&k->by_id, table_key(&k->by_id, 0, id));

    return t != NULL && str_eq(id, str_make(t->id, SECRET_ID)) ? t : NULL;
}
