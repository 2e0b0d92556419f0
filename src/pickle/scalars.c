/* Texts and numbers, of every protocol.
 *
 * Those of protocol 0 are lines; later ones are bytes behind their length, or of a width that
 * the opcode knows. */
#include "base/utf8.h"
#include "pickle/machine.h"
#include "pickle/number.h"
#include "pickle/steps.h"

#include <stdio.h>
#include <stdlib.h>

int step_bool(struct machine *m, size_t truth)
{
    struct value *v;
    int err = machine_make(m, VALUE_BOOL, &v);

    if (err != 0)
        return err;
    v->truth = truth != 0;
    return machine_push(m, v);
}

static int push_float(struct machine *m, double number)
{
    struct value *v;
    int err = machine_make(m, VALUE_FLOAT, &v);

    if (err != 0)
        return err;
    v->number = number;
    return machine_push(m, v);
}

static int push_unicode(struct machine *m, struct str text)
{
    /* Python writes surrogate halves as three bytes each. */
    for (struct str rest = text; rest.n > 0;) {
        rest = str_skip(rest, utf8_valid(rest));
        if (rest.n > 0 && utf8_half_first(rest) == 0)
            return machine_bad(m, "a text that is not UTF-8");
        rest = str_skip(rest, 3);
    }
    return machine_push_text(m, VALUE_TEXT, text);
}

static int push_long(struct machine *m, struct str bytes)
{
    struct buf text LOCAL_BUF(NUMBER_MAX_DIGITS + 64);

    if (number_put_text(&text, bytes) != 0)
        return error_set(m->err, ERR_TOO_LARGE, "the pickle has a number of %zu bytes",
                         bytes.n);
    return machine_push_written(m, VALUE_INT, &text);
}

int step_int(struct machine *m, size_t width)
{
    struct buf text;
    uint64_t value;
    int err = machine_take_uint(m, width, &value);

    if (err != 0)
        return err;
    buf_init(&text, 32);
    buf_i64(&text, width == 4 ? (int32_t)(uint32_t)value : (int64_t)value);
    return machine_push_written(m, VALUE_INT, &text);
}

static bool is_decimal(struct str s)
{
    size_t from = s.n > 0 && s.p[0] == '-' ? 1 : 0;

    for (size_t i = from; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > from && s.n <= NUMBER_MAX_DIGITS && (s.p[from] != '0' || s.n == from + 1);
}

/* "12", and of protocol 1 "00" and "01", which are False and True. */
int step_int_line(struct machine *m)
{
    struct str line;
    int err = machine_take_line(m, &line);

    if (err != 0)
        return err;
    if (str_is(line, "00") || str_is(line, "01"))
        return step_bool(m, line.p[1] == '1');
    return is_decimal(line) ? machine_push_text(m, VALUE_INT, line)
                            : machine_bad(m, "a malformed number");
}

/* "12L" */
int step_long_line(struct machine *m)
{
    struct str line;
    int err = machine_take_line(m, &line);

    if (err != 0)
        return err;
    if (line.n > 0 && line.p[line.n - 1] == 'L')
        line.n--;
    return is_decimal(line) ? machine_push_text(m, VALUE_INT, line)
                            : machine_bad(m, "a malformed number");
}

int step_float_line(struct machine *m)
{
    char copy[64], *end;
    struct str line;
    int err = machine_take_line(m, &line);

    if (err != 0)
        return err;
    (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(line)); /* a truncated one is refused */
    double number = strtod(copy, &end);
    return line.n > 0 && line.n < sizeof(copy) && *end == '\0' && end == copy + line.n
               ? push_float(m, number)
               : machine_bad(m, "a malformed number");
}

int step_float(struct machine *m)
{
    struct str bytes;
    uint64_t bits = 0;
    double number;
    int err = machine_take(m, sizeof(bits), &bytes);

    if (err != 0)
        return err;
    for (size_t i = 0; i < bytes.n; i++)
        bits = bits << 8 | (unsigned char)bytes.p[i];
    memcpy(&number, &bits, sizeof(number));
    return push_float(m, number);
}

/* @n hexadecimal digits; false when there are other characters. */
static bool read_hex(struct str s, size_t n, uint32_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        char c = i < s.n ? s.p[i] : '\0';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return false;
        *ret = *ret << 4 | digit;
    }
    return true;
}

