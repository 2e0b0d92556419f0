/* Random checkpoints, items, assistants, crons, webhooks and tokens.  Some backends do not
 * offer them. */
#include "same.h"

#include "store/backend.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = { "one", "two", "three", "f\xc3\xbcnf", "" };

static struct str some_name(struct player *p)
{
    return str_of(names[below(p, 4)]);
}

static struct typed some_value(struct player *p)
{
    static const char bytes[] = "\0\x01\xff and more";

    return (struct typed){ one_in(p, 2) ? STR("msgpack") : STR("json"),
                           str_make(bytes, below(p, sizeof(bytes))) };
}

/* --- checkpoints ------------------------------------------------------------------- */

/* No id is in two namespaces: then either may come first. */
static struct checkpoint_row some_checkpoint(struct player *p)
{
    static const char *const ids[] = { "1", "2", "3", "4", "5", "6" };
    static const char *const metadata[] = { "{}", "{\"run_id\":\"r1\"}",
                                            "{\"run_id\":\"r2\",\"step\":2}" };
    static const char *const versions[] = { "{}", "{\"one\":\"1\",\"two\":\"2\"}",
                                            "{\"three\":\"1\"}" };
    size_t id = below(p, 6);

    return (struct checkpoint_row){ .thread = some_name(p),
                                    .ns = id % 3 == 0 ? STR("sub") : STR(""),
                                    .id = str_of(ids[id]),
                                    .parent = one_in(p, 2) ? STR("1") : STR_NONE,
                                    .value = some_value(p),
                                    .metadata = str_of(metadata[below(p, 3)]),
                                    .versions = str_of(versions[below(p, 3)]),
                                    .run = one_in(p, 3)   ? STR_NONE
                                           : one_in(p, 2) ? STR("r1")
                                                          : STR("r2") };
}

/* A gathered batch borrows it. */
static struct checkpoint_row *keep(struct player *p, struct checkpoint_row row)
{
    p->checkpoints[p->n_played] = row;
    return &p->checkpoints[p->n_played];
}

static bool play_checkpoint(struct player *p)
{
    struct checkpoint_row row = some_checkpoint(p);

    if (!say_partial(p, p->writer->ops->checkpoint_put != NULL))
        return true;
    say(p, "checkpoint put %.*s/%.*s", STR_ARG(row.thread), STR_ARG(row.id));
    say_answer(p, WRITE(p, checkpoint_put, keep(p, row)));
    return true;
}

static bool play_channel(struct player *p)
{
    struct checkpoint_row of = some_checkpoint(p);
    struct channel_row row = { some_name(p), one_in(p, 2) ? STR("1") : STR("2"),
                               some_value(p) };

    if (!say_partial(p, p->writer->ops->channel_put != NULL))
        return true;
    say(p, "channel put %.*s/%.*s", STR_ARG(of.thread), STR_ARG(row.channel));
    struct channel_row *kept = &p->channels[p->n_played];
    *kept = row;
    say_answer(p, WRITE(p, channel_put, keep(p, of), kept));
    return true;
}

static bool play_write(struct player *p)
{
    struct checkpoint_row of = some_checkpoint(p);
    struct write_row row = { some_name(p), STR("path"), some_name(p), (int64_t)below(p, 3) - 1,
                             some_value(p) };

    if (!say_partial(p, p->writer->ops->write_put != NULL))
        return true;
    say(p, "write put %.*s/%.*s", STR_ARG(of.thread), STR_ARG(of.id));
    struct write_row *kept = &p->writes[p->n_played];
    *kept = row;
    say_answer(p, WRITE(p, write_put, keep(p, of), kept));
    return true;
}

static bool play_state(struct player *p)
{
    struct checkpoint_row of = some_checkpoint(p);
    struct str state = some_json(p);

    if (!say_partial(p, p->writer->ops->state_put != NULL))
        return true;
    say(p, "state put %.*s/%.*s", STR_ARG(of.thread), STR_ARG(of.id));
    say_answer(p, WRITE(p, state_put, keep(p, of), state));
    return true;
}

static bool play_forget(struct player *p)
{
    struct str thread = some_name(p), run = one_in(p, 2) ? STR("r1") : STR("r2");
    size_t kind = below(p, 3);

    if (!say_partial(p, p->writer->ops->thread_thin != NULL))
        return true;
    switch (kind) {
    case 0:
        say(p, "thread forget");
        say_answer(p, WRITE(p, thread_forget, thread));
        break;
    case 1:
        say(p, "run forget");
        say_answer(p, WRITE(p, run_forget, thread, run));
        break;
    default:
        say(p, "thread thin");
        say_answer(p, WRITE(p, thread_thin, thread));
    }
    return true;
}

