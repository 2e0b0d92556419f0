/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/must_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more item in *@array, which has @n items of @size bytes each and a
 * capacity of *@cap.  False when memory ran out; then nothing has changed.
 *
 *     if (!array_grow(&b->marks, b->n_marks, &b->cap_marks, sizeof(*b->marks)))
 *         return ERR_NOMEM; */
MUST_CHECK static inline bool array_grow(void *array, size_t n, size_t *cap, size_t size)
{
    size_t more = *cap > 0 ? 2 * *cap : 16;
    void *p;

    if (n < *cap)
        return true;
    memcpy(&p, array, sizeof(p)); /* a pointer of any type */
    p = realloc(p, more * size);
    if (p == NULL)
        return false;
    memcpy(array, &p, sizeof(p));
    *cap = more;
    return true;
}

#endif
