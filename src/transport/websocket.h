/* WebSocket: the handshake.  The rest is carrier_websocket (transport/stream.h). */
#ifndef TRANSPORT_WEBSOCKET_H
#define TRANSPORT_WEBSOCKET_H

#include <stdbool.h>

struct http_request;

/* It means to be the beginning of one. */
bool websocket_is_asked(const struct http_request *req);
/* False when it has answered: it is not as RFC 6455 has it. */
bool websocket_check(struct http_request *req);

#endif
