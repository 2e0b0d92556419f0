/* Writes JSON by a template, where a shape with few holes is read more easily than the calls
 * that write it.
 *
 *     json_format(b, "{'job_id':%s,'input':%j}", id, input);
 *
 * ' stands for ".  %s takes a text and writes it as a string, or null when it is absent; %j
 * takes a text that is JSON already.  There is one argument, a struct str, for each. */
#ifndef BASE_JSON_FORMAT_H
#define BASE_JSON_FORMAT_H

#include "base/buf.h"

/* The arguments of a template, and their number. */
#define JSON_LIST(...)                   \
    (const struct str[]){ __VA_ARGS__ }, \
        sizeof((const struct str[]){ __VA_ARGS__ }) / sizeof(struct str)

#define json_format(b, template, ...) json_format_list((b), (template), JSON_LIST(__VA_ARGS__))

void json_format_list(struct buf *b, const char *template, const struct str *args, size_t n);

#endif