/* To a thread that has none, because its own are deleted first. */
static bool play_copy(struct player *p)
{
    struct str from = some_name(p), to = STR("copy");

    if (!say_partial(p, p->writer->ops->thread_thin != NULL))
        return true;
    say(p, "thread forget copy");
    say_answer(p, WRITE(p, thread_forget, to));
    (void)say_partial(p, true);
    say(p, "thread copy");
    say_answer(p, WRITE(p, thread_copy, from, to));
    return true;
}

static int on_checkpoint(void *arg, const struct checkpoint_row *row)
{
    struct player *p = arg;

    say(p, "\n  checkpoint");
    say_text(p, "ns", row->ns);
    say_text(p, "id", row->id);
    say_text(p, "parent", row->parent);
    say_text(p, "type", row->value.type);
    say_text(p, "data", row->value.data);
    say_text(p, "metadata", row->metadata);
    say_text(p, "versions", row->versions);
    return 0;
}

static int on_channel(void *arg, const struct channel_row *row)
{
    say_text(arg, "channel", row->channel);
    say_text(arg, "version", row->version);
    say_text(arg, "type", row->value.type);
    say_text(arg, "data", row->value.data);
    return 0;
}

static int on_write(void *arg, const struct write_row *row)
{
    say_text(arg, "task", row->task);
    say_text(arg, "path", row->path);
    say_text(arg, "channel", row->channel);
    say(arg, " idx=%" PRId64, row->idx);
    say_text(arg, "data", row->value.data);
    return 0;
}

static int on_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    say_text(arg, "ns", of->ns);
    say_text(arg, "id", of->id);
    say_text(arg, "state", state);
    return 0;
}

static bool play_checkpoints(struct player *p)
{
    struct checkpoint_row of = some_checkpoint(p);
    struct checkpoint_filter filter = { .thread = one_in(p, 4) ? STR("copy") : of.thread };
    size_t kind = below(p, 5);

    if (one_in(p, 2))
        filter.ns = of.ns;
    if (!str_absent(filter.ns) && one_in(p, 3))
        filter.id = of.id;
    else if (one_in(p, 3))
        filter.before = of.id;
    if (!say_partial(p, p->writer->ops->checkpoints != NULL))
        return true;
    say(p, "checkpoints %zu of %.*s/%.*s", kind, STR_ARG(of.thread), STR_ARG(of.id));
    if (kind == 0)
        say_answer(p, store_checkpoints(p->s, &filter, on_checkpoint, p, &p->err));
    else if (kind == 1)
        say_answer(p, store_channels(p->s, &of, on_channel, p, &p->err));
    else if (kind == 2)
        say_answer(p, store_writes(p->s, &of, on_write, p, &p->err));
    else if (kind == 3)
        say_answer(p, store_states(p->s, &filter, on_state, p, &p->err));
    else
        say_answer(p, store_states_after(p->s, &of, on_state, p, &p->err));
    return true;
}

/* --- items ------------------------------------------------------------------------- */

static struct item_row some_item(struct player *p)
{
    static const char *const spaces[] = { "users.", "users.ann.", "users.bob.", "u." };
    int64_t ttl = one_in(p, 2) ? 1 + (int64_t)below(p, 20000) : 0;

    return (struct item_row){ .owner = one_in(p, 2) ? STR("") : STR("acme"),
                              .ns = str_of(spaces[below(p, 4)]),
                              .key = some_name(p),
                              .value = some_json(p),
                              .created = model(p)->now,
                              .updated = model(p)->now,
                              .ttl_ms = ttl,
                              .expires = ttl > 0 ? model(p)->now + ttl : 0 };
}

static bool play_item_write(struct player *p)
{
    struct item_row row = some_item(p);
    size_t kind = below(p, 6);

    if (!say_partial(p, p->writer->ops->item_put != NULL))
        return true;
    say(p, "item %zu %.*s%.*s", kind, STR_ARG(row.ns), STR_ARG(row.key));
    if (kind == 0)
        say_answer(p, WRITE(p, item_delete, &row));
    else if (kind == 1)
        say_answer(p, WRITE(p, item_touch, &row, model(p)->now));
    else
        say_answer(p, WRITE(p, item_put, &row));
    return true;
}

