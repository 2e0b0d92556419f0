/* Any bytes as the server's file, then (each after a NUL) as flags and variables: either a
 * configuration within its bounds comes out, or an error says why not.  What the server takes,
 * translate takes too. */
#define _GNU_SOURCE /* memfd_create */

#include "fuzz.h"

#include "base/error.h"
#include "config/file/agent_file.h"
#include "config/server.h"
#include "ingest/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ARGS = 32 };

struct input {
    char *argv[MAX_ARGS + 4];
    char *envp[MAX_ARGS + 4];
    int argc;
    int n_env;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_address(const struct server_config *c)
{
    const struct listen_address *a = &c->address;

    check(strlen(a->host) < sizeof(a->host) && strlen(a->unix_path) < sizeof(a->unix_path));
    check(a->host[0] != '\0' || a->unix_path[0] != '\0');
    check((server_config_check_listen(c, false, NULL) == 0) ==
          (a->is_loopback || c->insecure_listen));
    check(server_config_check_listen(c, true, NULL) == 0);
    check((c->tls_cert == NULL) == (c->tls_key == NULL));
}

static void check_options(const struct server_config *c)
{
    const char *database = server_config_database(c); /* `data` or `store` */
    check(database != NULL && database[0] != '\0' && c->listen != NULL);
    check(c->durability == DURABILITY_FULL || c->durability == DURABILITY_RELAXED);
    check(c->auth >= AUTH_AUTO && c->auth <= AUTH_OFF);
    check(c->ticket_life_ms >= 1000 && c->session_life_ms >= 60000);
    check(c->access_log >= ACCESS_LOG_AUTO && c->access_log <= ACCESS_LOG_OFF);
    check(c->loops <= 64 && c->readers >= 1 && c->readers <= 64);
    check(c->max_head >= 1024 && c->max_body >= 1024 && c->max_line >= 1024);
    check(c->max_field >= 1 && c->max_depth >= 1 && c->max_depth <= 256);
    check(c->head_timeout_ms >= 100 && c->idle_timeout_ms >= 1000);
    check(c->write_timeout_ms >= 1000 && c->keep_alive_ms >= 100 && c->heartbeat_ms >= 100);
    check(c->max_age_ms >= 0 && c->shutdown_window_ms >= 0 && c->expiry_seconds >= 1);
    for (char **host = c->hosts; host != NULL && *host != NULL; host++)
        check((*host)[0] != '\0');
}

static void check_agent(const struct config_agent *a)
{
    check(a->name.n > 0 && strlen(a->name.p) == a->name.n);
    check(a->description.p != NULL && strlen(a->description.p) == a->description.n);
    check((a->argv != NULL) + a->pull + a->channel + (a->http.url != NULL) +
              (a->arq.function != NULL) + a->is_builtin ==
          1);
    check(a->argv == NULL || (a->argv[0] != NULL && a->argv[0][0] != '\0'));
    for (char **e = a->env; e != NULL && *e != NULL; e++)
        check(strchr(*e, '=') > *e);
    check(a->concurrency >= 1 && a->lease_ms >= 100 && a->attempts >= 1);
    check(a->queue_ms >= 0 && a->run_ms >= 0 && a->grace_ms > 0 && a->cancel_grace_ms > 0);
    check(a->settings != NULL && a->settings->output_chars >= 1);
}

static void check_translate(struct str text)
{
    struct agent *agent = NULL;
    struct error error = { 0 };

    check(agent_new(STR("demo"), &agent) == 0);
    check(agent_file_apply(text, "f", agent, &error) == 0);
    agent_free(agent);
}

/* Cuts the text behind the file's: what begins with a - is an argument. */
static void cut(struct input *in, char *rest, const char *end)
{
    while (rest < end) {
        char *next = rest + strlen(rest) + 1;
        if (rest[0] == '-' && in->argc < MAX_ARGS)
            in->argv[in->argc++] = rest;
        else if (rest[0] != '-' && in->n_env < MAX_ARGS)
            in->envp[in->n_env++] = rest;
        rest = next;
    }
}

static void run(struct input *in, struct str file)
{
    struct server_config *config = NULL;
    struct error error = { 0 };
    int code = server_config_load(in->argc, in->argv, in->envp, &config, &error);

    check(code == error.code && (code == 0) == (config != NULL));
    check(code == 0 || error.text[0] != '\0');
    if (code == 0 && !config->help) {
        check_address(config);
        check_options(config);
        check(config->n_agents <= 257);
        for (size_t i = 0; i < config->n_agents; i++)
            check_agent(&config->agents[i]);
        if (config->config_file != NULL && strcmp(config->config_file, in->argv[2]) == 0)
            check_translate(file);
    }
    server_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct input in = { .argv = { "serve", "--config", path }, .argc = 3 };
    char *text = malloc(size + 1);
    int fd = memfd_create("spoolwire.yaml", MFD_CLOEXEC);

    check(text != NULL && fd >= 0);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    struct str file = str_of(text);
    check(write(fd, file.p, file.n) == (ssize_t)file.n);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
    cut(&in, text + file.n + 1, text + size);
    run(&in, file);
    (void)close(fd); /* gone with it */
    free(text);
    return 0;
}
