/* WebSocket: the handshake.  The rest is transport_websocket (transport/stream.h). */
#ifndef TRANSPORT_WEBSOCKET_H
#define TRANSPORT_WEBSOCKET_H

#include <stdbool.h>

struct http_request;

/* Does the request ask for a WebSocket? */
bool websocket_is_asked(const struct http_request *req);
/* False when it has answered: the handshake violates RFC 6455. */
bool websocket_check(struct http_request *req);

#endif
