/* Writes plain text by a template:
 *
 *     text_format(b, "HTTP %d from %s", status, url);
 *
 * A hole takes one value, 1 to 8 in all, as in base/json_format.h: %s a text (struct str, char
 * *; nothing when it is absent), %d a whole number.  For text that is made now and then:
 * templates are read each time. */
#ifndef BASE_TEXT_FORMAT_H
#define BASE_TEXT_FORMAT_H

#include "base/json_format.h"

#define text_format(b, template, ...) \
    text_format_holes((b), (template), JSON_HOLES(__VA_ARGS__))

void text_format_holes(struct buf *b,
                       const char *template,
                       const struct json_hole *holes,
                       size_t n);

#endif
