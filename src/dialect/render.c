#include "dialect/render.h"

void render_number_value(struct buf *b, int64_t value)
{
    if (value == RECORD_NO_NUMBER)
        buf_lit(b, "null");
    else
        buf_i64(b, value);
}

struct buf *render_begin(struct frames *out, struct str name, struct str header)
{
    struct buf *b = frames_begin(out, name, MODE_ANY);

    if (b != NULL)
        buf_str(b, header);
    return b;
}

void render_end(struct frames *out)
{
    json_end(&out->body);
    frames_end(out);
}

struct str render_job_id(const struct record *rec)
{
    return render_some(str_absent(rec->job_id) ? rec->job : rec->job_id);
}

bool render_is_ok(const struct record *rec)
{
    return str_absent(rec->status) || str_is(rec->status, "ok");
}

struct str render_error(const struct record *rec)
{
    if (render_is_ok(rec) || !str_empty(rec->error))
        return rec->error;
    return rec->status;
}
