#include "auth/spec.h"

#include "base/error.h"
#include "store/store.h"

/* "client+worker" as "client,worker". */
static bool read_scopes(struct str text, struct spec *mem, struct str *ret)
{
    if (text.n == 0 || text.n >= sizeof(mem->scopes))
        return false;
    for (size_t i = 0; i < text.n; i++)
        mem->scopes[i] = text.p[i] == '+' ? ',' : text.p[i];
    *ret = str_make(mem->scopes, text.n);
    return true;
}

static bool read_token(struct str text, struct spec *mem, struct str *ret_id)
{
    struct str mark = STR("_sha256:");
    struct str id = str_head(str_skip(text, 4), SECRET_ID);
    struct token_text token;

    if (token_text_read(text, &token)) {
        *ret_id = token.id;
        return secret_hash(token.secret, mem->hash);
    }
    *ret_id = id;
    return str_starts(text, STR("spw_")) && secret_valid_id(id) &&
           str_starts(str_skip(text, 4 + id.n), mark) &&
           secret_read_hex(str_skip(text, 4 + id.n + mark.n), mem->hash);
}

int spec_read(struct str scopes,
              struct str text,
              struct spec *mem,
              struct token_row *ret,
              struct error *err)
{
    bool has_scopes = str_absent(scopes);
    struct str before = has_scopes ? str_head(text, str_find(text, ':')) : scopes;
    struct str owner = str_head(before, str_find(before, '@'));
    bool has_owner = owner.n < before.n;
    struct str token = has_scopes ? str_skip(text, before.n + 1) : text;
    struct token_row row = { .hash = str_make((const char *)mem->hash, SECRET_BYTES),
                             .name = STR("configuration"),
                             .max_jobs = -1,
                             .max_queued = -1,
                             .max_running = -1,
                             .max_streams = -1,
                             .max_events = -1 };

    if (!read_scopes(has_owner ? str_skip(before, owner.n + 1) : before, mem, &row.scopes) ||
        !read_token(token, mem, &row.id))
        return error_set(err, ERR_REFUSED,
                         "must be %sspw_…, as `spoolwire token create --no-store` gives it",
                         has_scopes ? "SCOPE:" : "");
    row.owner = has_owner ? owner : row.id;
    *ret = row;
    return 0;
}
