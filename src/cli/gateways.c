/* `spoolwire gateways`: the gateways that share a database, and which one writes. */
#include "cli/commands.h"
#include "cli/listing.h"

/* The numbers, with commas. */
static enum term_style put_shards(void *arg,
                                  yyjson_val *item,
                                  yyjson_val *value,
                                  struct buf *text)
{
    size_t i, n;
    yyjson_val *shard;

    (void)arg;
    (void)item;
    yyjson_arr_foreach(value, i, n, shard)
    {
        if (i > 0)
            buf_char(text, ',');
        json_put_value(text, shard);
    }
    return STYLE_PLAIN;
}

static const struct column columns[] = {
    { "GATEWAY", "url", .style = STYLE_PLAIN },
    { "WRITES", "writes", .style = STYLE_PLAIN },
    { "SHARDS", "shards", .put = put_shards },
    { "VERSION", "version", .style = STYLE_PLAIN },
    { "STARTED", "started_at", .style = STYLE_PLAIN },
    { "ID", "id", .style = STYLE_PLAIN },
    { 0 },
};

static int put_gateways(const struct args *args, yyjson_val *answer, struct buf *out)
{
    yyjson_val *gateways = json_at(answer, "gateways");
    struct term term;
    size_t i, n;
    yyjson_val *gateway;

    if (args_have(args, FLAG_JSON)) {
        yyjson_arr_foreach(gateways, i, n, gateway)
            listing_put_line(gateway, columns, false, out);
        return EXIT_OK;
    }
    (void)term_open(&term, NULL); /* cannot fail for NULL */
    listing_put(gateways, columns, true, &term, out);
    return EXIT_OK;
}

static int run(const struct args *args)
{
    struct client_reply reply LOCAL_REPLY;
    struct remote r;

    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_get(&r, "/v1/gateways", &reply);
    if (code == EXIT_OK)
        code = remote_put(&r, args, &reply, put_gateways);
    remote_close(&r);
    return code;
}

const struct command command_gateways = {
    .name = "gateways",
    .about = "list the gateways that share the database",
    .story = "Lists the gateways that share the server's PostgreSQL database, and which of "
             "them writes which shards.  With SQLite there are none.  With --json one a line.",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run,
};
