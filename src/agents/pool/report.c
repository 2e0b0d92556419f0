#include "agents/pool/report.h"

#include "base/error.h"

enum {
    MAX_DEPTH = 256 + 1
}; /* the deepest event that the journal accepts, plus one for the report around it */

void report_reader_init(struct report_reader *r, size_t max_bytes)
{
    json_reader_init(&r->json, max_bytes, MAX_DEPTH);
    buf_init(&r->event, 2 * max_bytes); /* three bytes of a surrogate half become six */
}

void report_reader_done(struct report_reader *r)
{
    json_reader_done(&r->json);
    buf_done(&r->event);
}

/* What a line may report about a job, by the name of its member. */
static const struct {
    const char *name;
    enum report_kind kind;
} words[] = {
    { "event", REPORT_EVENT },
    { "heartbeat", REPORT_HEARTBEAT },
    { "finish", REPORT_FINISH },
    { "return", REPORT_RETURN },
};

struct said {
    yyjson_val *key, *value; /* the member that says what is reported */
    enum report_kind kind;
    unsigned n;
};

static void find_word(yyjson_val *root, struct said *said)
{
    json_each_member(key, value, root) {
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            if (str_eq(json_text(key), str_of(words[k].name)))
                *said = (struct said){ key, value, words[k].kind, said->n + 1 };
    }
}

static bool is_value_for(const struct said *said)
{
    switch (said->kind) {
    case REPORT_EVENT: /* an event may also be a list: a stream part of LangGraph */
        return yyjson_is_obj(said->value) || yyjson_is_arr(said->value);
    case REPORT_FINISH:
        return yyjson_is_obj(said->value);
    case REPORT_READY:
    case REPORT_CALL:
    case REPORT_HEARTBEAT:
    case REPORT_RETURN:
        break;
    }
    return yyjson_is_true(said->value);
}

/* json_read() leaves halves of surrogate pairs as bytes in a repaired line.  They are escaped
 * again here: the fold may find the other half in a later event. */
static int escape_halves(struct buf *out, struct str s)
{
    buf_clear(out);
    for (size_t i = 0; i < s.n; i++) {
        const unsigned char *p = (const unsigned char *)s.p + i;

        if (p[0] == 0xED && i + 2 < s.n && p[1] >= 0xA0) {
            static const char hex[] = "0123456789abcdef";
            unsigned half = 0xD000u | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);

            buf_lit(out, "\\u");
            for (int shift = 12; shift >= 0; shift -= 4)
                buf_char(out, hex[half >> shift & 15]);
            i += 2;
        } else {
            buf_char(out, s.p[i]);
        }
    }
    return out->error;
}

static int read_event(struct report_reader *r,
                      const struct json *json,
                      const yyjson_val *key,
                      struct report *ret,
                      struct error *err)
{
    ret->event = json_raw_member(json, key);
    if (!json->repaired)
        return 0;
    int code = escape_halves(&r->event, ret->event);
    ret->event = buf_text(&r->event);
    return code == 0 ? 0 : error_set(err, code, "%s", error_name(code));
}

static int read_about_job(struct report_reader *r,
                          const struct json *json,
                          struct report *ret,
                          struct error *err)
{
    struct said said = { 0 };

    ret->job = json_text(json_at(json->root, "job"));
    ret->attempt = json_int(json_at(json->root, "attempt"), -1);
    if (str_empty(ret->job) || ret->attempt < 0)
        return error_set(err, ERR_TYPE,
                         "it needs the \"job\" and the \"attempt\" that it is about");
    find_word(json->root, &said);
    if (said.n != 1)
        return error_set(err, ERR_TYPE,
                         "it needs one of \"event\", \"heartbeat\", \"finish\", \"return\"");
    ret->kind = said.kind;
    if (!is_value_for(&said))
        return error_set(err, ERR_TYPE, "\"%.*s\" must be %s", STR_ARG(json_text(said.key)),
                         said.kind == REPORT_EVENT || said.kind == REPORT_FINISH ? "an object"
                                                                                 : "true");
    if (said.kind == REPORT_EVENT)
        return read_event(r, json, said.key, ret, err);
    return said.kind == REPORT_FINISH ? finish_read(said.value, &ret->finish, err) : 0;
}

/* The answer is rewritten, so that it is on one line. */
static int read_call(struct report_reader *r,
                     const struct json *json,
                     struct report *ret,
                     struct error *err)
{
    yyjson_val *answer = json_at(json->root, "answer");

    ret->kind = REPORT_CALL;
    ret->call = json_text(json_at(json->root, "call"));
    ret->error = json_text(json_at(json->root, "error"));
    if (str_empty(ret->call) || (answer == NULL) == str_absent(ret->error))
        return error_set(err, ERR_TYPE,
                         "a \"call\" needs its id, and \"answer\" or \"error\" (a text)");
    buf_clear(&r->event);
    if (answer == NULL)
        return 0;
    json_put_value(&r->event, answer);
    ret->answer = buf_text(&r->event);
    return r->event.error == 0
               ? 0
               : error_set(err, r->event.error, "%s", error_name(r->event.error));
}

int report_read(struct report_reader *reader,
                struct str line,
                struct report *ret,
                struct error *err)
{
    struct json json;
    int code = json_read(&reader->json, line, &json, err);

    *ret = (struct report){ .kind = REPORT_READY };
    if (code != 0)
        return code;
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_TYPE, "it is no JSON object");
    ret->takes_calls = yyjson_is_true(json_at(json.root, "calls"));
    if (yyjson_is_true(json_at(json.root, "ready")))
        return 0;
    if (json_at(json.root, "call") != NULL)
        return read_call(reader, &json, ret, err);
    return read_about_job(reader, &json, ret, err);
}

struct str report_job(struct report_reader *reader, struct str line)
{
    struct json json;

    if (line.n == 0 || line.p[0] != '{' || json_read(&reader->json, line, &json, NULL) != 0)
        return STR_NONE;
    return json_text(json_at(json.root, "job"));
}
