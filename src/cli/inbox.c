#include "cli/inbox.h"

#include "base/error.h"
#include "cli/pages.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 1000, MAX_NAME = 256 };

/* A question that was reported. */
struct inbox_question {
    struct inbox_question *next;
    char job[MAX_NAME], id[MAX_NAME];
    bool is_listed; /* it was in the last list of open questions */
};

struct question_inbox {
    const struct args *args;
    const struct pages *pages;
    const struct inbox_events *events;
    struct remote stream, requests; /* a connection for each */
    struct json_reader reader;
    struct inbox_question *first;
    int code; /* why it ends */
};

static bool is_it(const struct inbox_question *o, struct str job, struct str id)
{
    return str_eq(str_of(o->job), str_head(job, MAX_NAME - 1)) &&
           (str_absent(id) || str_eq(str_of(o->id), str_head(id, MAX_NAME - 1)));
}

static struct inbox_question *find(struct question_inbox *in, struct str job, struct str id)
{
    struct inbox_question *o = in->first;

    while (o != NULL && !is_it(o, job, id))
        o = o->next;
    return o;
}

static void leave(struct question_inbox *in, struct inbox_question **at, struct str how)
{
    struct inbox_question *o = *at;

    *at = o->next;
    in->events->left(in->events->arg, str_of(o->job), str_of(o->id), how);
    free(o);
}

/* @id absent: all of the job. */
static void forget(struct question_inbox *in, struct str job, struct str id, struct str how)
{
    for (struct inbox_question **at = &in->first; *at != NULL;)
        if (is_it(*at, job, id))
            leave(in, at, how);
        else
            at = &(*at)->next;
}

static void on_listed(void *arg, yyjson_val *q)
{
    struct question_inbox *in = arg;
    struct str job = json_text(json_at(q, "job_id"));
    struct str id = json_text(json_at(q, "interrupt_id"));
    struct inbox_question *o = find(in, job, id);

    if (o == NULL) {
        o = calloc(1, sizeof(*o));
        if (o == NULL)
            return; /* the next list has it again */
        (void)snprintf(o->job, MAX_NAME, "%.*s", STR_ARG(job));
        (void)snprintf(o->id, MAX_NAME, "%.*s", STR_ARG(id));
        o->next = in->first;
        in->first = o;
        in->events->opened(in->events->arg, q);
    }
    o->is_listed = true;
}

/* Asks for the open questions, and reports what has changed. */
static int look(struct question_inbox *in)
{
    struct pages pages = *in->pages;
    int code;

    for (struct inbox_question *o = in->first; o != NULL; o = o->next)
        o->is_listed = false;
    do
        code = pages_next(&pages, &in->requests, in->args, PAGE, on_listed, in);
    while (code == EXIT_OK && pages.next[0] != '\0');
    for (struct inbox_question **at = &in->first; code == EXIT_OK && *at != NULL;)
        if ((*at)->is_listed)
            at = &(*at)->next;
        else
            leave(in, at, STR("closed"));
    return code;
}

/* --- events of the stream ------------------------------------------------------------- */

static bool is_over(struct str state)
{
    return !str_is(state, "queued") && !str_is(state, "running") && !str_is(state, "waiting");
}

static int take(struct question_inbox *in,
                struct str event,
                struct str job,
                const yyjson_val *data)
{
    struct str state = json_text(json_at(data, "state"));
    bool is_question = str_is(event, "interrupt.state");

    if (str_is(event, "stream.subscribed") || str_is(event, "stream.gap") ||
        (is_question && str_is(state, "open")))
        return look(in);
    if (is_question)
        forget(in, job, json_text(json_at(data, "interrupt_id")), state);
    else if (str_is(event, "job.state") && is_over(state))
        forget(in, job, STR_NONE, STR("closed"));
    return EXIT_OK;
}

static int on_frame(void *arg, const struct client_frame *frame)
{
    struct question_inbox *in = arg;
    struct json json;

    if (json_read(&in->reader, frame->data, &json, NULL) != 0)
        return 0; /* ignore what is not JSON */
    in->code = take(in, json_text(json_at(json.root, "event")),
                    json_text(json_at(json.root, "job")), json_at(json.root, "data"));
    return in->code == EXIT_OK ? 0 : ERR_CLOSED;
}

static int on_rest(void *arg)
{
    struct question_inbox *in = arg;

    in->code = in->events->rest(in->events->arg);
    return in->code == EXIT_OK ? 0 : ERR_CLOSED;
}

static void on_note(void *arg, const char *why)
{
    const struct question_inbox *in = arg;

    (void)fprintf(stderr, "spoolwire %s: %s\n", in->args->path,
                  why != NULL ? why : "connected again");
}

int inbox_follow(const struct args *args,
                 const struct pages *pages,
                 const struct inbox_events *events)
{
    struct question_inbox in = { .args = args, .pages = pages, .events = events };
    struct client_follow follow = { .path = "/v1/stream?topics=system",
                                    .again = "/v1/stream?topics=system",
                                    .frame = on_frame,
                                    .rest = on_rest,
                                    .note = on_note,
                                    .arg = &in };

    json_reader_init(&in.reader, SIZE_MAX / 64, 256);
    int code = remote_open(args, &in.stream);
    if (code == EXIT_OK)
        code = remote_open(args, &in.requests);
    if (code == EXIT_OK) {
        int err = client_follow(in.stream.client, &follow);

        code = in.code != EXIT_OK ? in.code : err != 0 ? remote_failed(&in.stream, err) : code;
    }
    while (in.first != NULL) {
        struct inbox_question *o = in.first;

        in.first = o->next;
        free(o);
    }
    json_reader_done(&in.reader);
    remote_close(&in.stream);
    remote_close(&in.requests);
    return code;
}
