/* A connection over TLS: what conn.c and stream.c do with a socket, encrypted. */
#ifndef HTTP_SECURE_H
#define HTTP_SECURE_H

#include "base/str.h"

#include <uv.h>

struct conn;
struct http_server;

/* Gives a new connection its TLS; false without memory. */
bool secure_begin(struct conn *c);
/* The connection closes: it may have been in the middle of its handshake. */
void secure_count_lost(const struct conn *c);
/* Bytes have come from the socket. */
void secure_take(struct conn *c, struct str sealed);
/* As conn_write, of plain bytes. */
bool secure_write(struct conn *c, struct str a, struct str b);
/* As http_stream_send_pieces; @pieces may be changed. */
bool secure_send(struct conn *c, uv_buf_t *pieces, unsigned n);
/* Sends close_notify, if the socket takes it at once. */
void secure_end(struct conn *c);

#endif