static int on_item(void *arg, const struct item_row *row)
{
    say(arg, "\n  item");
    say_text(arg, "ns", row->ns);
    say_text(arg, "key", row->key);
    say_text(arg, "value", row->value);
    say(arg, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, row->created, row->updated,
        row->ttl_ms, row->expires);
    return 0;
}

static int on_space(void *arg, struct str ns)
{
    say_text(arg, "ns", ns);
    return 0;
}

static bool play_items(struct player *p)
{
    struct item_row row = some_item(p);
    size_t kind = below(p, 3);
    int64_t now = model(p)->now;

    if (!say_partial(p, p->writer->ops->items != NULL))
        return true;
    say(p, "items %zu %.*s", kind, STR_ARG(row.ns));
    if (kind == 0)
        say_answer(p, store_item(p->s, &row, now, on_item, p, &p->err));
    else if (kind == 1)
        say_answer(p, store_items(p->s, row.owner, row.ns, now, on_item, p, &p->err));
    else
        say_answer(p, store_namespaces(p->s, row.owner, now, on_space, p, &p->err));
    return true;
}

/* --- assistants -------------------------------------------------------------------- */

static int on_assistant(void *arg, const struct assistant_row *row)
{
    say(arg, "\n  assistant %" PRId64, row->version);
    say_text(arg, "id", row->id);
    say_text(arg, "owner", row->owner);
    say_text(arg, "graph", row->graph);
    say_text(arg, "name", row->name);
    say_text(arg, "description", row->description);
    say_text(arg, "config", row->config);
    say_text(arg, "context", row->context);
    say_text(arg, "metadata", row->metadata);
    say(arg, " %" PRId64 " %" PRId64, row->created, row->updated);
    return 0;
}

/* Gathered ones must be possible, which nobody has looked at here. */
static bool play_assistant_write(struct player *p)
{
    struct assistant_row row = { .id = some_name(p),
                                 .owner = STR(""),
                                 .graph = STR("graph"),
                                 .name = some_name(p),
                                 .description = one_in(p, 2) ? STR("words") : STR_NONE,
                                 .config = some_json(p),
                                 .context = some_json(p),
                                 .metadata = some_json(p),
                                 .version = 1 + (int64_t)below(p, 3),
                                 .created = model(p)->now,
                                 .updated = model(p)->now };
    size_t kind = below(p, 8);

    if (p->gathers || !say_partial(p, p->writer->ops->assistant_insert != NULL))
        return true;
    say(p, "assistant %zu %.*s %" PRId64, kind, STR_ARG(row.id), row.version);
    if (kind == 0)
        say_answer(p, store_assistant_delete(p->s, row.id, &p->err));
    else if (kind < 3)
        say_answer(p, store_assistant_choose(p->s, row.id, row.version, &p->err));
    else
        say_answer(p, store_assistant_insert(p->s, &row, &p->err));
    return true;
}

static bool play_assistants(struct player *p)
{
    struct str id = some_name(p);
    size_t kind = below(p, 3);

    if (!say_partial(p, p->writer->ops->assistants != NULL))
        return true;
    say(p, "assistants %zu %.*s", kind, STR_ARG(id));
    if (kind == 0)
        say_answer(p, store_assistant(p->s, id, on_assistant, p, &p->err));
    else
        say_answer(p,
                   store_assistants(p->s, kind == 1 ? id : STR_NONE, on_assistant, p, &p->err));
    return true;
}

/* --- crons ------------------------------------------------------------------------- */

static int on_cron(void *arg, const struct cron_row *row)
{
    say(arg, "\n  cron %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
        row->next, row->enabled, row->end_time, row->created, row->updated, row->moved);
    say_text(arg, "id", row->id);
    say_text(arg, "owner", row->owner);
    say_text(arg, "assistant", row->assistant);
    say_text(arg, "thread", row->thread);
    say_text(arg, "schedule", row->schedule);
    say_text(arg, "timezone", row->timezone);
    say_text(arg, "on_completed", row->on_completed);
    say_text(arg, "payload", row->payload);
    say_text(arg, "metadata", row->metadata);
    return 0;
}

