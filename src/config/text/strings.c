#include "config/text/strings.h"

#include "base/error.h"

#include <stdlib.h>

char *string_copy(struct str s)
{
    char *z = malloc(s.n + 1);

    if (z == NULL)
        return NULL;
    str_copy(z, s);
    z[s.n] = '\0';
    return z;
}

size_t strings_count(char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

int strings_add(char ***list, struct str s)
{
    size_t n = strings_count(*list);
    char **grown = realloc(*list, (n + 2) * sizeof(*grown));

    if (grown == NULL)
        return ERR_NOMEM;
    *list = grown;
    grown[n] = string_copy(s);
    grown[n + 1] = NULL;
    return grown[n] != NULL ? 0 : ERR_NOMEM;
}

int strings_copy(char *const *list, char ***ret)
{
    char **copy = NULL;
    int err = 0;

    for (size_t i = 0; err == 0 && list != NULL && list[i] != NULL; i++)
        err = strings_add(&copy, str_of(list[i]));
    if (err != 0) {
        strings_free(copy);
        return err;
    }
    *ret = copy;
    return 0;
}

void strings_free(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}
