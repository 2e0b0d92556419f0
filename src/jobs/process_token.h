/* The token of a process that the server has started: good for one job, or for the jobs of one
 * agent that its pool is given.
 *
 *     spp_8_5f0c…_64656d6f    the job's key (0: of a pool), the server's signature, and the
 *                             agent's name in hexadecimal digits
 *
 * The key that signs is made anew with every start of the server, so a token ends with it. */
#ifndef JOBS_PROCESS_TOKEN_H
#define JOBS_PROCESS_TOKEN_H

#include "base/buf.h"
#include "jobs/mac.h"

#include <stdint.h>

enum { PROCESS_TOKEN_AGENT = 200 /* bytes of an agent's name; a longer one has no token */ };

struct process_token {
    int64_t key;
    char agent[PROCESS_TOKEN_AGENT];
    size_t agent_n;
};

/* Nothing when the name is too long or OpenSSL cannot. */
void process_token_put(struct buf *b,
                       const unsigned char secret[MAC_KEY],
                       int64_t key,
                       struct str agent);
bool process_token_looks_like(struct str text);
/* 0; ERR_REFUSED: it is none that the owner of @secret has made; ERR_NOMEM. */
int process_token_read(struct str text,
                       const unsigned char secret[MAC_KEY],
                       struct process_token *ret);

#endif
