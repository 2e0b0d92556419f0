#include "transport/stream_end.h"

#include "framing/websocket.h"

#include <stddef.h>

/* clang-format off */
static const struct stream_end_info infos[STREAM_END_MAX] = {
    [STREAM_PEER] = { "peer", STREAM_PEER, "the reader left", WEBSOCKET_GOING_AWAY, false },
    [STREAM_DONE] = { "done", STREAM_DONE, "the job has ended", WEBSOCKET_NORMAL, false },
    [STREAM_SLOW] = { "slow", STREAM_SLOW, "the reader is too slow", WEBSOCKET_GOING_AWAY, false },
    [STREAM_SILENT] = { "silent", STREAM_SILENT, "the peer does not answer pings",
                        WEBSOCKET_GOING_AWAY, false },
    [STREAM_REFUSED] = { "refused", STREAM_REFUSED, "the reader sent what is not allowed",
                         WEBSOCKET_GOING_AWAY, false },
    [STREAM_DRAIN] = { "drain", STREAM_DRAIN, "the server is going down",
                       WEBSOCKET_GOING_AWAY, true },
    [STREAM_MAX_AGE] = { "max_age", STREAM_MAX_AGE, "the connection has reached its maximum age",
                         WEBSOCKET_GOING_AWAY, true },
    [STREAM_DELETED] = { "deleted", STREAM_DELETED, "the job was deleted",
                         WEBSOCKET_JOB_GONE, false },
    [STREAM_AUTH_EXPIRED] = { "auth_expired", STREAM_AUTH_EXPIRED,
                              "its token or ticket is good no longer", WEBSOCKET_POLICY, true },
    [STREAM_FAILED] = { "failed", STREAM_FAILED, "the store cannot be read",
                        WEBSOCKET_SERVER_ERROR, false },
    [STREAM_NO_MEMORY] = { NULL, STREAM_FAILED, "out of memory", WEBSOCKET_SERVER_ERROR, false },
};
/* clang-format on */

const struct stream_end_info *stream_end_info(enum stream_end end)
{
    return &infos[end];
}
