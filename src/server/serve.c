/* `spoolwire serve`: puts the parts together, runs them, and takes them apart again.
 *
 *     store ── journal ── hub_shared ── pool ── token service ── exec agents, Redis ── HTTP
 * loops
 *
 * Made in this order, stopped in the opposite one.  The main thread only waits for
 * signals: SIGHUP reloads the settings; of SIGTERM and SIGINT the first begins a graceful end,
 * the second ends at once. */
#define _GNU_SOURCE /* environ, sigtimedwait */
#include "server/serve.h"

#include "base/clock.h"
#include "cli/commands.h"
#include "server/notify.h"
#include "server/server.h"
#include "server/log.h"
#include "journal/counts.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK_MS = 1000 }; /* between two looks at the certificate's files and the watchdog */

/* --- while it runs ----------------------------------------------------------------------- */

/* Was this SIGHUP sent because the terminal hung up?  Then the process had a terminal and has
 * lost it. */
static bool is_left(const struct server *s)
{
    return s->has_terminal && tcgetpgrp(STDERR_FILENO) < 0;
}

/* Waits for a signal, at most @ms (negative: for ever); 0 when none came. */
static int wait_signal(const sigset_t *set, int64_t ms)
{
    struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    int signal;

    if (ms < 0)
        return sigwait(set, &signal) == 0 ? signal : 0;
    signal = sigtimedwait(set, NULL, &limit);
    return signal > 0 ? signal : 0;
}

/* Only while the journal makes progress: a server that cannot store anything should be
 * restarted. */
static void feed_watchdog(struct server *s, int64_t every_ms)
{
    uint64_t last = counter_get(&journal_counts(s->journal)->last_turn_us);

    if (!journal_is_open(s->journal) || clock_monotonic_us() - last < (uint64_t)every_ms * 1000)
        notify("WATCHDOG=1");
}

static void wait_for_end(struct server *s, const sigset_t *set)
{
    bool is_secure = s->now->config->tls_cert != NULL;
    int64_t watchdog_ms = notify_watchdog_ms();
    int64_t rest_ms = watchdog_ms > 0 && watchdog_ms / 3 < LOOK_MS ? watchdog_ms / 3 : LOOK_MS;

    for (;;) {
        int signal = wait_signal(set, is_secure || watchdog_ms > 0 ? rest_ms : -1);

        if (signal == SIGTERM || signal == SIGINT || (signal == SIGHUP && is_left(s)))
            return;
        if (signal == SIGHUP)
            server_reload(s);
        if (is_secure && (signal == SIGHUP || watch_changed(&s->certificate)))
            server_renew_certificate(s);
        if (watchdog_ms > 0)
            feed_watchdog(s, watchdog_ms);
    }
}

/* --- stopping ------------------------------------------------------------------------ */

/* Closes the readers' streams and requeues leased jobs, within the window. */
static void end_gracefully(struct server *s, const sigset_t *set)
{
    (void)fprintf(stderr, "spoolwire: going down within %lld s (again to end at once)\n",
                  (long long)s->now->config->shutdown_window_ms / 1000);
    if (s->cluster != NULL)
        cluster_leave(s->cluster);
    if (s->arq != NULL)
        arq_server_stop(s->arq);
    api_drain(&s->app);
    if (s->exec != NULL)
        exec_drain(s->exec);
    for (int64_t waited = 0; waited < s->now->config->shutdown_window_ms; waited += 50) {
        int signal = wait_signal(set, 50);

        if (signal == SIGTERM || signal == SIGINT)
            _exit(EXIT_TROUBLE);
        if (api_readers(&s->app) == 0 && (s->exec == NULL || exec_running(s->exec) == 0))
            break;
    }
    http_server_drain(s->http);
}

