#include "auth/authenticator.h"

#include "auth/access.h"
#include "jobs/process_token.h"

#include <stdlib.h>

enum { TICKET_SLACK_MS = 1000 }; /* tickets expire on whole seconds */

void authenticator_init(struct authenticator *g, struct token_service *tokens)
{
    *g = (struct authenticator){ .tokens = tokens, .ring = token_service_ring(tokens) };
}

void authenticator_done(struct authenticator *g)
{
    keyring_unref(g->ring);
    g->ring = NULL;
}

const struct keyring *authenticator_ring(struct authenticator *g)
{
    if (g->ring->generation != token_service_generation(g->tokens)) {
        keyring_unref(g->ring);
        g->ring = token_service_ring(g->tokens);
    }
    return g->ring;
}

bool authenticator_is_open(const struct authenticator *g)
{
    return !token_service_is_locked(g->tokens);
}

/* --- visitors -------------------------------------------------------------------- */

bool visitor_is(const struct visitor *v, const struct credential *c, int64_t now)
{
    return v != NULL && v->kind == c->kind && v->n == c->text.n &&
           (v->n == 0 || secret_equal(v->text, c->text.p, v->n)) && now < v->until &&
           token_is_good(v->token, now);
}

static int visitor_new(struct token *t, const struct credential *c, struct visitor **ret)
{
    struct visitor *v = calloc(1, sizeof(*v));

    if (v == NULL)
        return ERR_NOMEM;
    v->token = token_ref(t);
    v->kind = c->kind;
    v->until = INT64_MAX;
    if (c->kind != CREDENTIAL_TICKET && c->text.n <= sizeof(v->text) && c->text.n > 0) {
        v->n = c->text.n;
        memcpy(v->text, c->text.p, v->n);
    }
    *ret = v;
    return 0;
}

void visitor_free(struct visitor *v)
{
    if (v == NULL)
        return;
    visitor_set_note(v, NULL, NULL);
    token_unref(v->token);
    secret_forget(v->text, sizeof(v->text));
    free(v);
}

int visitor_new_guest(struct token *token, struct visitor **ret)
{
    return visitor_new(token, &(struct credential){ .kind = CREDENTIAL_NONE }, ret);
}

void visitor_set_note(struct visitor *v, void *note, void (*note_free)(void *note))
{
    if (v->note != NULL)
        v->note_free(v->note);
    v->note = note;
    v->note_free = note_free;
}

/* --- admitting ------------------------------------------------------------------- */

static int check_good(const struct token *t, int64_t now, struct error *err)
{
    if (token_is_good(t, now))
        return 0;
    return error_set(err, ERR_CLOSED, "the token %s was revoked or has expired", t->id);
}

static int unknown(struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "this is no token that the server knows");
}

static int find_token(const struct keyring *ring,
                      const struct credential *c,
                      int64_t now,
                      struct token **ret,
                      struct error *err)
{
    static const unsigned char nothing[SECRET_BYTES];
    unsigned char hash[SECRET_BYTES];
    struct token_text text;

    if (!token_text_read(c->text, &text) || !secret_hash(text.secret, hash))
        return unknown(err);
    struct token *t = keyring_find(ring, text.id);
    /* Compares even when the id is unknown, so that both cases take the same time. */
    bool same = secret_equal(hash, t != NULL ? t->hash : nothing, SECRET_BYTES);
    bool is_session = t != NULL && t->parent != NULL;
    if (t == NULL || !same || is_session != (c->kind == CREDENTIAL_SESSION))
        return unknown(err);
    *ret = t;
    return check_good(t, now, err);
}

/* A ticket that is valid for longer than the maximum was made before the clock was set back:
 * refuse it. */
static bool ticket_is_good(const struct authenticator *g, int64_t until, int64_t now)
{
    return now < until &&
           until - now <= token_service_ticket_life_ms(g->tokens) + TICKET_SLACK_MS;
}

static int find_ticket(const struct authenticator *g,
                       const struct credential *c,
                       int64_t now,
                       struct token **ret,
                       int64_t *ret_until,
                       struct error *err)
{
    struct ticket_text text;

    int code = ticket_text_read(c->text, &text)
                   ? ticket_text_check(g->ring->ticket_key, &text, c->job)
                   : ERR_REFUSED;
    if (code == ERR_NOMEM)
        return error_set(err, code, "out of memory");
    if (code != 0)
        return error_set(err, ERR_NOT_FOUND, "this is no ticket for this job");
    struct token *t = keyring_find(g->ring, text.id);
    int64_t until = text.expires * 1000 - token_service_ticket_offset(g->tokens);
    if (t == NULL || !ticket_is_good(g, until, now))
        return error_set(err, ERR_CLOSED, "the ticket has expired");
    *ret = t;
    *ret_until = until;
    return check_good(t, now, err);
}

/* Makes a token object for each visitor, from the claims in its text. */
static int find_process(const struct token_service *k,
                        const struct credential *c,
                        struct token **ret,
                        struct error *err)
{
    struct process_token text;

    int code = c->kind == CREDENTIAL_TOKEN
                   ? process_token_read(c->text, token_service_process_key(k), &text)
                   : ERR_REFUSED;
    if (code == ERR_REFUSED)
        return unknown(err);
    if (code == 0)
        code = token_new_process(str_make(text.agent, text.agent_n), text.key, ret);
    return code == 0 ? 0 : error_set(err, code, "out of memory");
}

static int admit(struct authenticator *g,
                 const struct credential *c,
                 int64_t now,
                 struct token **ret,
                 int64_t *ret_until,
                 struct error *err)
{
    const struct keyring *ring = authenticator_ring(g);
    struct token *t = NULL;
    int code = 0;

    if (authenticator_is_open(g))
        t = token_service_everybody(g->tokens);
    else if (c->kind == CREDENTIAL_NONE)
        code = error_set(err, ERR_NOT_FOUND,
                         "a token is needed: Authorization: Bearer spw_…, made by `spoolwire "
                         "token create`");
    else if (c->kind == CREDENTIAL_TICKET)
        code = find_ticket(g, c, now, &t, ret_until, err);
    else if (process_token_looks_like(c->text))
        return find_process(g->tokens, c, ret, err);
    else
        code = find_token(ring, c, now, &t, err);
    if (code == 0)
        *ret = token_ref(t);
    return code;
}

int authenticator_admit(struct authenticator *g,
                        const struct credential *c,
                        int64_t now,
                        struct visitor **ret,
                        struct error *err)
{
    struct credential none = { CREDENTIAL_NONE, STR_NONE, STR_NONE };
    int64_t until = INT64_MAX;
    struct token *t = NULL;
    int code = admit(g, c, now, &t, &until, err);

    if (code != 0)
        return code;
    code = visitor_new(t, authenticator_is_open(g) ? &none : c, ret);
    token_unref(t);
    if (code != 0)
        return error_set(err, code, "out of memory");
    (*ret)->until = until;
    return 0;
}

int64_t authenticator_ticket_expiry_s(const struct authenticator *g,
                                      int64_t now,
                                      int64_t life_s)
{
    return (now + token_service_ticket_offset(g->tokens)) / 1000 + life_s;
}

size_t authenticator_make_ticket(struct authenticator *g,
                                 const struct token *t,
                                 struct str job,
                                 int64_t expires_s,
                                 char ret[TICKET_CHARS + 1])
{
    return ticket_text_make(authenticator_ring(g)->ticket_key, expires_s, str_of(t->id), job,
                            ret);
}
