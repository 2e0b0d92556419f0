/* Where a job was paused.  The demo agent stores nothing itself, and a resumed job without an
 * answer does not say where it was paused: read it from the job's records. */
#include "base/json.h"
#include "client/client.h"
#include "demo/demo.h"

#include <stdlib.h>

enum { REQUEST_MS = 10000, MAX_PAGES = 1000, MAX_BODY = 256 * 1024 * 1024, MAX_DEPTH = 256 };

struct place_search {
    struct client *client;
    struct client_reply reply;
    struct json_reader reader;
    struct buf path;
    struct buf after; /* the cursor */
    int64_t step;     /* that was done last */
    int64_t place;    /* that was done before the pause; 0: nothing is paused */
};

static void take_event(struct place_search *s, const yyjson_val *data)
{
    struct str type = json_text(json_at(data, "type"));

    if (str_is(type, "graph.node_complete"))
        s->step = json_int(json_at(data, "step"), 0);
    else if (str_is(type, "graph.paused"))
        s->place = s->step;
    else if (str_is(type, "graph.interrupt"))
        s->place = 0; /* with an answer the run continues after its question */
}

static const char *page_path(struct place_search *s, struct str job)
{
    buf_clear(&s->path);
    buf_lit(&s->path, "/v1/jobs/");
    client_put_escaped(&s->path, job);
    buf_lit(&s->path, "/events?dialect=agent&format=json&after=");
    client_put_escaped(&s->path, buf_text(&s->after));
    buf_char(&s->path, '\0');
    return s->path.error == 0 ? s->path.p : "/";
}

/* False: there are no more records, or they cannot be read. */
static bool take_page(struct place_search *s, struct str job)
{
    struct json json;

    if (client_get(s->client, page_path(s, job), REQUEST_MS, &s->reply) != 0 ||
        s->reply.status != 200 ||
        json_read(&s->reader, buf_text(&s->reply.body), &json, NULL) != 0)
        return false;
    yyjson_val *events = json_at(json.root, "events");
    json_each(event, events)
        take_event(s, json_at(event, "data"));
    buf_clear(&s->after);
    buf_str(&s->after, json_text(json_at(json.root, "next")));
    return yyjson_arr_size(events) > 0;
}

int64_t demo_paused_at(struct client *client, const struct demo_job *job)
{
    struct place_search s = { .client = client };
    struct error err;

    if (!str_is(job->resume, "{}"))
        return 0;
    if (client == NULL &&
        (getenv("SPOOLWIRE_URL") == NULL ||
         client_new(getenv("SPOOLWIRE_URL"), getenv("SPOOLWIRE_TOKEN"), &s.client, &err) != 0))
        return 0;
    client_reply_init(&s.reply);
    json_reader_init(&s.reader, MAX_BODY, MAX_DEPTH);
    buf_init(&s.path, 4096);
    buf_init(&s.after, 1024);
    buf_lit(&s.after, "0");
    for (unsigned n = 0; n < MAX_PAGES && take_page(&s, job->id); n++)
        ;
    buf_done(&s.after);
    buf_done(&s.path);
    json_reader_done(&s.reader);
    client_reply_done(&s.reply);
    if (client == NULL)
        client_free(s.client);
    return s.place;
}
