/* What the tests of the server's configuration share: a folder with the file under test,
 * loading it, and comparing.  Included once, after cmocka.h, by a program that is one test. */
#ifndef UNIT_SERVER_CONFIG_H
#define UNIT_SERVER_CONFIG_H

#include "base/buf.h"
#include "base/error.h"
#include "config/file/agent_file.h"
#include "config/server.h"
#include "ingest/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_ARGS = 16 };

static char folder[] = "/tmp/spoolwire_config_XXXXXX";
static char path[sizeof(folder) + 32];   /* of the file under test */
static char secret[sizeof(folder) + 32]; /* of one that it names */

static inline void write_file(const char *name, struct str text)
{
    FILE *file = fopen(name, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
}

static inline int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/spoolwire.yaml", folder);
    (void)snprintf(secret, sizeof(secret), "%s/secret", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path); /* may not be there */
    (void)unlink(secret);
    return rmdir(folder);
}

/* What a test loads: ARGS("--demo"), ENV("PORT=1"), and the file's text or NULL. */
#define ARGS(...) ((char *[MAX_ARGS]){ __VA_ARGS__ })
#define ENV(...)  ((char *[MAX_ARGS]){ __VA_ARGS__ })
#define NONE      ((char *[MAX_ARGS]){ NULL })

static inline int load(const char *yaml,
                       char **env,
                       char **args,
                       struct server_config **ret,
                       struct error *err)
{
    char *argv[MAX_ARGS + 4] = { "serve" };
    int argc = 1;

    if (yaml != NULL) {
        write_file(path, str_of(yaml));
        argv[argc++] = "--config";
        argv[argc++] = path;
    }
    for (; *args != NULL; args++)
        argv[argc++] = *args;
    return server_config_load(argc, argv, env, ret, err);
}

static inline struct server_config *good(const char *yaml, char **env, char **args)
{
    struct server_config *config = NULL;
    struct error error = { 0 };

    if (load(yaml, env, args, &config, &error) != 0)
        fail_msg("%s", error.text);
    assert_non_null(config);
    return config;
}

/* Refused with @code and exactly @expected, in which FILE is the file's path; what may have
 * been meant instead is a matter of hint_test.c. */
static inline void refused(const char *yaml,
                           char **env,
                           char **args,
                           int code,
                           const char *expected)
{
    struct server_config *config = NULL;
    struct error error = { 0 };
    char text[512];

    if (strncmp(expected, "FILE", 4) == 0)
        (void)snprintf(text, sizeof(text), "%s%s", path, expected + 4);
    else
        (void)snprintf(text, sizeof(text), "%s", expected);
    int got = load(yaml, env, args, &config, &error);
    assert_null(config);
    char *hint = strstr(error.text, ": did you mean");
    if (hint != NULL && strstr(text, "did you mean") == NULL)
        *hint = '\0';
    assert_string_equal(error.text, text);
    assert_int_equal(got, code);
    assert_int_equal(error.code, code);
    assert_int_equal(load(yaml, env, args, &config, NULL), code);
}

#define BAD_FILE(yaml, code, expected) refused((yaml), NONE, NONE, (code), "FILE: " expected)
#define BAD_FLAG(code, expected, ...)  refused(NULL, NONE, ARGS(__VA_ARGS__), (code), (expected))

static inline void assert_list(char *const *list, const char *expected)
{
    struct buf b;

    buf_init(&b, 65536);
    for (; list != NULL && *list != NULL; list++) {
        buf_str(&b, str_of(*list));
        buf_char(&b, list[1] != NULL ? ' ' : '\0');
    }
    assert_string_equal(b.n > 0 ? b.p : "", expected);
    buf_done(&b);
}

static inline const struct config_agent *agent_of(const struct server_config *config,
                                                  const char *name)
{
    for (size_t i = 0; i < config->n_agents; i++)
        if (str_eq(config->agents[i].name, str_of(name)))
            return &config->agents[i];
    fail_msg("there is no agent %s", name);
    return NULL;
}

static inline void assert_listen(const char *yaml,
                                 char **env,
                                 char **args,
                                 const char *expected)
{
    struct server_config *c = good(yaml, env, args);

    assert_string_equal(c->listen, expected);
    server_config_free(c);
}

/* What translate takes from the same text. */
static inline struct agent *translated(const char *name, const char *text)
{
    struct agent *agent = NULL;
    struct error error = { 0 };

    assert_int_equal(agent_new(str_of(name), &agent), 0);
    if (agent_file_apply(str_of(text), "f", agent, &error) != 0)
        fail_msg("%s", error.text);
    return agent;
}

#endif