/* A tick that was taken ends the transaction of some backends: contract_items.c has that. */
static bool play_cron_write(struct player *p)
{
    struct cron_row row = { .id = some_name(p),
                            .owner = STR(""),
                            .assistant = some_name(p),
                            .thread = one_in(p, 2) ? some_name(p) : STR_NONE,
                            .schedule = some_json(p),
                            .timezone = one_in(p, 2) ? STR("UTC") : STR_NONE,
                            .on_completed = one_in(p, 2) ? STR("keep") : STR_NONE,
                            .payload = some_json(p),
                            .metadata = some_json(p),
                            .end_time = (int64_t)below(p, 3) * model(p)->now,
                            .next = (int64_t)below(p, 4) * 1000 - 1,
                            .enabled = (int64_t)below(p, 2),
                            .created = model(p)->now,
                            .updated = model(p)->now,
                            .moved = model(p)->now };
    size_t kind = below(p, 8);

    if (p->gathers || !say_partial(p, p->writer->ops->cron_insert != NULL))
        return true;
    say(p, "cron %zu %.*s %" PRId64, kind, STR_ARG(row.id), row.next);
    if (kind == 0)
        say_answer(p, store_cron_delete(p->s, row.id, &p->err));
    else if (kind == 1)
        say_answer(p, store_crons_forget(p->s, row.thread, STR_NONE, &p->err));
    else if (kind < 4)
        say_answer(p, store_cron_update(p->s, &row, &p->err));
    else
        say_answer(p, store_cron_insert(p->s, &row, &p->err));
    return true;
}

static bool play_crons(struct player *p)
{
    struct str id = some_name(p);
    size_t kind = below(p, 3);

    if (!say_partial(p, p->writer->ops->crons != NULL))
        return true;
    say(p, "crons %zu %.*s", kind, STR_ARG(id));
    if (kind == 0)
        say_answer(p, store_cron(p->s, id, on_cron, p, &p->err));
    else if (kind == 1)
        say_answer(p, store_crons(p->s, on_cron, p, &p->err));
    else
        say_answer(p, store_crons_due(p->s, 1500, 2, on_cron, p, &p->err));
    return true;
}

/* --- deliveries of webhooks ---------------------------------------------------------- */

static int on_webhook(void *arg, const struct webhook_row *row)
{
    say(arg, "\n  webhook %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
        row->created, row->ended, row->due, row->attempts, row->version, row->expires);
    say_text(arg, "id", row->id);
    say_text(arg, "thread", row->thread);
    say_text(arg, "owner", row->owner);
    say_text(arg, "url", row->url);
    say_text(arg, "run", row->run);
    say_text(arg, "status", row->status);
    say_text(arg, "error", row->error);
    say_text(arg, "values", row->values);
    say_text(arg, "state", row->state);
    say_text(arg, "reason", row->reason);
    return 0;
}

/* The jobs are numbers that no job has: a delivery outlives its run.  A change of another
 * version ends the transaction of some backends: contract_webhooks.c has that. */
static bool play_webhook_write(struct player *p)
{
    struct webhook_row row = { .id = some_name(p),
                               .job = (int64_t)below(p, 6) - 10,
                               .thread = some_name(p),
                               .owner = one_in(p, 2) ? some_name(p) : STR_NONE,
                               .url = some_json(p),
                               .run = some_json(p),
                               .created = model(p)->now };
    const struct webhook_end end = { .job = row.job,
                                     .thread = -1,
                                     .status = some_name(p),
                                     .error = one_in(p, 2) ? some_json(p) : STR_NONE,
                                     .started = 7,
                                     .now = (int64_t)below(p, 4) * 1000 };
    size_t kind = below(p, 6);

    if (p->gathers || !say_partial(p, p->writer->ops->webhook_move != NULL))
        return true;
    say(p, "webhook %zu %.*s %" PRId64, kind, STR_ARG(row.id), row.job);
    if (kind == 0)
        say_answer(p, store_webhook_forget(p->s, row.job, &p->err));
    else if (kind < 3)
        say_answer(p, store_webhook_end(p->s, &end, &p->err));
    else
        say_answer(p, store_webhook_insert(p->s, &row, &p->err));
    return true;
}

static bool play_webhooks(struct player *p)
{
    struct str id = some_name(p);
    size_t kind = below(p, 4);
    struct webhook_counts n = { 0 };

    if (!say_partial(p, p->writer->ops->webhook_move != NULL))
        return true;
    say(p, "webhooks %zu %.*s", kind, STR_ARG(id));
    if (kind == 0)
        say_answer(p, store_webhook(p->s, id, on_webhook, p, &p->err));
    else if (kind == 1)
        say_answer(
            p, store_webhooks(p->s, STR_NONE, INT64_MAX, STR_NONE, 3, on_webhook, p, &p->err));
    else if (kind == 2)
        say_answer(p, store_webhooks_due(p->s, 1500, 2, on_webhook, p, &p->err));
    if (kind < 3)
        return true;
    int code = store_webhooks_count(p->s, &n, &p->err);
    say(p, " %" PRId64 " %" PRId64, n.waiting, n.pending);
    say_answer(p, code);
    return true;
}

