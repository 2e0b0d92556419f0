/* The side of the gateway that owns the jobs: another gateway's connection, and its requests.
 *
 *     GET /cluster/journal, Upgrade ──▶ served_begin ──▶ frames ──▶ journal_post
 *                                                   ◀── answers ◀── done
 *                              jobs to watch ──▶ watchers
 *                                                   ◀── pushes ◀── watchers_push
 *
 * A connection that ends withdraws what waits; work that it was given is handed back.  On the
 * loop of its connection. */
#ifndef CLUSTER_SERVED_H
#define CLUSTER_SERVED_H

#include "cluster/newest.h"
#include "cluster/watchers.h"
#include "http/http.h"
#include "loop/mailbox.h"

enum { CLUSTER_SECRET_BYTES = 32 };
/* Who connects, and for the how many'th time: see cluster/newest.h. */
#define SERVED_LINK_HEADER "Spoolwire-Link"

/* Upgrades the connection of @req, or refuses it: only who shows @secret in hexadecimal digits
 * and speaks our version is let in.  @newest is shared by all connections, @watchers by those
 * of a shard; both are borrowed. */
void served_begin(struct http_request *req,
                  const unsigned char secret[CLUSTER_SECRET_BYTES],
                  struct newest *newest,
                  struct journal *journal,
                  struct watchers *watchers,
                  struct mailbox *box);

#endif
