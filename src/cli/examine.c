/* A line for each thing that was found, and what to do about it below; or all as JSON. */
#include "cli/examine.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/json_format.h"
#include "base/visible.h"
#include "cli/command.h"
#include "cli/data.h"

struct examined_lines {
    bool json;
    struct buf out;
    size_t n_bad;
};

static void put_json(struct examined_lines *r,
                     enum store_verdict verdict,
                     const char *check,
                     const char *what,
                     const char *advice)
{
    static const char *const words[] = { "ok", "warning", "bad" };

    json_format(json_next(&r->out), "{'check':%s,'verdict':%s,'what':%s,'advice':%s}", check,
                words[verdict], what, advice);
}

static void on_examined(void *arg,
                        enum store_verdict verdict,
                        const char *check,
                        const char *what,
                        const char *advice)
{
    static const char *const words[] = { "ok   ", "warn ", "BAD  " };
    struct examined_lines *r = arg;

    r->n_bad += verdict == STORE_BAD;
    if (r->json) {
        put_json(r, verdict, check, what, advice);
        return;
    }
    buf_str(&r->out, str_of(words[verdict]));
    visible_put(&r->out, str_of(what));
    if (advice != NULL) {
        buf_lit(&r->out, "\n     ");
        buf_str(&r->out, str_of(advice));
    }
    buf_char(&r->out, '\n');
}

int examine_print(const struct args *args)
{
    struct examined_lines r = { .json = args_have(args, FLAG_JSON) };

    buf_init(&r.out, 1024 * 1024);
    if (r.json)
        json_begin_list(&r.out, "checks");
    int code = data_examine(args, on_examined, &r);
    if (r.json)
        json_format(&r.out, "],'ok':%b}\n", r.n_bad == 0);
    if (code == EXIT_OK)
        code = cli_write(args->path, buf_text(&r.out));
    buf_done(&r.out);
    return code == EXIT_OK && r.n_bad > 0 ? EXIT_BAD_NEWS : code;
}
