#include "auth/draft.h"

#include "base/error.h"

int draft_init(struct draft *d, int64_t now, struct error *err)
{
    struct token_text parts;
    int code = token_text_make(d->text, err);

    if (code != 0)
        return code;
    if (!token_text_read(str_of(d->text), &parts) || !secret_hash(parts.secret, d->hash))
        return error_set(err, ERR_IO, "SHA-256 is not to be had");
    d->row = (struct token_row){ .id = parts.id,
                                 .hash = str_make((const char *)d->hash, SECRET_BYTES),
                                 .owner = parts.id,
                                 .max_jobs = -1,
                                 .max_queued = -1,
                                 .max_running = -1,
                                 .max_streams = -1,
                                 .max_events = -1,
                                 .created = now };
    return 0;
}

void draft_done(struct draft *d)
{
    secret_forget(d, sizeof(*d));
}
