/* Requests that concern more than one shard of the database.
 *
 *     COUNT, WORKERS, SETTINGS ──▶ one request to each shard ──▶ one answer
 *
 * For the router. */
#ifndef CLUSTER_FAN_OUT_H
#define CLUSTER_FAN_OUT_H

#include "journal/journal.h"

struct shard_router;

/* Asks all shards; answers @req when all have answered.  The first refusal counts. */
void fan_out(struct shard_router *r, struct journal_request *req);
/* A checkpoint that is written for a call: asks shard 0 whether its caller holds the call, then
 * posts it to the shard of its thread. */
void fan_out_hold(struct shard_router *r, struct journal_request *req);

#endif
