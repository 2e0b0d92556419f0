/* Writes JSON by a template, where a shape with few holes is read more easily than the calls
 * that write it.
 *
 *     json_format(b, "{'job_id':%s,'attempt':%d,'input':%j}", id, attempt, input);
 *
 * ' stands for ".  A hole takes one value, 1 to 8 in all:
 *
 *     %s  a text (struct str, char *), as a string; null when it is absent
 *     %j  a text that is JSON already; null when it is absent
 *     %d  a whole number
 *     %b  a whole number or bool: true or false
 *
 * A comma at the beginning is left out behind the brace of an object: a template may have
 * some of an object's members.
 *
 * For JSON that is made now and then: templates are read each time.  Where members depend on
 * something, where there are many, or where it is made for every event, use base/json.h. */
#ifndef BASE_JSON_FORMAT_H
#define BASE_JSON_FORMAT_H

#include "base/buf.h"

/* What goes into a hole. */
struct json_hole {
    struct str text;
    int64_t number;
    bool is_text;
    bool is_unsigned; /* the number has an unsigned one's bits */
};

#define json_format(b, template, ...) \
    json_format_holes((b), (template), JSON_HOLES(__VA_ARGS__))
/* A template without a hole. */
#define json_format_plain(b, template) json_format_holes((b), (template), NULL, 0)

void json_format_holes(struct buf *b,
                       const char *template,
                       const struct json_hole *holes,
                       size_t n);

/* --- arguments as an array of holes, and their number ------------------------------------ */

#define JSON_HOLES(...)                                                     \
    (const struct json_hole[]){ JSON_EACH_HOLE(__VA_ARGS__) },              \
        sizeof((const struct json_hole[]){ JSON_EACH_HOLE(__VA_ARGS__) }) / \
            sizeof(struct json_hole)

#define JSON_HOLE(x) \
    _Generic((x),                     \
        struct str: json_hole_text,   \
        const char *: json_hole_z,    \
        char *: json_hole_z,          \
        unsigned: json_hole_unsigned, \
        unsigned long: json_hole_unsigned, \
        unsigned long long: json_hole_unsigned, \
        default: json_hole_number)(x)

static inline struct json_hole json_hole_text(struct str s)
{
    return (struct json_hole){ .text = s, .is_text = true };
}

static inline struct json_hole json_hole_z(const char *z)
{
    return json_hole_text(str_of(z));
}

static inline struct json_hole json_hole_number(int64_t number)
{
    return (struct json_hole){ .number = number };
}

static inline struct json_hole json_hole_unsigned(uint64_t number)
{
    return (struct json_hole){ .number = (int64_t)number, .is_unsigned = true };
}

#define JSON_EACH_HOLE(...)                           JSON_HOLES_OF(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)
#define JSON_HOLES_OF(a, b, c, d, e, f, g, h, n, ...) JSON_HOLES_##n
#define JSON_HOLES_1(x)                               JSON_HOLE(x)
#define JSON_HOLES_2(x, ...)                          JSON_HOLE(x), JSON_HOLES_1(__VA_ARGS__)
#define JSON_HOLES_3(x, ...)                          JSON_HOLE(x), JSON_HOLES_2(__VA_ARGS__)
#define JSON_HOLES_4(x, ...)                          JSON_HOLE(x), JSON_HOLES_3(__VA_ARGS__)
#define JSON_HOLES_5(x, ...)                          JSON_HOLE(x), JSON_HOLES_4(__VA_ARGS__)
#define JSON_HOLES_6(x, ...)                          JSON_HOLE(x), JSON_HOLES_5(__VA_ARGS__)
#define JSON_HOLES_7(x, ...)                          JSON_HOLE(x), JSON_HOLES_6(__VA_ARGS__)
#define JSON_HOLES_8(x, ...)                          JSON_HOLE(x), JSON_HOLES_7(__VA_ARGS__)

#endif
