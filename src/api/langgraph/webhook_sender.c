/* Deliveries that are due, and what becomes of each:
 *
 *     timer ──▶ store_webhooks_due ──▶ CLAIM ──▶ webhook_post ──▶ SENT, FAILED or DEAD
 *                                        │ refused: another gateway has it
 *
 * A claim is stored before anything is sent, so that no two gateways send a delivery at the
 * same time, and a crash does not repeat it at once.  What was sent and could not be stored, or
 * was sent by a gateway that died, is sent again when the claim has run out: at least once,
 * with the same id.  The store gives only the first pending delivery of each thread, so these
 * are in order.
 *
 * Most fail for a while and then for good, so the time between attempts grows. */
#include "api/langgraph/webhook_sender.h"

#include "api/api.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_merge.h"
#include "companion/companion.h"
#include "store/rows.h"
#include "store/webhooks.h"
#include "webhooks/post.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVERY_MS = 250,
    MAX_BUSY = 32,   /* deliveries at a time */
    MAX_LOOK = 1000, /* that are looked at for hosts that have room */
    MAX_HOST = 256,
    MAX_DEPTH = 512,           /* of the body */
    CLAIM_MORE_MS = 5000,      /* beyond the time of an attempt: to store its result */
    RETRY_TIMES = 4,           /* as long after each attempt, */
    MAX_RETRY_MS = 3600 * 1000 /* but no longer than this */
};

/* Whose places are counted: the host of a URL; empty: the project's own app. */
struct receiver_host {
    char name[MAX_HOST];
};

struct delivery {
    struct delivery *next; /* in the sender's list */
    struct webhook_sender *sender;
    struct arena mem;       /* of the row */
    struct webhook_row row; /* as it was claimed */
    struct receiver_host host;
    struct journal_request request;
    struct webhook_post post;
    struct buf body;
    bool is_posting;
    enum webhook_change change; /* the result that is being stored */
};

struct webhook_sender {
    struct app_loop *loop; /* borrowed */
    struct http_loop *http;
    const struct webhook_settings *settings; /* borrowed */
    struct http_client *client;              /* owned; NULL: not needed yet */
    uv_timer_t timer;
    struct thread_task task; /* asks the store */
    bool is_asking, is_stopped;
    struct delivery *busy; /* all that are under way; owned */
    size_t n_busy, n_claiming;
    struct delivery *found; /* by the task; owned */
    size_t n_found, room;
    struct receiver_host held[MAX_BUSY]; /* of those under way when the task began */
    size_t n_held;
};

/* --- the body ------------------------------------------------------------------------------
 */

static bool is_among(struct str name, char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq(name, str_of(*names)))
            return true;
    return false;
}

static void put_fields(struct buf *b, struct str body, char *const *fields)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 4, MAX_DEPTH);
    struct json json;

    if (json_read(&reader, body, &json, NULL) != 0) {
        b->error = ERR_NOMEM; /* it is JSON */
        return;
    }
    json_begin(b);
    json_each_member(key, value, json.root)
        if (is_among(json_text(key), fields)) {
            json_put_key(b, json_text(key));
            json_put_value(b, value);
        }
    json_end(b);
}

void webhook_put_body(struct buf *b,
                      const struct webhook_row *row,
                      int64_t now,
                      char *const *fields)
{
    struct buf over LOCAL_BUF(SIZE_MAX / 4);
    struct buf all LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&over);
    json_add_time(&over, "created_at", row->created);
    json_add_time(&over, "updated_at", row->ended);
    json_add_text(&over, "status", row->status);
    json_add_time(&over, "run_started_at", row->started);
    json_add_time(&over, "run_ended_at", row->ended);
    json_add_time(&over, "webhook_sent_at", now);
    json_add_raw(&over, "values", row->values);
    if (!str_absent(row->error))
        json_add_raw(&over, "error", row->error);
    json_end(&over);
    json_merge(fields != NULL ? &all : b, row->run, buf_text(&over));
    if (over.error != 0 || all.error != 0)
        b->error = ERR_NOMEM;
    else if (fields != NULL)
        put_fields(b, buf_text(&all), fields);
}

/* --- one delivery --------------------------------------------------------------------------
 */

static void look(struct webhook_sender *s);

static void delivery_free(struct delivery *d)
{
    arena_done(&d->mem);
    buf_done(&d->body);
    free(d);
}

static void leave(struct delivery *d)
{
    struct webhook_sender *s = d->sender;

    for (struct delivery **at = &s->busy; *at != NULL; at = &(*at)->next) {
        if (*at == d) {
            *at = d->next;
            break;
        }
    }
    s->n_busy--;
    delivery_free(d);
}

/* The loop has ended. */
static void on_dropped(struct loop_call *call)
{
    struct delivery *d = call->owner;

    journal_request_done(&d->request);
}

