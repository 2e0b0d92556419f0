/* What the client of a multiplexed socket asks for: one message, read.  Pure. */
#ifndef TRANSPORT_ORDER_H
#define TRANSPORT_ORDER_H

#include "base/json.h"
#include "hub/render.h"

struct error;

enum order_kind { ORDER_SUBSCRIBE, ORDER_UNSUBSCRIBE };

/* Texts are in the reader's memory. */
struct order {
    enum order_kind kind;
    bool is_system; /* about the states of all jobs */
    struct str job; /* else about this one */
    struct way way;
    struct cursor after;
};

/* Begins with what is in ret->way.  ERR_SYNTAX (not JSON), ERR_TYPE; the error's text is for
 * the client, and *@ret_job, when present, says which job it is about. */
int order_read(struct json_reader *reader,
               struct str text,
               struct order *ret,
               struct str *ret_job,
               struct error *err);

#endif
