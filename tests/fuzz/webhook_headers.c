/* Any bytes as a header that the settings add to webhooks: what is taken has no line break in
 * it, and variables of the environment are put in only where the text asks for one with the
 * prefix. */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

#include "base/buf.h"
#include "webhooks/headers.h"

#include <stdlib.h>
#include <string.h>

static const char NAME[] = "LG_WEBHOOK_FUZZ", VALUE[] = "value", SECRET[] = "0secret0";

static void try_check(struct str text)
{
    char line[512];
    char *const headers[] = { line, NULL };

    if (text.n >= sizeof(line) || memchr(text.p, '\0', text.n) != NULL)
        return;
    memcpy(line, text.p, text.n);
    line[text.n] = '\0';
    if (webhook_headers_check(headers, NULL) == 0 &&
        (strpbrk(line, "\r\n") != NULL || strchr(line, ':') == NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    struct buf b LOCAL_BUF(1 << 20);

    if (size == 0)
        return 0;
    (void)setenv(NAME, VALUE, 1);      /* as any other: it fits */
    (void)setenv("SECRET", SECRET, 1); /* of a name without the prefix */
    try_check(text);
    if (webhook_header_expand(&b, text, STR("LG_WEBHOOK_"), NULL) != 0 || b.error != 0)
        return 0;
    if (memmem(data, size, "${{", 3) == NULL && !str_eq(buf_text(&b), text))
        abort();
    if (b.n > 0 && memmem(b.p, b.n, SECRET, strlen(SECRET)) != NULL &&
        memmem(data, size, SECRET, strlen(SECRET)) == NULL)
        abort();
    return 0;
}
