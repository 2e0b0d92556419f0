/* Input of a WebSocket client: bytes become messages.  No sockets.
 *
 * wslay parses frame headers and unmasks payloads; sequences of frames are checked here, with a
 * close code and a reason for every violation.  (wslay can do that too, but gives no reasons,
 * and allocates as much as a header announces.)
 *
 * Between two frames it allocates nothing: most readers never send anything. */
#ifndef TRANSPORT_WS_IN_H
#define TRANSPORT_WS_IN_H

#include "base/buf.h"
#include "framing/websocket.h"

#include <stdbool.h>
#include <stdint.h>

struct wslay_frame_context;
struct ws_in;

struct ws_in_events {
    /* A text message, valid UTF-8. */
    void (*message)(struct ws_in *in, struct str text);
    void (*ping)(struct ws_in *in, struct str payload);
    /* The peer closes the connection; @code is WEBSOCKET_NO_CODE when it sent none. */
    void (*close)(struct ws_in *in, unsigned code);
};

struct ws_in_limits {
    size_t frame;   /* bytes of a frame's payload */
    size_t message; /* bytes of a message, in any number of frames */
};

struct ws_in {
    const struct ws_in_events *events;  /* borrowed */
    const struct ws_in_limits *limits;  /* borrowed */
    struct wslay_frame_context *frames; /* owned; NULL: between two frames */
    struct str bytes;                   /* not yet passed to wslay */
    uint64_t n_fed, n_done;             /* bytes given to wslay; bytes of whole frames */
    uint64_t n_left;                    /* of the frame's payload */
    struct buf text, control;           /* of the message, and of a control frame in it */
    size_t n_valid;                     /* bytes of `text` that are known to be UTF-8 */
    uint8_t opcode;                     /* of the frame */
    bool is_final;                      /* the frame is the message's last */
    bool in_frame, in_message;
    bool is_over; /* nothing more is read: closed, or a violation */
};

void ws_in_init(struct ws_in *in,
                const struct ws_in_events *events,
                const struct ws_in_limits *limits);
void ws_in_done(struct ws_in *in);

/* 0, or the code to close with; then *@ret_reason says why. */
unsigned ws_in_feed(struct ws_in *in, struct str bytes, const char **ret_reason);
/* From inside an event: ignores the rest of the input. */
void ws_in_stop(struct ws_in *in);

#endif
