/* A host: what the tasks and the pools of one manager share. */
#ifndef AGENTS_HOST_H
#define AGENTS_HOST_H

#include "base/str.h"

#include <stdint.h>
#include <uv.h>

struct arq_line;
struct http_client;
struct exec_counts;
struct journal;
struct report_reader;
struct mailbox;
struct barriers;

struct host {
    uv_loop_t *loop;
    struct mailbox *box;
    struct journal *journal;
    void (*log)(void *arg, struct str job, struct str agent, struct str line); /* or NULL */
    void *arg;
    const unsigned char *lease_key;   /* signs leases (jobs/lease.h) */
    const unsigned char *process_key; /* signs tokens of processes (jobs/process_token.h) */
    int64_t heartbeat_ms;             /* 0: a quarter of the lease */
    uv_buf_t scratch;                 /* buffer for reads */
    struct exec_counts *counts;
    struct http_client *client;   /* NULL: no agent is a remote endpoint */
    struct arq_line *arq;         /* NULL: no agent is a queue of ARQ */
    struct barriers *barriers;    /* NULL: no subscriber */
    struct report_reader *reader; /* for lines that are parsed here */
    bool is_stopping;             /* requests are not tried again */
};

/* Writes a log line; @job may be absent. */
static inline void host_log(const struct host *h,
                            struct str job,
                            struct str agent,
                            struct str line)
{
    if (h->log != NULL)
        h->log(h->arg, job, agent, line);
}

#endif
