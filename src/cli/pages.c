#include "cli/pages.h"
#include "base/text_format.h"

#include <stdio.h>

static void put_query(const struct pages *p,
                      const struct args *args,
                      int64_t limit,
                      struct buf *b)
{
    text_format(b, "%s?limit=%d", p->path, limit);
    for (size_t i = 0; i < p->n_filters; i++)
        if (args_have(args, p->filters[i].flag)) {
            buf_str(b, str_of(p->filters[i].name));
            client_put_escaped(b, str_of(args_get(args, p->filters[i].flag)));
        }
    if (p->next[0] != '\0') {
        buf_lit(b, "&after=");
        client_put_escaped(b, str_of(p->next));
    }
    buf_char(b, '\0');
}

int pages_next(struct pages *p,
               struct remote *r,
               const struct args *args,
               int64_t limit,
               void (*take)(void *arg, yyjson_val *item),
               void *arg)
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);

    put_query(p, args, limit, &path);
    if (path.error != 0)
        return cli_usage_error(r->path, "that is too long");
    int code = remote_get(r, path.p, &reply);
    if (code == EXIT_OK)
        code = remote_json(r, &reply, &reader, &json);
    if (code != EXIT_OK)
        return code;
    json_each(item, json_get(json.root, str_of(p->member)))
        take(arg, item);
    (void)snprintf(p->next, sizeof(p->next), "%.*s",
                   STR_ARG(json_text(json_at(json.root, "next"))));
    return EXIT_OK;
}
