/* A command of the client of a multiplexed socket: parses one message.  Pure. */
#ifndef TRANSPORT_MUX_COMMAND_H
#define TRANSPORT_MUX_COMMAND_H

#include "base/json.h"
#include "hub/stream_format.h"

struct error;

enum mux_command_kind { MUX_COMMAND_SUBSCRIBE, MUX_COMMAND_UNSUBSCRIBE };

/* Its texts are in the reader's memory. */
struct mux_command {
    enum mux_command_kind kind;
    bool is_system; /* about the states of all jobs */
    struct str job; /* else about this job */
    struct stream_format format;
    struct cursor after;
};

/* ret->format holds the defaults.  ERR_SYNTAX (not JSON), ERR_TYPE; the error's text is for the
 * client, and *@ret_job, when present, is the job that it is about. */
int mux_command_read(struct json_reader *reader,
                     struct str text,
                     struct mux_command *ret,
                     struct str *ret_job,
                     struct error *err);

#endif
