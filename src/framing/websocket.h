/* Frames of RFC 6455 as a server sends them: whole and not masked, so that all readers can
 * share their bytes. */
#ifndef FRAMING_WEBSOCKET_H
#define FRAMING_WEBSOCKET_H

#include "base/buf.h"

#include <stdint.h>

enum websocket_opcode {
    WEBSOCKET_MORE = 0x0, /* of a message in pieces */
    WEBSOCKET_TEXT = 0x1,
    WEBSOCKET_BINARY = 0x2,
    WEBSOCKET_CLOSE = 0x8,
    WEBSOCKET_PING = 0x9,
    WEBSOCKET_PONG = 0xa
};

enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_UNSUPPORTED = 1003,
    WEBSOCKET_NO_CODE = 1005, /* never sent: none was given */
    WEBSOCKET_BAD_TEXT = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_SERVER_ERROR = 1011,
    WEBSOCKET_JOB_GONE = 4404 /* ours */
};

enum { WEBSOCKET_MAX_CONTROL = 125 }; /* bytes of a control frame */

/* @payload is cut to what the opcode allows. */
void websocket_put(struct buf *out, enum websocket_opcode opcode, struct str payload);
/* @code 0: none, and no reason. */
void websocket_put_close(struct buf *out, unsigned code, struct str reason);

#endif
