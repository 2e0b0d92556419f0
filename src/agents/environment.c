#include "agents/environment.h"

#include "agents/process/child_guard.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

/* "KEY=" of "KEY=VALUE". */
static struct str key_of_entry(const char *entry)
{
    struct str all = str_of(entry);

    return str_head(all, str_find(all, '=') + 1);
}

static bool has(char *const *list, size_t n, struct str key)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(key_of_entry(list[i]), key))
            return true;
    return false;
}

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

static int add(struct environment *env, const char *entry)
{
    env->all[env->n] = strdup(entry);
    if (env->all[env->n] == NULL)
        return ERR_NOMEM;
    env->n++;
    return 0;
}

static int add_mark(struct environment *env, const char *mark)
{
    char entry[128];

    (void)snprintf(entry, sizeof(entry), CHILD_GUARD_VARIABLE "%s", mark); /* ours: it fits */
    return add(env, entry);
}

int environment_init(struct environment *env,
                     const char *mark,
                     char *const *inherited,
                     char *const *extra)
{
    size_t n_inherited = count(inherited), n_extra = count(extra);
    int err = 0;

    *env = (struct environment){ .all = calloc(n_inherited + n_extra + 2, sizeof(char *)) };
    if (env->all == NULL)
        return ERR_NOMEM;
    if (mark != NULL)
        err = add_mark(env, mark);
    for (size_t i = 0; i < n_extra && err == 0; i++)
        if (!str_eq(key_of_entry(extra[i]), STR(CHILD_GUARD_VARIABLE)))
            err = add(env, extra[i]);
    for (size_t i = 0; i < n_inherited && err == 0; i++) {
        struct str key = key_of_entry(inherited[i]);

        if (!str_starts(key, STR("SPOOLWIRE_")) && !has(extra, n_extra, key))
            err = add(env, inherited[i]);
    }
    if (err != 0)
        environment_done(env);
    return err;
}

void environment_done(struct environment *env)
{
    for (size_t i = 0; i < env->n; i++)
        free(env->all[i]);
    free(env->all);
    *env = (struct environment){ 0 };
}

int environment_add(struct environment *env, const char *entry)
{
    if (has(env->all, env->n, key_of_entry(entry)))
        return 0;
    char **all = realloc(env->all, (env->n + 2) * sizeof(char *));
    if (all == NULL)
        return ERR_NOMEM;
    env->all = all;
    int err = add(env, entry);
    env->all[env->n] = NULL;
    return err;
}

/* A variable that is added for one worker: "KEY=" and its value. */
struct own {
    struct str key, value;
};

/* Writes KEY=VALUE of each variable to @text, with its NUL. */
static void write_own(char **list, char *text, const struct own *own, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i] = text;
        str_copy(text, own[i].key);
        text += own[i].key.n;
        str_copy(text, own[i].value);
        text += own[i].value.n;
        *text++ = '\0';
    }
}

static char **make(const struct environment *env, const struct own *own, size_t n)
{
    size_t bytes = (n + env->n + 1) * sizeof(char *), n_all = n;

    for (size_t i = 0; i < n; i++)
        bytes += own[i].key.n + own[i].value.n + 1;
    char **list = malloc(bytes);
    if (list == NULL)
        return NULL;
    write_own(list, (char *)(list + n + env->n + 1), own, n);
    for (size_t i = 0; i < env->n; i++)
        if (!has(list, n, key_of_entry(env->all[i])))
            list[n_all++] = env->all[i];
    list[n_all] = NULL;
    return list;
}

#define TOKEN "SPOOLWIRE_TOKEN="

/* The agent's own value wins. */
static bool has_token(const struct environment *env)
{
    return has(env->all, env->n, STR(TOKEN));
}

char **environment_for(const struct environment *env,
                       struct str job,
                       int64_t attempt,
                       struct str agent,
                       struct str token)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%lld", (long long)attempt); /* fits */
    const struct own own[] = { { STR("SPOOLWIRE_JOB="), job },
                               { STR("SPOOLWIRE_ATTEMPT="), str_of(digits) },
                               { STR("SPOOLWIRE_AGENT="), agent },
                               { STR(TOKEN), token } };
    return make(env, own, sizeof(own) / sizeof(own[0]) - has_token(env));
}

char **environment_for_pool(const struct environment *env,
                            struct str agent,
                            unsigned concurrency,
                            struct str token)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%u", concurrency); /* fits */
    const struct own own[] = { { STR("SPOOLWIRE_CONCURRENCY="), str_of(digits) },
                               { STR("SPOOLWIRE_AGENT="), agent },
                               { STR(TOKEN), token } };
    return make(env, own, sizeof(own) / sizeof(own[0]) - has_token(env));
}