static void stop(struct server *s)
{
    if (s->http != NULL)
        http_server_stop(s->http);
    if (s->arq != NULL)
        arq_server_stop(s->arq);
    companion_stop(s->companion);
    if (s->exec != NULL)
        exec_stop(s->exec);
    redis_service_stop(s->redis);
    if (s->cluster != NULL)
        cluster_stop(s->cluster);
    else if (s->journal != NULL)
        journal_stop(s->journal);
    if (s->tokens != NULL)
        token_service_stop(s->tokens);
    thread_pool_free(s->pool);
    http_server_free(s->http);
    exec_free(s->exec);
    arq_server_free(s->arq);
    redis_service_free(s->redis);
    if (s->cluster != NULL)
        cluster_close(s->cluster); /* the journals, too */
    else
        journal_free(s->journal); /* answers leases that wait, into mailboxes that are closed */
    api_done(&s->app);
    token_service_free(s->tokens);
    hub_shared_free(s->hub_shared);
    store_close(s->store);
    cluster_free(s->cluster);
    companion_free(s->companion);
    webhook_policy_free(s->webhooks.policy);
    free(s->exec_agents);
    free(s->exec_names);
    free(s->arq_functions);
    generation_free(s->now);
    free(s);
}

/* --- the command --------------------------------------------------------------------- */

static int help(void)
{
    struct buf out LOCAL_BUF(1024 * 1024);

    server_config_help(&out);
    (void)fwrite(out.p, 1, out.n, stdout);
    return EXIT_OK;
}

static int run(struct server *s, const sigset_t *set)
{
    struct error err = { 0 };

    server_find_self(s);
    int code = server_make_agents(s, &err);
    if (code == 0)
        code = server_start_journal(s, &err);
    if (code == 0)
        code = server_start_tokens(s, &err);
    if (code == 0 && server_config_check_listen(
                         s->now->config, token_service_is_locked(s->tokens), &err) != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (code == 0)
        code = server_start_agents(s, &err);
    if (code == 0)
        code = server_make_companion(s, &err);
    if (code == 0)
        code = server_make_webhooks(s, &err);
    if (code == 0)
        code = server_start_http(s, &err);
    if (code == 0)
        code = server_join_cluster(s, &err);
    if (code == 0)
        code = server_start_processes(s, &err);
    if (code != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        return EXIT_TROUBLE;
    }
    server_say_hello(s);
    notify("READY=1");
    wait_for_end(s, set);
    notify("STOPPING=1");
    end_gracefully(s, set);
    return EXIT_OK;
}

static int load(struct server *s, struct error *err)
{
    struct server_config *config = NULL;

    int code = server_config_load(s->argc, s->argv, environ, &config, err);
    if (code != 0)
        return code;
    code = generation_new(config, 0, &s->now);
    if (code == 0)
        generation_fill(s->now);
    else
        server_config_free(config);
    return code != 0 ? error_set(err, code, "out of memory") : 0;
}

int serve_run(int argc, char **argv, serve_hello hello, const void *arg)
{
    struct server *s = calloc(1, sizeof(*s));
    struct error err = { 0 };
    sigset_t set;

    if (s == NULL)
        return EXIT_TROUBLE;
    s->argc = argc;
    s->argv = argv;
    s->hello = hello;
    s->hello_arg = arg;
    s->has_terminal = isatty(STDERR_FILENO);
    if (load(s, &err) != 0) {
        (void)fprintf(stderr, "spoolwire serve: %s\n", err.text);
        free(s);
        return EXIT_USAGE;
    }
    if (s->now->config->help) {
        generation_free(s->now);
        free(s);
        return help();
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit: the error is enough */
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    /* Blocked before any thread is made, so that only this one gets them. */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    int code = run(s, &set);
    stop(s);
    return code;
}

static int start(int argc, char **argv)
{
    /* Each commit frees what it has used: giving it back to the system and asking for it again
     * would cost a system call each time. */
    (void)mallopt(M_TOP_PAD, 1024 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);
    return serve_run(argc, argv, NULL, NULL);
}

const struct command command_serve = {
    .name = "serve",
    .about = "run the gateway: jobs in, durable streams out",
    .story =
        "Runs the gateway: it queues jobs, hands them to agents, stores what they say, and "
        "streams it to any number of readers.  SIGTERM and SIGINT end it within its shutdown "
        "window; a second one ends it at once.  SIGHUP reads the settings again, takes over what "
        "can change while it runs, and says in the log what needs a restart.",
    .takes = COMMAND_SETTINGS,
    .start = start,
};
