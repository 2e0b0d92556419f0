/* Requests to the journal as bytes, and their answers: what gateways send each other.
 *
 *     request   op, header, the operation's members that go in; with SUBMIT its further jobs
 *     answer    code, why, header, the operation's members that come out
 *
 * Numbers are variable-length, texts have their length before them.  CODEC_VERSION names the
 * form: gateways with different numbers do not talk to each other.  JOURNAL_SETTINGS is a
 * gateway's own and never sent.
 *
 * Pure.  Whatever the bytes are, decoding reads nothing outside of them and allocates in
 * proportion to them. */
#ifndef CLUSTER_CODEC_H
#define CLUSTER_CODEC_H

#include "base/buf.h"
#include "journal/request.h"

#define CODEC_VERSION "9"

void codec_put_request(struct buf *b, const struct journal_request *req);
/* Into @ret, which is made; further jobs are in its `mem`.  The bytes are
 * copied.  ERR_SYNTAX, ERR_NOMEM; codec_request_done() in any case. */
MUST_CHECK int codec_read_request(struct str bytes, struct journal_request *ret);
/* Ends `mem` of the request and of its further jobs. */
void codec_request_done(struct journal_request *req);

void codec_put_answer(struct buf *b, const struct journal_request *req);
/* Into the request that it answers; texts come into its `mem`.  ERR_SYNTAX, ERR_NOMEM: what it
 * has now is of no use, but for what went in. */
MUST_CHECK int codec_read_answer(struct str bytes, struct journal_request *req);

#endif
