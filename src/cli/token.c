/* `spoolwire token`: makes, lists and revokes tokens, in the database itself.
 *
 * Write access to that file allows everything anyway, so no server and no token is needed. When
 * a server has the file open, a command waits until the server has seen the change. */
#include "auth/draft.h"
#include "auth/token.h"
#include "base/buf.h"
#include "base/text_format.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_format.h"
#include "client/client.h"
#include "cli/commands.h"
#include "cli/data.h"
#include "terminal/grid.h"
#include "config/options/amount.h"
#include "config/text/quote.h"
#include "dialect/render.h"

#include <stdio.h>

enum {
    FLAG_SCOPE = FLAG_OWN,
    FLAG_NAME,
    FLAG_OWNER,
    FLAG_JOBS,
    FLAG_AGENTS,
    FLAG_EXPIRES,
    FLAG_MAX_JOBS,
    FLAG_MAX_QUEUED,
    FLAG_MAX_RUNNING,
    FLAG_MAX_STREAMS,
    FLAG_MAX_EVENTS,
    FLAG_NO_STORE,
};

/* --- the server that has it ------------------------------------------------------ */

enum { SEEN_MS = 5000, LOOK_MS = 5 };

/* Waits until the server has seen all changes so far. */
static int until_seen(const struct args *args, struct store *store)
{
    struct error err = { 0 };
    int64_t changes = 0, seen = -1, until = clock_steady_ms() + SEEN_MS;

    int code = store_token_changes(store, &changes, &err);
    while (code == 0 && (code = store_tokens_seen(store, &seen, &err)) == 0 && seen < changes &&
           clock_steady_ms() < until)
        clock_sleep_ms(LOOK_MS);
    if (code != 0)
        return cli_trouble(args->path, "%s", err.text);
    if (seen < changes)
        (void)cli_trouble(args->path, "it is stored, but the server that has the database open "
                                      "has not looked at it yet");
    return EXIT_OK;
}

/* --- create ---------------------------------------------------------------------- */

static bool read_limit(const struct args *args, int id, int64_t *ret)
{
    const char *text = args_get(args, id);

    return text == NULL || amount_parse(AMOUNT_COUNT, str_of(text), ret);
}

static int fill_row(const struct args *args, struct token_row *row)
{
    const char *expires = args_get(args, FLAG_EXPIRES);
    int64_t life_ms = 0;

    row->scopes = str_of(args_get(args, FLAG_SCOPE));
    row->name = str_of(args_get(args, FLAG_NAME));
    row->jobs = str_of(args_get(args, FLAG_JOBS));
    row->agents = str_of(args_get(args, FLAG_AGENTS));
    if (args_have(args, FLAG_OWNER))
        row->owner = str_of(args_get(args, FLAG_OWNER));
    if (str_absent(row->scopes))
        return cli_usage_error(args->path,
                               "--scope is needed: read, client, worker, metrics or admin");
    if (expires != NULL && strcmp(expires, "never") != 0 &&
        (!amount_parse(AMOUNT_MS, str_of(expires), &life_ms) || life_ms < 1000 ||
         life_ms > (int64_t)3650 * 24 * 3600 * 1000))
        return cli_usage_error(
            args->path, "--expires must be a time from 1s to 3650d, such as 30d, or never");
    if (!read_limit(args, FLAG_MAX_JOBS, &row->max_jobs) ||
        !read_limit(args, FLAG_MAX_QUEUED, &row->max_queued) ||
        !read_limit(args, FLAG_MAX_RUNNING, &row->max_running) ||
        !read_limit(args, FLAG_MAX_STREAMS, &row->max_streams) ||
        !read_limit(args, FLAG_MAX_EVENTS, &row->max_events))
        return cli_usage_error(args->path, "a limit must be a whole number; 0: no limit");
    row->expires = life_ms > 0 ? row->created + life_ms : 0;
    return EXIT_OK;
}

/* Would a server take it? */
static int check_row(const struct args *args, const struct token_row *row)
{
    struct token_limits limits = { 0 };
    struct token *t = NULL;
    struct error err;
    int code = token_new(row, &limits, NULL, &t, &err);

    token_unref(t);
    return code == 0 ? EXIT_OK : cli_usage_error(args->path, "--%s", err.text);
}

