/* Changes while the server runs: settings (SIGHUP) and the certificate. */
#define _GNU_SOURCE /* environ */
#include "server/server.h"

#include "base/json_format.h"
#include "server/log.h"
#include "config/reload.h"

#include <unistd.h>

/* New connections get the certificate that is in the files now; the others go on. */
void server_renew_certificate(struct server *s)
{
    struct error err = { 0 };
    struct buf out;
    bool ok = http_server_renew(s->http, &err) == 0;

    log_begin(&out, "certificate");
    json_add_bool(&out, "renewed", ok);
    if (!ok)
        json_add_str(&out, "why", str_of(err.text));
    log_end(&out);
}

struct reload_wait {
    struct journal_request req;
    uv_sem_t done;
};

/* On the journal's thread. */
static void on_settings_done(struct loop_call *call)
{
    struct reload_wait *w = call->owner;

    uv_sem_post(&w->done);
}

/* Gives the journal its new settings, and waits until it uses them. */
static int reload_journal(struct server *s, const struct generation *g)
{
    struct reload_wait w;

    if (uv_sem_init(&w.done, 0) != 0)
        return ERR_NOMEM;
    journal_request_init(&w.req, NULL, &w, on_settings_done);
    journal_request_begin(&w.req, JOURNAL_SETTINGS)->settings = &g->journal;
    journal_post(s->journal, &w.req);
    uv_sem_wait(&w.done);
    uv_sem_destroy(&w.done);
    journal_request_done(&w.req);
    return w.req.code == ERR_NOMEM ? ERR_NOMEM : 0; /* nothing had to be stored */
}

/* Takes @g, which stays even on failure: parts may point into it. */
static int take_over(struct server *s, struct generation *g, struct reload *r)
{
    int err = reload_carry(r, s->now->config, g->config);

    if (err == 0 && r->taken.n == 0 && r->left.n == 0) { /* nothing has changed */
        generation_free(g);
        return 0;
    }
    if (err != 0) {
        g->older = s->now->older;
        s->now->older = g;
        return err;
    }
    generation_fill(g);
    g->older = s->now;
    s->now = g;
    struct http_options http = server_http_options(s, g->config);
    s->app.shutdown_ms = g->config->shutdown_window_ms / 2;
    api_reload(&s->app, &g->app);
    err = reload_journal(s, g);
    return err == 0 ? http_server_reload(s->http, &http) : err;
}

static void log_reload(const struct reload *r, const char *error)
{
    struct buf out;

    log_begin(&out, "reload");
    if (error != NULL)
        json_add_str(&out, "error", str_of(error));
    else
        json_format(&out, ",'taken':[%j],'needs_restart':[%j]", buf_text(&r->taken),
                    buf_text(&r->left));
    log_end(&out);
}

/* Reads the settings again: the file as it is now, the same command line and environment. */
void server_reload(struct server *s)
{
    struct server_config *next = NULL;
    struct generation *g = NULL;
    struct error err = { 0 };
    struct reload r;

    reload_init(&r);
    int code = server_config_load(s->argc, s->argv, environ, &next, &err);
    if (code == 0)
        code = generation_new(next, s->now->config->n_agents, &g);
    if (code != 0)
        server_config_free(g == NULL ? next : NULL);
    else
        code = take_over(s, g, &r);
    log_reload(&r, code == 0 ? NULL : err.text[0] != '\0' ? err.text : error_name(code));
    reload_done(&r);
}
