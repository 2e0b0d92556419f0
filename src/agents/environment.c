#include "agents/environment.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

/* KEY= of KEY=VALUE. */
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

int environment_init(struct environment *env, char *const *inherited, char *const *extra)
{
    size_t n_inherited = count(inherited), n_extra = count(extra);
    int err = 0;

    *env = (struct environment){ .all = calloc(n_inherited + n_extra + 1, sizeof(char *)) };
    if (env->all == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n_extra && err == 0; i++)
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

enum { N_OWN = 3 };

/* KEY=VALUE three times at @text, each with its end. */
static void write_own(char **list, char *text, const struct str own[N_OWN][2])
{
    for (size_t i = 0; i < N_OWN; i++) {
        list[i] = text;
        for (size_t k = 0; k < 2; k++) {
            memcpy(text, own[i][k].p, own[i][k].n);
            text += own[i][k].n;
        }
        *text++ = '\0';
    }
}

char **environment_for(const struct environment *env,
                       struct str job,
                       int64_t attempt,
                       struct str agent)
{
    char digits[24];
    const struct str number =
        str_make(digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)attempt));
    const struct str own[N_OWN][2] = { { STR("SPOOLWIRE_JOB="), job },
                                       { STR("SPOOLWIRE_ATTEMPT="), number },
                                       { STR("SPOOLWIRE_AGENT="), agent } };
    size_t bytes = (N_OWN + env->n + 1) * sizeof(char *), n = N_OWN;

    for (size_t i = 0; i < N_OWN; i++)
        bytes += own[i][0].n + own[i][1].n + 1;
    char **list = malloc(bytes);
    if (list == NULL)
        return NULL;
    write_own(list, (char *)(list + N_OWN + env->n + 1), own);
    for (size_t i = 0; i < env->n; i++)
        if (!has(list, N_OWN, key_of_entry(env->all[i])))
            list[n++] = env->all[i];
    list[n] = NULL;
    return list;
}
