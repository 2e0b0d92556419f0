/* The user of a cron: whom the project's own handlers had authenticated when it was created.
 *
 * It is kept in the cron's payload, under a name that clients can neither set nor see.  The
 * cron's runs are this user's: the handlers are asked about each of them, and graphs find the
 * user in their config. */
#ifndef API_LANGGRAPH_CRON_USER_H
#define API_LANGGRAPH_CRON_USER_H

#include "base/buf.h"
#include "base/must_check.h"

struct authorization;

#define CRON_USER "langgraph_auth"

/* Adds the member to a payload that is being written; nothing when @a is NULL. */
void cron_user_put(struct buf *b, const struct authorization *a);
/* Appends a payload without the member to @ret_payload, and the user's identity to @ret_id,
 * nothing when it has none. */
void cron_user_hide(struct str payload, struct buf *ret_payload, struct buf *ret_id);
/* *@ret is NULL when the payload has none.  ERR_NOMEM. */
MUST_CHECK int cron_user_read(struct str payload, struct authorization **ret);

#endif
