#define _GNU_SOURCE /* environ */
#include "cli/data.h"

#include "base/error.h"
#include "cli/command.h"
#include "config/server.h"
#include "store/store.h"

#include <unistd.h>

enum { BUSY_MS = 5000 };

/* The settings as `serve` would have them with the same flags and variables. */
static int load_config(const struct args *args, struct server_config **ret)
{
    char *argv[8] = { (char *)(uintptr_t) "serve" };
    struct error err;
    int argc = 1;

    if (args_have(args, FLAG_CONFIG)) {
        argv[argc++] = (char *)(uintptr_t) "--config";
        argv[argc++] = (char *)(uintptr_t)args_get(args, FLAG_CONFIG);
    }
    if (args_have(args, FLAG_DATA)) {
        argv[argc++] = (char *)(uintptr_t) "--data";
        argv[argc++] = (char *)(uintptr_t)args_get(args, FLAG_DATA);
    }
    if (args_have(args, FLAG_STORE)) {
        argv[argc++] = (char *)(uintptr_t) "--store";
        argv[argc++] = (char *)(uintptr_t)args_get(args, FLAG_STORE);
    }
    if (server_config_load(argc, argv, environ, ret, &err) == 0)
        return EXIT_OK;
    (void)cli_trouble(args->path, "%s", err.text);
    return EXIT_USAGE;
}

typedef int (*open_cb)(const struct store_options *, struct store **, struct error *);

/* Opens it with @open, or when a server has it, with @beside, unless that is NULL. */
static int open_with(const struct args *args,
                     open_cb open,
                     open_cb beside,
                     struct store **ret,
                     bool *ret_served)
{
    struct server_config *config = NULL;
    struct error err;
    int code = load_config(args, &config);

    if (code != EXIT_OK)
        return code;
    struct store_options options = { .url = server_config_database(config),
                                     .relaxed = config->durability == DURABILITY_RELAXED,
                                     .busy_ms = BUSY_MS };
    int rc = open(&options, ret, &err);
    *ret_served = rc == ERR_BUSY && beside != NULL;
    if (*ret_served)
        rc = beside(&options, ret, &err);
    server_config_free(config);
    return rc == 0 ? EXIT_OK : cli_trouble(args->path, "%s", err.text);
}

int data_examine(const struct args *args, store_examine_cb cb, void *arg)
{
    struct server_config *config = NULL;
    int code = load_config(args, &config);

    if (code != EXIT_OK)
        return code;
    store_examine(
        &(struct store_options){ .url = server_config_database(config), .busy_ms = BUSY_MS },
        cb, arg);
    server_config_free(config);
    return EXIT_OK;
}

int data_open_reader(const struct args *args, struct store **ret)
{
    bool served;

    return open_with(args, store_open_reader, NULL, ret, &served);
}

int data_open(const struct args *args, struct store **ret)
{
    bool served;

    return open_with(args, store_open, NULL, ret, &served);
}

int data_open_tokens(const struct args *args, struct store **ret, bool *ret_served)
{
    return open_with(args, store_open, store_open_beside, ret, ret_served);
}
