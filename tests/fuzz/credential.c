/* Any bytes as what a caller shows (Authorization, Cookie, a ticket) and as what the settings
 * say of tokens: what is read is what it must be, and nothing forged is taken for signed. */
#include "fuzz.h"

#include "auth/access.h"
#include "auth/secret.h"
#include "auth/spec.h"
#include "base/error.h"
#include "http/header.h"
#include "jobs/job_scope.h"
#include "store/store.h"

#include <stdlib.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static bool inside(struct str piece, struct str all)
{
    return piece.p >= all.p && piece.p + piece.n <= all.p + all.n;
}

static void check_token(struct str in)
{
    unsigned char hash[SECRET_BYTES];
    struct token_text t;

    if (!token_text_read(in, &t))
        return;
    check(inside(t.id, in) && inside(t.secret, in));
    check(t.id.n == SECRET_ID && t.secret.n == SECRET_CHARS && secret_valid_id(t.id));
    check(secret_hash(t.secret, hash));
}

static void check_ticket(struct str in)
{
    static const unsigned char key[SECRET_BYTES] = { 7 };
    struct ticket_text t;

    if (!ticket_text_read(in, &t))
        return;
    check(t.expires > 0 && inside(t.id, in) && inside(t.mac, in));
    check(secret_valid_id(t.id) && t.mac.n == SECRET_CHARS);
    check(ticket_text_check(key, &t, STR("job")) != 0); /* 256 bits are not guessed */
}

static void check_headers(struct str in)
{
    struct str bearer = header_bearer(in);
    struct str cookie = header_cookie(in, STR("spoolwire"));

    if (!str_absent(bearer)) {
        check(bearer.n > 0 && inside(bearer, in) && bearer.p[0] != ' ');
        check_token(bearer);
    }
    if (!str_absent(cookie)) {
        check(inside(cookie, in) && str_find(cookie, ';') == cookie.n);
        check_token(cookie);
    }
}

static void check_spec(struct str in)
{
    struct error err = { 0 };
    struct token_row row;
    struct spec mem;

    if (spec_read(STR_NONE, in, &mem, &row, &err) != 0) {
        check(err.text[0] != '\0');
        return;
    }
    check(inside(row.id, in) && inside(row.owner, in) && secret_valid_id(row.id));
    check(row.hash.n == SECRET_BYTES && row.scopes.n < sizeof(mem.scopes));
    (void)access_of_scopes(row.scopes);
}

static void check_reach(struct str in)
{
    struct error err = { 0 };
    struct job_scope r;

    if (job_scope_init(&r, in, STR("me"), &err) != 0) {
        check(err.text[0] != '\0');
        return;
    }
    check(r.all || r.n > 0);
    for (size_t i = 0; i < r.n; i++) {
        const struct job_scope_rule *rule = &r.rules[i];

        check(job_scope_valid_owner(rule->text));
        if (rule->kind == JOB_SCOPE_OWNER)
            check(job_scope_includes(&r, STR("?"), rule->text));
        else
            check(job_scope_includes(&r, rule->text, STR_NONE));
    }
    check(r.all || !job_scope_includes(&r, STR("?"), STR_NONE));
    job_scope_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = str_make((const char *)data, size);

    check_token(in);
    check_ticket(in);
    check_headers(in);
    check_spec(in);
    check_reach(in);
    check((access_of_scopes(in) & ~(unsigned)ACCESS_ALL) == 0);
    return 0;
}
