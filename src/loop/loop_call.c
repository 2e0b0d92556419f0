#include "loop/loop_call.h"

#include "base/container_of.h"

static void finish(struct loop_call *call)
{
    call->is_pending = false;
    if (!call->is_cancelled)
        call->answered(call);
    else if (call->dropped != NULL)
        call->dropped(call);
}

static void on_message(struct loop_message *message)
{
    finish(container_of(message, struct loop_call, message));
}

void loop_call_start(struct loop_call *call)
{
    call->is_pending = true;
}

void loop_call_answer(struct loop_call *call)
{
    call->message.deliver = on_message;
    if (call->home != NULL && mailbox_post(call->home, &call->message) == 0)
        return;
    if (call->home != NULL) { /* the loop has ended */
        call->home = NULL;
        call->is_cancelled = true;
    }
    finish(call);
}

void loop_call_cancel(struct loop_call *call)
{
    call->is_cancelled = true;
}