static int store_row(const struct args *args, const struct token_row *row)
{
    struct store *store = NULL;
    struct error err;
    bool served = false;
    int code = data_open_tokens(args, &store, &served);

    if (code == EXIT_OK && store_token_insert(store, row, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    if (code == EXIT_OK && served)
        code = until_seen(args, store);
    store_close(store);
    return code;
}

/* For `auth_tokens`: without anything secret. */
static void put_spec(struct buf *b, const struct token_row *row)
{
    if (!str_eq(row->owner, row->id)) {
        text_format(b, "%s@", row->owner);
    }
    for (size_t i = 0; i < row->scopes.n; i++)
        buf_char(b, row->scopes.p[i] == ',' ? '+' : row->scopes.p[i]);
    text_format(b, ":spw_%s_sha256:", row->id);
    for (size_t i = 0; i < row->hash.n; i++) {
        char hex[3];

        (void)snprintf(hex, sizeof(hex), "%02x", (unsigned)(unsigned char)row->hash.p[i]);
        buf_put(b, hex, 2);
    }
}

static void put_row(struct buf *b, const struct token_row *row);

static int show(const struct args *args, const struct draft *d)
{
    struct buf out LOCAL_BUF(64 * 1024);
    struct buf spec LOCAL_BUF(64 * 1024);

    if (args_have(args, FLAG_NO_STORE))
        put_spec(&spec, &d->row);
    if (args_have(args, FLAG_JSON)) {
        put_row(&out, &d->row);
        json_add_text(&out, "token", str_of(d->text));
        if (spec.n > 0)
            json_add_text(&out, "spec", buf_text(&spec));
        buf_lit(&out, "}\n");
    } else {
        text_format(&out, "%s\n", d->text);
    }
    int code = cli_write(args->path, buf_text(&out));
    if (code == EXIT_OK && spec.n > 0 && !args_have(args, FLAG_JSON))
        (void)fprintf(stderr, "For auth_tokens in the server's settings:\n    %.*s\n",
                      STR_ARG(buf_text(&spec)));
    if (out.p != NULL)
        secret_forget(out.p, out.cap);
    return code;
}

static int run_create(const struct args *args)
{
    struct draft d;
    struct error err;

    if (draft_init(&d, clock_wall_ms(), &err) != 0)
        return cli_trouble(args->path, "%s", err.text);
    int code = fill_row(args, &d.row);
    if (code == EXIT_OK)
        code = check_row(args, &d.row);
    if (code == EXIT_OK && args_have(args, FLAG_NO_STORE) &&
        (!str_absent(d.row.jobs) || !str_absent(d.row.agents) || d.row.expires != 0))
        code =
            cli_usage_error(args->path, "--no-store: a token in the settings has a scope and "
                                        "an owner, and nothing more");
    if (code == EXIT_OK && !args_have(args, FLAG_NO_STORE))
        code = store_row(args, &d.row);
    if (code == EXIT_OK)
        code = show(args, &d);
    draft_done(&d);
    return code;
}

/* --- list ------------------------------------------------------------------------ */

struct token_table {
    struct grid grid;
    struct buf out;
    bool json;
    int64_t now;
};

/* Writes its members; the caller ends the object. */
static void put_row(struct buf *b, const struct token_row *row)
{
    json_begin(b);
    json_add_str(b, "id", row->id);
    json_add_text(b, "name", row->name);
    json_add_text(b, "scope", row->scopes);
    json_add_text(b, "owner", row->owner);
    json_add_text(b, "jobs", row->jobs);
    json_add_text(b, "agents", row->agents);
    json_add_time(b, "created_at", row->created);
    json_add_time(b, "expires_at", row->expires);
    json_add_time(b, "revoked_at", row->revoked);
}

/* The day is enough. */
static void put_day(struct grid *g, int64_t ms)
{
    struct buf text LOCAL_BUF(40);

    calendar_put(&text, ms);
    grid_cell(g, ms != 0 ? str_head(buf_text(&text), 10) : STR("never"), STYLE_PLAIN);
}

static void put_cells(struct token_table *l, const struct token_row *row)
{
    bool is_over = row->expires != 0 && row->expires <= l->now;
    struct grid *g = &l->grid;

    grid_cell(g, row->id, STYLE_PLAIN);
    grid_cell(g, row->scopes, STYLE_PLAIN);
    grid_cell(g, row->owner, STYLE_PLAIN);
    grid_cell(g, row->jobs, STYLE_PLAIN);
    put_day(g, row->created);
    put_day(g, row->expires);
    grid_cell(g,
              row->revoked != 0 ? STR("revoked")
              : is_over         ? STR("expired")
                                : STR("good"),
              row->revoked != 0 || is_over ? STYLE_RED : STYLE_GREEN);
    grid_cell(g, row->name, STYLE_DIM);
}

static int on_row(void *arg, const struct token_row *row)
{
    struct token_table *l = arg;

    if (!str_absent(row->parent))
        return 0; /* a browser's session, which was made from a token */
    if (l->json) {
        put_row(&l->out, row);
        buf_lit(&l->out, "}\n");
    } else {
        put_cells(l, row);
    }
    return 0;
}

static int run_list(const struct args *args)
{
    static const char *const titles[] = { "ID",      "SCOPE", "OWNER", "JOBS", "CREATED",
                                          "EXPIRES", "STATE", "NAME",  NULL };
    struct token_table l = { .json = args_have(args, FLAG_JSON), .now = clock_wall_ms() };
    struct store *store = NULL;
    struct error err;
    struct term term;

    bool served = false;
    int code = data_open_tokens(args, &store, &served);
    if (code != EXIT_OK)
        return code;
    (void)term_open(&term, NULL); /* auto is valid */
    grid_init(&l.grid, titles);
    buf_init(&l.out, SIZE_MAX / 4);
    if (store_tokens(store, on_row, &l, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    if (code == EXIT_OK && !l.json && grid_write(&l.grid, &term, &l.out) != 0)
        code = cli_trouble(args->path, "out of memory");
    if (code == EXIT_OK)
        code = cli_write(args->path, buf_text(&l.out));
    buf_done(&l.out);
    grid_done(&l.grid);
    store_close(store);
    return code;
}

/* --- revoke ---------------------------------------------------------------------- */

static int revoke_one(const struct args *args, struct store *store, struct str word)
{
    struct buf out LOCAL_BUF(256);
    struct token_text text;
    struct error err;

    /* Accepts a whole token too, as it is pasted from a leak. */
    if (token_text_read(word, &text))
        word = text.id;
    if (!secret_valid_id(word))
        return cli_usage_error(args->path, "'%s' is not the id of a token",
                               quote(str_head(word, SECRET_ID)).z);
    if (store_token_revoke(store, word, clock_wall_ms(), &err) != 0)
        return cli_trouble(args->path, "%s", err.text);
    if (!args_have(args, FLAG_JSON))
        return EXIT_OK;
    json_format(&out, "{'id':%s,'revoked':true}\n", word);
    return cli_write(args->path, buf_text(&out));
}

static int run_revoke(const struct args *args)
{
    struct store *store = NULL;
    bool served = false;

    int code = data_open_tokens(args, &store, &served);
    for (size_t i = 0; code == EXIT_OK && i < args->n_words; i++)
        code = revoke_one(args, store, args_word(args, i));
    if (store != NULL && served) {
        int seen = until_seen(args, store); /* of those that are revoked */

        code = code == EXIT_OK ? seen : code;
    }
    store_close(store);
    return code;
}

/* --- the commands ---------------------------------------------------------------- */

static const struct command command_create = {
    .name = "create",
    .about = "create a token",
    .story = "Creates a token and writes it to standard output, once: only its hash is stored.",
    .flags =
        (const struct flag[]){
            { FLAG_SCOPE, "scope", "LIST", NULL,
              "What it may: `read` (look at jobs), `client` (submit, cancel and read jobs), "
              "`worker` (do them), `metrics` (scrape /metrics), `admin` (everything); several with "
              "commas between." },
            { FLAG_NAME, "name", "TEXT", NULL, "What it is for, for the list." },
            { FLAG_OWNER, "owner", "NAME", NULL,
              "To whom its jobs belong; tokens of the same owner share them.  The token alone, "
              "unless given." },
            { FLAG_JOBS, "jobs", "LIST", NULL,
              "Jobs that it reaches: `all`, `own`, `owner:NAME`, an id, or `PREFIX*`.  A client "
              "always has its own, and nothing else unless given; a reader has all." },
            { FLAG_AGENTS, "agents", "LIST", NULL,
              "Agents that it may submit to or work for; all, unless given." },
            { FLAG_EXPIRES, "expires", "TIME", NULL,
              "For how long it is good: 30d, 12h; `never`." },
            { FLAG_MAX_JOBS, "max-jobs", "N", NULL,
              "Jobs of its owner that have not ended; 0: no limit." },
            { FLAG_MAX_QUEUED, "max-queued", "N", NULL,
              "Of these, jobs that wait for a worker; 0: no limit." },
            { FLAG_MAX_RUNNING, "max-running", "N", NULL,
              "Of these, jobs that workers have at a time, while more of them wait; 0: no "
              "limit." },
            { FLAG_MAX_STREAMS, "max-streams", "N", NULL,
              "Streams open at a time; 0: no limit." },
            { FLAG_MAX_EVENTS, "max-events", "N", NULL, "Events a second; 0: no limit." },
            { FLAG_NO_STORE, "no-store", NULL, NULL,
              "Do not keep it in the database; say what to write into the settings instead." },
            { 0 },
        },
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_create,
};

static const struct command command_list = {
    .name = "list",
    .about = "list the tokens",
    .story = "Lists the tokens of the database.  Their secrets are not stored.",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_list,
};

static const struct command command_revoke = {
    .name = "revoke",
    .arguments = "TOKEN…",
    .about = "revoke tokens",
    .story = "Each TOKEN is the id of one (or all of its text).  A server that runs refuses it "
             "from then on, and closes its streams.",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run_revoke,
};

const struct command command_token = {
    .name = "token",
    .about = "create, list and revoke tokens",
    .story =
        "Tokens say who may do what.  These commands work on the database itself, whether a "
        "server has it open or not.",
    .parts = (const struct command *const[]){ &command_create, &command_list, &command_revoke,
                                              NULL },
};