static bool begin_request(struct delivery *d,
                          enum webhook_change change,
                          void (*answered)(struct loop_call *))
{
    struct webhook_request *w = &d->request.webhook;

    journal_request_init(&d->request, d->sender->loop->box, d, answered);
    d->request.loop_call.dropped = on_dropped;
    (void)journal_request_begin(&d->request, JOURNAL_WEBHOOK);
    w->change = d->change = change;
    w->version = d->row.version;
    return arena_copy(&d->request.mem, d->row.id, &w->id);
}

static int64_t delay(const struct delivery *d)
{
    int64_t ms = d->sender->settings->retry_ms;

    for (int64_t i = 1; i < d->row.attempts && ms < MAX_RETRY_MS; i++)
        ms *= RETRY_TIMES;
    return ms < MAX_RETRY_MS ? ms : MAX_RETRY_MS;
}

static enum webhook_result_count count_of(enum webhook_change change)
{
    return change == WEBHOOK_SENT   ? WEBHOOK_COUNT_SENT
           : change == WEBHOOK_DEAD ? WEBHOOK_COUNT_DEAD
                                    : WEBHOOK_COUNT_FAILED;
}

static void on_stored(struct loop_call *call)
{
    struct delivery *d = call->owner;
    struct webhook_sender *s = d->sender;

    if (d->request.code == 0)
        counter_add(&s->loop->webhooks[count_of(d->change)], 1);
    journal_request_done(&d->request);
    leave(d);
    look(s); /* the next one of its thread may be due */
}

/* Without memory it is sent again when the claim has run out. */
static void store_result(struct delivery *d, const struct webhook_result *result)
{
    const struct webhook_settings *settings = d->sender->settings;
    struct webhook_request *w = &d->request.webhook;
    int64_t left = settings->max_age_ms - (clock_wall_ms() - d->row.since);
    bool is_dead = result->outcome == WEBHOOK_NOT_EVER ||
                   (result->outcome == WEBHOOK_NOT_NOW && left <= 0);
    enum webhook_change change = result->outcome == WEBHOOK_TAKEN ? WEBHOOK_SENT
                                 : is_dead                        ? WEBHOOK_DEAD
                                                                  : WEBHOOK_FAILED;

    bool ok = begin_request(d, change, on_stored);
    w->http_status = result->status;
    w->ms = change == WEBHOOK_FAILED ? (delay(d) < left ? delay(d) : left) : settings->keep_ms;
    if (change != WEBHOOK_SENT)
        ok = arena_copy(&d->request.mem, str_of(result->reason), &w->reason) && ok;
    if (ok)
        journal_post(d->sender->loop->app->journal, &d->request);
    else
        on_stored(&d->request.loop_call);
}

static void on_posted(struct webhook_post *post, const struct webhook_result *result)
{
    struct delivery *d = container_of(post, struct delivery, post);

    d->is_posting = false;
    if (result->outcome == WEBHOOK_CANCELLED)
        leave(d);
    else
        store_result(d, result);
}

/* NULL: it has none, or is not ready. */
static const char *socket_of_app(const struct app *app)
{
    const struct companion_news *news =
        app->companion != NULL ? companion_news(app->companion) : NULL;

    return news != NULL && news->has_app ? companion_http_path(app->companion) : NULL;
}

static void post(struct delivery *d)
{
    struct webhook_sender *s = d->sender;
    int64_t now = clock_wall_ms();

    if (s->client == NULL)
        s->client = http_client_new(http_loop_uv(s->http));
    webhook_put_body(&d->body, &d->row, now, s->settings->fields);
    if (d->body.error != 0 || s->client == NULL) {
        store_result(d, &(struct webhook_result){
                            .outcome = WEBHOOK_NOT_NOW,
                            .reason = "out of memory, or libcurl is not installed" });
        return;
    }
    d->is_posting = true;
    d->post.done = on_posted;
    webhook_post_start(
        &d->post, http_loop_uv(s->http), s->client,
        &(struct webhook_post_options){ .settings = s->settings,
                                        .app_socket = socket_of_app(s->loop->app),
                                        .url = d->row.url,
                                        .id = d->row.id,
                                        .body = buf_text(&d->body),
                                        .now = now });
}

static void on_claimed(struct loop_call *call)
{
    struct delivery *d = call->owner;
    struct webhook_sender *s = d->sender;
    bool is_ours = d->request.code == 0;

    s->n_claiming--;
    d->row.version = d->request.webhook.version;
    d->row.attempts++;
    journal_request_done(&d->request);
    if (is_ours && !s->is_stopped)
        post(d);
    else
        leave(d);
}

