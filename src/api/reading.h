/* Reads the members of a request's body.  The first error is answered; the caller can read on
 * to the end, and then check `failed` once. */
#ifndef API_READING_H
#define API_READING_H

#include "api/api.h"

enum { READING_MAX_TEXT = 4096 };

struct reading {
    struct http_request *req; /* borrowed */
    struct arena *mem;        /* borrowed; texts are copied there */
    bool failed;
};

/* Answers 422: "@what" must be @must. */
void reading_fail(struct reading *r, const char *what, const char *must);
void reading_fail_memory(struct reading *r);
struct str reading_keep(struct reading *r, struct str text);
struct str reading_keep_json(struct reading *r, const yyjson_val *value);
/* A text of @least to @most bytes. */
struct str reading_text(struct reading *r,
                        const yyjson_val *of,
                        const char *name,
                        size_t least,
                        size_t most);
/* A text of at most READING_MAX_TEXT, or @otherwise. */
struct str reading_optional(struct reading *r,
                            const yyjson_val *of,
                            const char *name,
                            struct str otherwise);
/* An object, as JSON; {} when it is absent. */
struct str reading_object(struct reading *r, const yyjson_val *of, const char *name);

#endif
