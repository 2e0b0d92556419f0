/* Following a job: its frames on standard output until its stream ends.
 *
 * The end of the stream does not say how the job ended in every dialect, so the server is asked
 * for that afterwards. */
#include "base/clock.h"
#include "base/error.h"
#include "terminal/live.h"
#include "cli/remote.h"
#include "terminal/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATE_TRIES = 6 };

/* --- what the client calls ---------------------------------------------------------------- */

static void write_field(const char *name, struct str value)
{
    if (value.p != NULL)
        (void)printf("%s: %.*s\n", name, STR_ARG(value)); /* on_rest() checks for errors */
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
    struct json_reader reader ANSWER_READER;
    struct json json;

    int code = remote_json(f->remote, reply, &reader, &json);
    return code != EXIT_OK ? code : remote_ending(json.root);
}

/* Asks how the job ended; tries again for a while, as the server may be restarting. */
static int ask_ending(const struct remote_follow *f)
{
    struct client *c = f->remote->client;
    struct client_reply reply LOCAL_REPLY;
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);
    int err = ERR_IO;

    remote_job_path(&path, "/v1/jobs/", f->job, "");
    for (unsigned i = 1; path.error == 0 && i <= STATE_TRIES; i++) {
        err = client_get(c, path.p, REMOTE_TIMEOUT_MS, &reply);
        if (err == 0 && reply.status < 500)
            break;
        clock_sleep_ms(client_backoff_ms(i, 200, 5000));
    }
    return err != 0              ? remote_failed(f->remote, err)
           : reply.status != 200 ? remote_refused(f->remote, &reply)
                                 : code_of(f, &reply);
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
    if (err == ERR_TOO_LARGE && client_error(f->remote->client)[0] == '\0')
        return cli_trouble(f->remote->path, "the job's id is too long");
    return remote_failed(f->remote, err);
}

static int follow(const struct remote_follow *f, struct client_follow *how)
{
    struct buf again LOCAL_BUF(REMOTE_MAX_PATH);
    struct buf first LOCAL_BUF(REMOTE_MAX_PATH);
    int err = ERR_TOO_LARGE;

    put_paths(f, &again, &first);
    how->path = first.p;
    how->again = again.p;
    if (again.error == 0 && first.error == 0)
        err = client_follow(f->remote->client, how);
    return err;
}

int remote_hear(const struct args *args, struct remote_follow *f, struct remote *ret)
{
    int code = EXIT_OK;

    *ret = (struct remote){ 0 };
    if (f->term != NULL && isatty(STDIN_FILENO) == 1)
        code = remote_open(args, ret);
    f->answers = ret->client;
    return code;
}

bool remote_view(struct term *term, const char *color, bool lines, struct term **ret)
{
    const char *kind = getenv("TERM");

    *ret = NULL;
    if (!term_open(term, color))
        return false;
    if (term->is_terminal && !lines && kind != NULL && kind[0] != '\0' &&
        strcmp(kind, "dumb") != 0)
        *ret = term;
    return true;
}

static int follow_live(const struct remote_follow *f)
{
    struct client_follow how = { 0 };
    struct live_view *live = live_new(f->term, f->job, f->answers);

    if (live == NULL)
        return ERR_NOMEM;
    live_follow(live, &how);
    int err = follow(f, &how);
    if (err == LIVE_STOPPED)
        live_die(live);
    else
        live_free(live);
    return err;
}

int remote_follow(const struct remote_follow *f)
{
    struct client_follow plain = {
        .frame = on_frame, .rest = on_rest, .note = on_note, .arg = (void *)f
    };
    int err = f->term != NULL ? follow_live(f) : follow(f, &plain);

    return err == 0 ? ask_ending(f) : stopped(f, err);
}
