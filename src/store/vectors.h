/* Vectors of a text's meaning, made by an embedding model, as they are stored: their dimension,
 * then the numbers of one or several, of length 1 each.  So the cosine of two is their product.
 */
#ifndef STORE_VECTORS_H
#define STORE_VECTORS_H

#include "base/buf.h"
#include "base/json.h"
#include "base/must_check.h"

enum { VECTORS_MAX = 256, VECTORS_MAX_DIMENSION = 16384 };

/* Appends the vectors of @list, a list of lists of numbers.  ERR_TYPE: it is none, or they
 * differ in dimension; ERR_TOO_LARGE; ERR_NOMEM. */
MUST_CHECK int vectors_put(struct buf *b, const yyjson_val *list);

/* The same for one vector, a list of numbers. */
MUST_CHECK int vectors_put_one(struct buf *b, const yyjson_val *vector);

/* The greatest cosine of one of @stored with @wanted, which is one vector.  False: they differ
 * in dimension, or there is none. */
bool vectors_score(struct str stored, struct str wanted, float *ret);

#endif
