#define _GNU_SOURCE /* environ */
#include "cli/remote.h"

#include "base/error.h"
#include "config/file/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_TOKEN = 4096, MAX_OUT = 256 * 1024 * 1024 };

/* --- the token ----------------------------------------------------------------------- */

static int read_token_file(const char *name, struct buf *out, struct error *err)
{
    int code = strcmp(name, "-") == 0 ? resolve_read_file("/dev/stdin", NULL, out, err)
                                      : resolve_read_file(name, "--token-file", out, err);

    while (code == 0 && out->n > 0 &&
           (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r'))
        out->n--;
    return code;
}

/* What came first of --token, --token-file and the environment; may be empty. */
static int read_token(const struct args *args, struct buf *out, struct error *err)
{
    const char *given = args_get(args, FLAG_TOKEN), *file = args_get(args, FLAG_TOKEN_FILE);
    const char *subject = given != NULL ? "--token" : "SPOOLWIRE_TOKEN";

    if (given == NULL && file != NULL)
        return read_token_file(file, out, err);
    if (given == NULL)
        given = getenv("SPOOLWIRE_TOKEN");
    return given != NULL
               ? resolve_value(str_of(given), RESOLVE_FILE, environ, subject, out, err)
               : 0;
}

int remote_open(const struct args *args, struct remote *ret)
{
    return remote_open_at(args, NULL, ret);
}

int remote_open_at(const struct args *args, const char *url, struct remote *ret)
{
    struct error err;
    struct buf token LOCAL_BUF(MAX_TOKEN);

    *ret = (struct remote){ .path = args->path };
    if (url == NULL)
        url = args_get(args, FLAG_URL);
    if (url == NULL)
        url = getenv("SPOOLWIRE_URL");
    if (url == NULL || url[0] == '\0')
        url = "http://127.0.0.1:8400";
    int code = read_token(args, &token, &err);
    if (code == 0) {
        buf_char(&token, '\0');
        code = token.error != 0 ? error_set(&err, ERR_TOO_LARGE, "the token is too long")
                                : client_new(url, token.p, &ret->client, &err);
    }
    if (code == ERR_REFUSED)
        return cli_usage_error(args->path, "%s", err.text);
    return code == 0 ? EXIT_OK : cli_trouble(args->path, "%s", err.text);
}

void remote_close(struct remote *r)
{
    client_free(r->client);
}

/* --- requests ------------------------------------------------------------------------ */

int remote_failed(const struct remote *r, int err)
{
    int code = cli_trouble(r->path, "%s", client_error(r->client));

    return err == ERR_IO ? EXIT_NO_SERVER : code;
}

int remote_refused(const struct remote *r, const struct client_reply *reply)
{
    struct error err;

    client_reply_detail(reply, &err);
    return cli_trouble(r->path, "%s%s", err.text,
                       reply->status == 401 ? " (the token is that of SPOOLWIRE_TOKEN, --token "
                                              "or --token-file)"
                                            : "");
}

static int answered(const struct remote *r, int err, const struct client_reply *reply)
{
    if (err != 0)
        return remote_failed(r, err);
    return reply->status >= 200 && reply->status <= 299 ? EXIT_OK : remote_refused(r, reply);
}

int remote_get(struct remote *r, const char *path, struct client_reply *reply)
{
    return answered(r, client_get(r->client, path, REMOTE_TIMEOUT_MS, reply), reply);
}

int remote_post(struct remote *r,
                const char *path,
                const char *type,
                struct str body,
                struct client_reply *reply)
{
    return answered(r, client_post(r->client, path, type, body, REMOTE_TIMEOUT_MS, reply),
                    reply);
}

void remote_job_path(struct buf *b, const char *prefix, struct str job, const char *rest)
{
    buf_str(b, str_of(prefix));
    client_put_escaped(b, job);
    buf_put(b, rest, strlen(rest) + 1);
}

int remote_job(struct remote *r,
               const char *method,
               const char *prefix,
               struct str job,
               const char *rest,
               struct client_reply *reply)
{
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);

    remote_job_path(&path, prefix, job, rest);
    if (path.error != 0)
        return cli_trouble(r->path, "the job's id is too long");
    if (strcmp(method, "GET") == 0)
        return remote_get(r, path.p, reply);
    if (strcmp(method, "POST") == 0)
        return remote_post(r, path.p, NULL, STR_NONE, reply);
    return answered(r, client_delete(r->client, path.p, REMOTE_TIMEOUT_MS, reply), reply);
}

int remote_json(const struct remote *r,
                const struct client_reply *reply,
                struct json_reader *reader,
                struct json *ret)
{
    if (json_read(reader, buf_text(&reply->body), ret, NULL) == 0 && yyjson_is_obj(ret->root))
        return EXIT_OK;
    return cli_trouble(r->path,
                       "the server's answer is not a JSON object: is %s a spoolwire "
                       "server?",
                       client_url(r->client));
}

int remote_write(const struct remote *r, struct client_reply *reply)
{
    buf_char(&reply->body, '\n');
    return cli_write(r->path, buf_text(&reply->body));
}

int remote_tell(const struct remote *r, struct str job, struct client_reply *reply)
{
    (void)job;
    return remote_write(r, reply);
}

/* --- whole commands ------------------------------------------------------------------ */

int remote_put(const struct remote *r,
               const struct args *args,
               const struct client_reply *reply,
               int (*put)(const struct args *args, yyjson_val *answer, struct buf *out))
{
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct buf out LOCAL_BUF(MAX_OUT);

    int code = remote_json(r, reply, &reader, &json);
    if (code == EXIT_OK)
        code = put(args, json.root, &out);
    return code != EXIT_OK ? code : cli_write_buf(r->path, &out);
}

int remote_show(const struct args *args,
                const char *prefix,
                const char *rest,
                int (*put)(const struct args *args, yyjson_val *answer, struct buf *out))
{
    struct client_reply reply LOCAL_REPLY;
    struct remote r LOCAL_REMOTE;

    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_job(&r, "GET", prefix, args_word(args, 0), rest, &reply);
    if (code != EXIT_OK)
        return code;
    return args_have(args, FLAG_JSON) ? remote_write(&r, &reply)
                                      : remote_put(&r, args, &reply, put);
}

int remote_each(const struct args *args,
                const char *method,
                const char *prefix,
                const char *rest,
                int (*tell)(const struct remote *r, struct str job, struct client_reply *reply))
{
    struct client_reply reply LOCAL_REPLY;
    struct remote r LOCAL_REMOTE;

    int code = remote_open(args, &r);
    for (size_t i = 0; r.client != NULL && i < args->n_words; i++) {
        int one = remote_job(&r, method, prefix, args_word(args, i), rest, &reply);

        if (one == EXIT_OK && args_have(args, FLAG_JSON))
            one = tell(&r, args_word(args, i), &reply);
        code = one > code ? one : code;
    }
    return code;
}
