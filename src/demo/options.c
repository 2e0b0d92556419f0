/* The demo agent's options: the same names on the command line and in a job's input. */
#include "demo/demo.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_FAN_OUT = 1000 };

void demo_options_init(struct demo_options *o)
{
    *o = (struct demo_options){ .seed = 1, .speed = 1.0, .fan_out = 1, .question = true };
}

static bool parse_number(struct str text, double max, double *ret)
{
    char copy[64];
    char *end;

    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    str_copy(copy, text);
    copy[text.n] = '\0';
    double value = strtod(copy, &end);
    if (end != copy + text.n || !isfinite(value) || value < 0 || value > max)
        return false;
    *ret = value;
    return true;
}

static bool parse_whole(struct str text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.p[i] - '0'), &value))
            return false;
    }
    if (text.n == 0 || value > max)
        return false;
    *ret = value;
    return true;
}

static bool set_fail_at(struct demo_options *o, struct str value)
{
    static const char *const nodes[] = { "supervisor", "investigator", "codebase_search",
                                         "web_search", "critic",       "human_input",
                                         "writer" };

    if (str_is(value, "none")) {
        o->fail_at = NULL;
        return true;
    }
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (str_eq(value, str_of(nodes[i]))) {
            o->fail_at = nodes[i];
            return true;
        }
    return false;
}

static bool set_fan_out(struct demo_options *o, struct str value)
{
    uint64_t n = 0;

    if (!parse_whole(value, MAX_FAN_OUT, &n))
        return false;
    o->fan_out = n > 0 ? (unsigned)n : 1;
    return true;
}

static bool set_question(struct demo_options *o, struct str value)
{
    o->question = str_is(value, "true");
    return o->question || str_is(value, "false");
}

static bool set_ask(struct demo_options *o, struct str value)
{
    if (str_is(value, "never")) {
        o->ask_seconds = -1;
        return true;
    }
    return parse_number(value, 86400, &o->ask_seconds);
}

int demo_options_set(struct demo_options *o,
                     struct str name,
                     struct str value,
                     struct error *err)
{
    bool good;

    if (str_is(name, "seed"))
        good = parse_whole(value, UINT64_MAX, &o->seed);
    else if (str_is(name, "speed"))
        good = parse_number(value, 1e6, &o->speed);
    else if (str_is(name, "length"))
        good = parse_whole(value, 10 * 1000 * 1000, &o->length);
    else if (str_is(name, "fail_at"))
        good = set_fail_at(o, value);
    else if (str_is(name, "fan_out"))
        good = set_fan_out(o, value);
    else if (str_is(name, "question"))
        good = set_question(o, value);
    else if (str_is(name, "ask_timeout"))
        good = set_ask(o, value);
    else
        return error_set(err, ERR_NOT_FOUND, "there is no option %.*s", STR_ARG(name));
    if (!good)
        return error_set(err, ERR_TYPE, "'%.*s' is not a value for %.*s",
                         STR_ARG(str_head(value, 40)), STR_ARG(name));
    return 0;
}