static void claim(struct delivery *d)
{
    struct webhook_sender *s = d->sender;

    s->n_claiming++;
    d->next = s->busy;
    s->busy = d;
    s->n_busy++;
    bool ok = begin_request(d, WEBHOOK_CLAIM, on_claimed);
    d->request.webhook.ms = s->settings->timeout_ms + CLAIM_MORE_MS;
    if (ok) {
        journal_post(s->loop->app->journal, &d->request);
        return;
    }
    d->request.code = ERR_NOMEM;
    on_claimed(&d->request.loop_call);
}

/* --- which are due -------------------------------------------------------------------------
 */

static void host_of(struct str url, struct receiver_host *ret)
{
    struct webhook_url parsed;
    size_t n = webhook_url_parse(url, &parsed, NULL) == 0 ? parsed.host.n : 0;

    n = n < MAX_HOST ? n : MAX_HOST - 1;
    for (size_t i = 0; i < n; i++)
        ret->name[i] = (char)tolower((unsigned char)parsed.host.p[i]);
    ret->name[n] = '\0';
}

/* A host that is slow keeps its own places busy, and no others. */
static bool has_room(const struct webhook_sender *s, const struct receiver_host *host)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_held; i++)
        n += strcmp(s->held[i].name, host->name) == 0;
    for (const struct delivery *d = s->found; d != NULL; d = d->next)
        n += strcmp(d->host.name, host->name) == 0;
    return n < s->settings->per_host;
}

/* On a thread of the pool, like all that it calls: of the sender it uses what look() has set.
 */
static int on_due(void *arg, const struct webhook_row *row)
{
    struct webhook_sender *s = arg;
    struct receiver_host host;

    host_of(row->url, &host);
    if (!has_room(s, &host))
        return 0;
    struct delivery *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return 1;
    d->sender = s;
    d->row = *row;
    d->host = host;
    arena_init(&d->mem);
    buf_init(&d->body, SIZE_MAX / 4);
    if (!row_copy(&d->mem, &webhook_texts, &d->row)) {
        delivery_free(d);
        return 1;
    }
    d->next = s->found;
    s->found = d;
    return ++s->n_found < s->room ? 0 : 1;
}

/* A store that cannot be read is asked again at the next look. */
static void run_due(struct thread_task *task, struct store *store)
{
    struct webhook_sender *s = container_of(task, struct webhook_sender, task);

    (void)store_webhooks_due(store, clock_wall_ms(), MAX_LOOK, on_due, s, NULL);
}

static void on_found(struct loop_call *call)
{
    struct webhook_sender *s = call->owner;

    s->is_asking = false;
    while (s->found != NULL) {
        struct delivery *d = s->found;

        s->found = d->next;
        if (s->is_stopped)
            delivery_free(d);
        else
            claim(d);
    }
}

/* While claims are not stored, the store would give the same deliveries again. */
static void look(struct webhook_sender *s)
{
    struct app *app = s->loop->app;

    if (s->is_asking || s->n_claiming > 0 || s->n_busy >= MAX_BUSY || s->is_stopped ||
        atomic_load(&app->draining) || !app_is_writer(app))
        return;
    s->is_asking = true;
    s->room = MAX_BUSY - s->n_busy;
    s->n_found = s->n_held = 0;
    for (const struct delivery *d = s->busy; d != NULL; d = d->next)
        s->held[s->n_held++] = d->host;
    thread_pool_post(app->pool, &s->task);
}

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

/* --- life ----------------------------------------------------------------------------------
 */

int webhook_sender_new(struct http_loop *http,
                       struct app_loop *loop,
                       struct webhook_sender **ret)
{
    struct webhook_sender *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    s->http = http;
    s->loop = loop;
    s->settings = loop->app->webhooks;
    s->task.loop_call =
        (struct loop_call){ .home = loop->box, .owner = s, .answered = on_found };
    s->task.run = run_due;
    s->timer.data = s;
    (void)uv_timer_init(http_loop_uv(http), &s->timer); /* cannot fail */
    (void)uv_timer_start(&s->timer, on_timer, EVERY_MS, EVERY_MS);
    *ret = s;
    return 0;
}

/* A transfer that is cancelled ends in the next turn of the loop; the client has none left
 * now. */
void webhook_sender_stop(struct webhook_sender *s)
{
    s->is_stopped = true;
    uv_close((uv_handle_t *)&s->timer, NULL);
    for (struct delivery *d = s->busy; d != NULL; d = d->next)
        if (d->is_posting)
            webhook_post_cancel(&d->post);
    if (s->client != NULL)
        http_client_close(s->client);
    s->client = NULL;
}

void webhook_sender_free(struct webhook_sender *s)
{
    if (s == NULL)
        return;
    for (struct delivery *d = s->busy, *next; d != NULL; d = next) {
        next = d->next;
        delivery_free(d); /* its answer was dropped */
    }
    for (struct delivery *d = s->found, *next; d != NULL; d = next) {
        next = d->next;
        delivery_free(d);
    }
    free(s);
}
