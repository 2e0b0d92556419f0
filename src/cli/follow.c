/* Following a job: its frames on standard output until its stream ends.
 *
 * The stream's clean end says only that it is over; how the job ended is then asked of the
 * server, so that it does not depend on the dialect. */
#include "base/error.h"
#include "cli/remote.h"

#include <stdio.h>

enum { STATE_TRIES = 6 };

/* --- what the client calls ---------------------------------------------------------------- */

static void write_field(const char *name, struct str value)
{
    if (value.p != NULL)
        (void)printf("%s: %.*s\n", name, STR_ARG(value)); /* on_rest sees errors */
}

static void write_lines(struct str data, const char *before)
{
    for (;;) {
        struct str line = str_head(data, str_find(data, '\n'));

        (void)printf("%s", before);
        (void)fwrite(line.p, 1, line.n, stdout);
        (void)putchar('\n');
        if (line.n == data.n)
            return;
        data = str_skip(data, line.n + 1);
    }
}

static int on_frame(void *arg, const struct client_frame *frame)
{
    const struct remote_follow *f = arg;

    if (!f->raw) {
        write_lines(frame->data, "");
        return 0;
    }
    write_field("id", frame->id);
    write_field("event", frame->event);
    write_lines(frame->data, "data: ");
    (void)putchar('\n');
    return 0;
}

static int on_rest(void *arg)
{
    (void)arg;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : ERR_CLOSED;
}

static void on_note(void *arg, const char *why)
{
    const struct remote_follow *f = arg;

    if (why != NULL)
        (void)fprintf(stderr, "spoolwire %s: %s; trying again\n", f->remote->path, why);
    else
        (void)fprintf(stderr, "spoolwire %s: connected again\n", f->remote->path);
}

/* --- how it ended --------------------------------------------------------------------------
 */

int remote_ending(const yyjson_val *job)
{
    struct str state = json_text(json_at(job, "state"));

    return str_is(state, "failed") || str_is(state, "cancelled") ? EXIT_BAD_NEWS : EXIT_OK;
}

static int code_of(const struct remote_follow *f, const struct client_reply *reply)
{
    struct json_reader reader;
    struct json json;

    int code = remote_json(f->remote, reply, &reader, &json);
    if (code == EXIT_OK)
        code = remote_ending(json.root);
    json_reader_done(&reader);
    return code;
}

/* The server may just be restarting. */
static int ask_ending(const struct remote_follow *f)
{
    struct client *c = f->remote->client;
    struct client_reply reply;
    struct buf path;
    int err = ERR_IO;

    client_reply_init(&reply);
    buf_init(&path, REMOTE_MAX_PATH);
    remote_job_path(&path, "/v1/jobs/", f->job, "");
    for (unsigned i = 1; path.error == 0 && i <= STATE_TRIES; i++) {
        err = client_get(c, path.p, REMOTE_TIMEOUT_MS, &reply);
        if (err == 0 && reply.status < 500)
            break;
        client_sleep_ms(client_backoff_ms(i, 200, 5000));
    }
    int code = err != 0              ? remote_failed(f->remote, err)
               : reply.status != 200 ? remote_refused(f->remote, &reply)
                                     : code_of(f, &reply);
    buf_done(&path);
    client_reply_done(&reply);
    return code;
}

/* --- following ------------------------------------------------------------------------------
 */

static void put_paths(const struct remote_follow *f, struct buf *again, struct buf *first)
{
    remote_job_path(again, "/v1/jobs/", f->job, "/events?dialect=");
    buf_cut(again, again->n - 1);
    client_put_escaped(again, str_of(f->dialect));
    buf_str(first, buf_text(again));
    if (f->after != NULL) {
        buf_lit(first, "&after=");
        client_put_escaped(first, str_of(f->after));
    }
    buf_char(again, '\0');
    buf_char(first, '\0');
}

static int stopped(const struct remote_follow *f, int err)
{
    if (err == ERR_CLOSED)
        return cli_trouble(f->remote->path, "the output cannot be written");
    return remote_failed(f->remote, err);
}

int remote_follow(const struct remote_follow *f)
{
    struct buf again, first;

    buf_init(&again, REMOTE_MAX_PATH);
    buf_init(&first, REMOTE_MAX_PATH);
    put_paths(f, &again, &first);
    struct client_follow follow = { .path = first.p,
                                    .again = again.p,
                                    .frame = on_frame,
                                    .rest = on_rest,
                                    .note = on_note,
                                    .arg = (void *)f };
    int code = again.error != 0 || first.error != 0
                   ? cli_trouble(f->remote->path, "the job's id is too long")
                   : EXIT_OK;
    if (code == EXIT_OK) {
        int err = client_follow(f->remote->client, &follow);

        code = err == 0 ? ask_ending(f) : stopped(f, err);
    }
    buf_done(&again);
    buf_done(&first);
    return code;
}