static void put_point(struct buf *b, uint32_t point)
{
    char bytes[4];

    buf_put(b, bytes, utf8_put(bytes, point <= 0x10FFFF ? point : 0xFFFD));
}

/* A line of protocol 0: Latin-1, with \uXXXX and \UXXXXXXXX. */
int step_text_line(struct machine *m)
{
    struct buf text;
    struct str line;
    int err = machine_take_line(m, &line);

    if (err != 0)
        return err;
    buf_init(&text, 2 * line.n + 8);
    while (line.n > 0) {
        bool is_long = line.n > 1 && line.p[1] == 'U';
        size_t digits = is_long ? 8 : 4;
        uint32_t point;
        if (line.p[0] == '\\' && line.n > 1 && (line.p[1] == 'u' || is_long) &&
            read_hex(str_skip(line, 2), digits, &point)) {
            put_point(&text, point);
            line = str_skip(line, 2 + digits);
        } else {
            put_point(&text, (unsigned char)line.p[0]);
            line = str_skip(line, 1);
        }
    }
    return machine_push_written(m, VALUE_TEXT, &text);
}

/* Bytes of Python 2 are a text if they are ASCII, as Python 3 takes them. */
static int push_string(struct machine *m, struct str bytes)
{
    bool is_ascii = true;

    for (size_t i = 0; i < bytes.n; i++)
        is_ascii = is_ascii && (unsigned char)bytes.p[i] < 0x80;
    return machine_push_text(m, is_ascii ? VALUE_TEXT : VALUE_BYTES, bytes);
}

/* What the backslash at the beginning of @s stands for; returns how much it takes. */
static size_t put_escape(struct buf *b, struct str s)
{
    static const char names[] = "ntr\\'\"", chars[] = "\n\t\r\\'\"";
    const char *hit = s.n > 1 && s.p[1] != '\0' ? strchr(names, s.p[1]) : NULL;
    uint32_t code;

    if (hit != NULL) {
        buf_char(b, chars[hit - names]);
        return 2;
    }
    if (s.n > 1 && s.p[1] == 'x' && read_hex(str_skip(s, 2), 2, &code)) {
        buf_char(b, (char)(unsigned char)code);
        return 4;
    }
    buf_char(b, '\\');
    return 1;
}

/* 'a text' as Python 2 writes it. */
int step_string_line(struct machine *m)
{
    struct buf plain;
    struct str line;
    int err = machine_take_line(m, &line);

    if (err != 0)
        return err;
    if (line.n < 2 || (line.p[0] != '\'' && line.p[0] != '"') ||
        line.p[line.n - 1] != line.p[0])
        return machine_bad(m, "a string without quotes");
    line = str_make(line.p + 1, line.n - 2);
    buf_init(&plain, line.n + 8);
    while (line.n > 0) {
        size_t n = 1;
        if (line.p[0] == '\\')
            n = put_escape(&plain, line);
        else
            buf_char(&plain, line.p[0]);
        line = str_skip(line, n);
    }
    err = machine_push_written(m, VALUE_BYTES, &plain);
    if (err != 0)
        return err;
    struct value *v = m->stack.p[--m->stack.n];
    return push_string(m, v->text);
}

int step_text(struct machine *m, size_t width)
{
    struct str text;
    int err = machine_take_sized(m, width, &text);

    return err != 0 ? err : push_unicode(m, text);
}

int step_bytes(struct machine *m, size_t width)
{
    struct str bytes;
    int err = machine_take_sized(m, width, &bytes);

    return err != 0 ? err : machine_push_text(m, VALUE_BYTES, bytes);
}

int step_string(struct machine *m, size_t width)
{
    struct str bytes;
    int err = machine_take_sized(m, width, &bytes);

    return err != 0 ? err : push_string(m, bytes);
}

int step_long(struct machine *m, size_t width)
{
    struct str bytes;
    int err = machine_take_sized(m, width, &bytes);

    return err != 0 ? err : push_long(m, bytes);
}
