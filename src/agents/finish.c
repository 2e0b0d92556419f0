#include "agents/finish.h"

#include "base/error.h"

int finish_read(const yyjson_val *object, struct finish *ret, struct error *err)
{
    struct str status = json_text(json_at(object, "status"));

    *ret = (struct finish){ .end = str_is(status, "success")     ? JOB_END_SUCCEEDED
                                   : str_is(status, "failure")   ? JOB_END_FAILED
                                   : str_is(status, "cancelled") ? JOB_END_CANCELLED
                                                                 : JOB_END_NONE,
                            .interrupted = str_is(status, "interrupted"),
                            .error = json_text(json_at(object, "error")),
                            .error_type = json_text(json_at(object, "error_type")) };
    if (ret->end == JOB_END_SUCCEEDED && !json_is_null(json_at(object, "output")))
        ret->output = json_at(object, "output");
    if (ret->end == JOB_END_FAILED && yyjson_obj_size(json_at(object, "details")) > 0)
        ret->details = json_at(object, "details");
    if (ret->end != JOB_END_NONE || ret->interrupted)
        return 0;
    return error_set(err, ERR_TYPE,
                     "\"status\" must be success, failure, interrupted or cancelled");
}

void finish_put_output(struct buf *b, const struct finish *finish)
{
    if (finish->output != NULL)
        json_put_value(b, finish->output);
}

void finish_put_details(struct buf *b, const struct finish *finish)
{
    if (finish->details != NULL)
        json_put_value(b, finish->details);
}
