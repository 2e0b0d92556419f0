/* The YAML file that changes agents' settings (docs/agent-config.md).  The server's file
 * (docs/configuration.md) is one too: what only the server reads is passed over.
 *
 * Functions are synchronous and keep no state between calls. */
#ifndef CONFIG_FILE_AGENT_FILE_H
#define CONFIG_FILE_AGENT_FILE_H

#include "base/str.h"

#include <stdio.h>

struct agent;
struct buf;
struct error;

enum { AGENT_FILE_MAX_BYTES = 1024 * 1024 };

/* Applies what @text says about @agent: the settings of agents."*", then those of
 * agents.<its name>.  The whole text is checked, also what is about other agents; with
 * any error @agent stays as it was.  @file_name is for the error's text only.
 *
 * ERR_SYNTAX (not YAML), ERR_TYPE, ERR_REFUSED (an unknown or repeated key, an alias, a
 * number out of bounds), ERR_TOO_LARGE, ERR_NOMEM. */
int agent_file_apply(struct str text,
                     const char *file_name,
                     struct agent *agent,
                     struct error *err);

/* The same for what is left of @in; also ERR_IO. */
int agent_file_read(FILE *in, const char *file_name, struct agent *agent, struct error *err);

/* Appends the reference of all settings, with their defaults, as a Markdown table. */
void agent_file_reference(struct buf *out);

#endif
