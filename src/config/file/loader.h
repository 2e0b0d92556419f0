/* Internal to loading the server's configuration: what its sources share.
 *
 *     server.c         the order of the steps, and the checks at the end
 *     server_file.c    the YAML file
 *     server_flags.c   the environment and the command line
 *     server_agents.c  agents, made of what the file said of each and of "*"
 *     server_help.c    --help and the reference
 *     server_show.c    the result
 *
 * A value is set as soon as it is read, and again by a source of higher precedence; so it is
 * checked even where it is overridden.  Agents are made at the end. */
#ifndef CONFIG_FILE_LOADER_H
#define CONFIG_FILE_LOADER_H

#include "base/buf.h"
#include "config/options/options.h"
#include "config/server.h"
#include "config/file/settings.h"

enum { LOADER_MAX_AGENTS = 256, LOADER_SUBJECT = 200 };

/* What the file says about one agent, or about "*". */
struct agent_entry {
    char *name; /* owned */
    size_t line;
    struct config_agent values;      /* only the options, and of those only what was given */
    size_t lines[AGENT_OPTIONS_MAX]; /* the line of each; 0: it was not given */
    struct settings settings;
};

struct loader {
    struct server_config *config; /* owned */
    char *const *envp;            /* borrowed, like the next two */
    const char *file_name;        /* for errors' texts; NULL: no file */
    struct error *err;
    struct buf value;            /* the one that is being resolved */
    size_t agents_line;          /* of the key in the file; 0: not there */
    struct agent_entry *entries; /* owned */
    size_t n_entries;
};

/* Reads all that a file says; @file_name is for the error's text only. */
int loader_read_file(struct loader *l, struct str text, const char *file_name);

/* *@ret_file is borrowed from @argv or the environment; NULL: none.  Sets config->help and
 * stops there when asked for it. */
int loader_find_file(struct loader *l, int argc, char **argv, const char **ret_file);
int loader_read_environment(struct loader *l);
int loader_read_flags(struct loader *l, int argc, char **argv);

/* Notes which source has set @option. */
void loader_note(struct loader *l, const struct option *option, enum config_source source);

/* A new entry, zeroed but for its name; NULL when memory ran out. */
struct agent_entry *loader_add_entry(struct loader *l, struct str name);
void loader_clear_entries(struct loader *l);
int loader_make_agents(struct loader *l);
void config_agents_free(struct config_agent *agents, size_t n);
/* Frees what it holds; zeroed then. */
void config_agent_clear(struct config_agent *agent);

#endif
