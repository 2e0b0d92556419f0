/* Texts for records: JSON within the field limit, previews, derived ids. */
#include "base/error.h"
#include "base/utf8.h"
#include "ingest/fold_state.h"

enum { MARKER_PREVIEW = 256 }; /* code points */

struct str fold_tmp(struct fold *f, int *err)
{
    struct str copy = STR_NONE;

    if (f->tmp.error != 0)
        *err = f->tmp.error;
    else if (!arena_copy(&f->work, buf_text(&f->tmp), &copy))
        *err = ERR_NOMEM;
    return copy;
}

/* Replaces the content of f->tmp by a marker with its size and its beginning. */
static void marker(struct fold *f)
{
    size_t n = f->tmp.n, at = n;
    struct str header = utf8_head(buf_text(&f->tmp), MARKER_PREVIEW);

    json_begin(&f->tmp);
    json_add_const(&f->tmp, "truncated", "true");
    json_add_uint(&f->tmp, "bytes", n);
    json_key(&f->tmp, "preview");
    if (!buf_reserve(&f->tmp, header.n * 6 + 16)) /* so that @head stays where it is */
        return;
    header.p = f->tmp.p;
    json_put_str(&f->tmp, header);
    json_end(&f->tmp);
    memmove(f->tmp.p, f->tmp.p + at, f->tmp.n - at);
    f->tmp.n -= at;
}

struct str fold_json_skip(struct fold *f, const yyjson_val *v, struct str skip, int *err)
{
    if (v == NULL)
        return STR_NONE;
    buf_clear(&f->tmp);
    message_flatten(&f->tmp, v, skip);
    return fold_tmp(f, err);
}

struct str fold_json(struct fold *f, const yyjson_val *v, bool exempt, int *err)
{
    if (v == NULL)
        return STR_NONE;
    buf_clear(&f->tmp);
    message_flatten(&f->tmp, v, STR_NONE);
    if (!exempt && f->tmp.n > f->opt.field_limit)
        marker(f);
    return fold_tmp(f, err);
}

struct str fold_limit_json(struct fold *f, struct str json, int *err)
{
    if (json.n <= f->opt.field_limit)
        return json;
    buf_clear(&f->tmp);
    buf_str(&f->tmp, json);
    marker(f);
    return fold_tmp(f, err);
}

struct str fold_preview(struct fold *f, const yyjson_val *v, size_t points, int *err)
{
    if (v == NULL)
        return STR_NONE;
    buf_clear(&f->tmp);
    message_flatten(&f->tmp, v, STR_NONE);
    if (f->tmp.error == 0)
        buf_cut(&f->tmp, utf8_head(buf_text(&f->tmp), points).n);
    return fold_tmp(f, err);
}

/* Of a text of @bytes bytes, of which at least the beginning is in @text. */
static struct str limited(struct fold *f, struct str text, size_t bytes, int *err)
{
    if (bytes <= f->opt.field_limit)
        return text;
    buf_clear(&f->tmp);
    buf_str(&f->tmp, utf8_head(text, MARKER_PREVIEW));
    buf_lit(&f->tmp, "… [");
    buf_u64(&f->tmp, bytes);
    buf_lit(&f->tmp, " bytes, over the field limit]");
    return fold_tmp(f, err);
}

struct str fold_limit_text(struct fold *f, struct str text, int *err)
{
    return limited(f, text, text.n, err);
}

struct str fold_streamed_text(struct fold *f, const struct run *run, int *err)
{
    return run->streamed > 0 ? limited(f, buf_text(&run->text), run->streamed, err) : STR_NONE;
}

struct str fold_derive_id(struct fold *f, uint64_t salt, int *err)
{
    char uuid[KEY_UUID_CHARS];
    struct str copy = STR_NONE;
    uint64_t ordinal = SEEN_DERIVED + f->n_derived + (salt << 32);

    do { /* a worker may have sent that very id, by reading our own frames */
        key_uuid(key_stable(ordinal, f->job), uuid);
        ordinal += (uint64_t)1 << 32;
    } while (fold_seen(f, fold_key(f, SEEN_RUN, str_make(uuid, sizeof(uuid)))));
    if (!arena_copy(&f->work, str_make(uuid, sizeof(uuid)), &copy))
        *err = ERR_NOMEM;
    return copy;
}

int fold_read_message(struct fold *f, const yyjson_val *v, struct message *ret)
{
    struct buf fixed = { 0 }; /* large enough for everything in it, so that nothing moves */

    buf_clear(&f->tmp);
    json_put_value(&f->tmp, v);
    if (f->tmp.error != 0)
        return f->tmp.error;
    fixed.cap = fixed.max = 2 * f->tmp.n + 16;
    fixed.p = arena_alloc(&f->work, fixed.cap);
    if (fixed.p == NULL)
        return ERR_NOMEM;
    message_read(v, &fixed, ret);
    return 0;
}

struct str fold_json_whole(struct fold *f, const yyjson_val *v, int *err)
{
    if (v == NULL)
        return STR_NONE;
    buf_clear(&f->tmp);
    json_put_value(&f->tmp, v);
    return fold_tmp(f, err);
}