const struct same_choice same_graph_writes[] = {
    { play_checkpoint, 6 },
    { play_channel, 5 },
    { play_write, 6 },
    { play_state, 4 },
    { play_forget, 2 },
    { play_copy, 1 },
    { play_item_write, 8 },
    { play_assistant_write, 4 },
    { play_cron_write, 4 },
    { play_webhook_write, 4 },
    { NULL, 0 },
};

const struct same_choice same_graph_reads[] = {
    { play_checkpoints, 8 }, { play_items, 5 },    { play_assistants, 3 },
    { play_crons, 3 },       { play_webhooks, 3 }, { NULL, 0 },
};

/* --- tokens ------------------------------------------------------------------------ */

static bool play_token_insert(struct player *p)
{
    char id[ID_BYTES];
    bool again = one_in(p, 6), is_session = one_in(p, 2);
    unsigned number =
        again && model(p)->n_tokens > 0 ? model(p)->n_tokens - 1 : model(p)->n_tokens++;
    struct token_row row = { .id = str_of(id),
                             .parent = is_session ? STR("t00000") : STR_NONE,
                             .hash = STR("0123456789abcdef0123456789abcdef"),
                             .name = some_name(p),
                             .scopes = STR("client"),
                             .owner = STR("acme"),
                             .jobs = STR("own"),
                             .agents = some_text(p),
                             .max_jobs = (int64_t)below(p, 3) - 1,
                             .created = model(p)->now,
                             .expires = some_time(p) };

    (void)snprintf(id, sizeof(id), "t%05u", number);
    row.id = str_of(id);
    if (number == 0)
        row.parent = STR_NONE;
    if (!say_partial(p, p->writer->ops->token_insert != NULL))
        return true;
    say(p, "token insert %s", id);
    say_answer(p, store_token_insert(p->s, &row, &p->err));
    return true;
}

static bool play_token_end(struct player *p)
{
    char id[ID_BYTES];
    size_t kind = below(p, 3);

    (void)snprintf(id, sizeof(id), "t%05zu", 1 + below(p, model(p)->n_tokens + 1));
    if (!say_partial(p, p->writer->ops->token_revoke != NULL))
        return true;
    say(p, "token end %zu %s", kind, id);
    if (kind == 0)
        say_answer(p, store_token_revoke(p->s, str_of(id), model(p)->now, &p->err));
    else if (kind == 1)
        say_answer(p, store_session_delete(p->s, str_of(id), &p->err));
    else
        say_answer(p, store_sessions_expire(p->s, model(p)->now, &p->err));
    return true;
}

static int on_token(void *arg, const struct token_row *row)
{
    say(arg, "\n  token");
    say_text(arg, "id", row->id);
    say_text(arg, "parent", row->parent);
    say_text(arg, "hash", row->hash);
    say_text(arg, "name", row->name);
    say_text(arg, "agents", row->agents);
    say(arg, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, row->max_jobs, row->created,
        row->expires, row->revoked);
    return 0;
}

/* How the numbers of changes rise is the backend's own. */
static bool play_tokens(struct player *p)
{
    int64_t changes = 0;

    if (!say_partial(p, p->writer->ops->tokens != NULL))
        return true;
    int code = store_token_changes(p->s, &changes, &p->err);
    say(p, "tokens, %s", changes > model(p)->token_changes ? "changed" : "as before");
    model(p)->token_changes = changes;
    if (code == 0)
        code = store_tokens(p->s, on_token, p, &p->err);
    say_answer(p, code);
    return true;
}

static bool play_secret(struct player *p)
{
    unsigned char secret[STORE_SECRET_BYTES] = { 0 };
    struct str fresh = one_in(p, 2) ? STR("0123456789abcdef0123456789abcdef")
                                    : STR("fedcba9876543210fedcba9876543210");
    struct str name = some_name(p);

    if (!say_partial(p, p->writer->ops->secret != NULL))
        return true;
    int code = store_secret(p->s, name, fresh, secret, &p->err);
    say(p, "secret %02x", secret[0]);
    say_answer(p, code);
    return true;
}

const struct same_choice same_tokens[] = {
    { play_token_insert, 4 }, { play_token_end, 3 }, { play_tokens, 4 },
    { play_secret, 1 },       { NULL, 0 },
};
