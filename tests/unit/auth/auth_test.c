/* Tokens, tickets, and authentication.  The token service has a real store, in a folder of its
 * own. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "auth/access.h"
#include "auth/draft.h"
#include "auth/authenticator.h"
#include "auth/permit.h"
#include "auth/spec.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char a_token[] =
    "spw_0123456789ab_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk";

/* --- texts ----------------------------------------------------------------------- */

static void a_token_has_an_id_and_a_secret(void **state)
{
    struct token_text t;

    (void)state;
    assert_true(token_text_read(str_of(a_token), &t));
    assert_true(str_is(t.id, "0123456789ab"));
    assert_int_equal(t.secret.n, SECRET_CHARS);
}

static void what_is_no_token_is_not_read(void **state)
{
    char text[sizeof(a_token) + 1];
    struct token_text t;

    (void)state;
    assert_false(token_text_read(STR_NONE, &t));
    assert_false(token_text_read(STR(""), &t));
    assert_false(token_text_read(STR("spw_"), &t));
    for (size_t n = 0; n < TOKEN_CHARS; n++)
        assert_false(token_text_read(str_make(a_token, n), &t));
    for (size_t i = 0; i < TOKEN_CHARS; i++) { /* no place takes a message that is not in use */
        memcpy(text, a_token, sizeof(a_token));
        text[i] = 'U';
        assert_false(token_text_read(str_make(text, TOKEN_CHARS), &t));
        text[i] = '\0';
        assert_false(token_text_read(str_make(text, TOKEN_CHARS), &t));
    }
    (void)snprintf(text, sizeof(text), "%s0", a_token);
    assert_false(token_text_read(str_make(text, TOKEN_CHARS + 1), &t));
}

static void tokens_are_made_at_random(void **state)
{
    char one[TOKEN_CHARS + 1], other[TOKEN_CHARS + 1];
    struct token_text a, b;

    (void)state;
    assert_int_equal(token_text_make(one, NULL), 0);
    assert_int_equal(token_text_make(other, NULL), 0);
    assert_true(token_text_read(str_of(one), &a) && token_text_read(str_of(other), &b));
    assert_false(str_eq(a.id, b.id) || str_eq(a.secret, b.secret));
    /* No place is always the same. */
    for (size_t i = 0; i < SECRET_CHARS; i++) {
        bool differs = false;

        for (int n = 0; n < 64 && !differs; n++) {
            assert_int_equal(token_text_make(other, NULL), 0);
            differs = one[17 + i] != other[17 + i];
        }
        assert_true(differs);
    }
}

static void a_secret_is_kept_as_its_sha256(void **state)
{
    unsigned char hash[SECRET_BYTES], want[SECRET_BYTES];

    (void)state;
    assert_true(secret_hash(STR("abc"), hash)); /* FIPS 180-2, B.1 */
    assert_true(secret_read_hex(
        STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), want));
    assert_memory_equal(hash, want, SECRET_BYTES);
    assert_true(secret_equal(hash, want, SECRET_BYTES));
    want[31] ^= 1;
    assert_false(secret_equal(hash, want, SECRET_BYTES));
    assert_false(secret_read_hex(STR("ba78"), want));
    assert_false(secret_read_hex(
        STR("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), want));
}

static const unsigned char a_key[SECRET_BYTES] = { 1, 2, 3 };

static void a_ticket_is_for_one_job_and_one_moment(void **state)
{
    char text[TICKET_CHARS + 1];
    unsigned char other_key[SECRET_BYTES] = { 1, 2, 4 };
    struct ticket_text t;

    (void)state;
    size_t n = ticket_text_make(a_key, 1700000000, STR("0123456789ab"), STR("job-1"), text);
    assert_int_equal(n, strlen(text));
    assert_true(ticket_text_read(str_of(text), &t));
    assert_int_equal(t.expires, 1700000000);
    assert_true(str_is(t.id, "0123456789ab"));
    assert_int_equal(ticket_text_check(a_key, &t, STR("job-1")), 0);
    assert_int_equal(ticket_text_check(a_key, &t, STR("job-2")), ERR_REFUSED);
    assert_int_equal(ticket_text_check(a_key, &t, STR("job-1 ")), ERR_REFUSED);
    assert_int_equal(ticket_text_check(a_key, &t, STR("")), ERR_REFUSED);
    assert_int_equal(ticket_text_check(other_key, &t, STR("job-1")), ERR_REFUSED);
    t.expires++;
    assert_int_equal(ticket_text_check(a_key, &t, STR("job-1")), ERR_REFUSED);
    t.expires--;
    t.id = STR("0123456789ac");
    assert_int_equal(ticket_text_check(a_key, &t, STR("job-1")), ERR_REFUSED);
}

static void a_ticket_that_was_touched_is_none(void **state)
{
    char text[TICKET_CHARS + 1], touched[TICKET_CHARS + 1];
    struct ticket_text t;

    (void)state;
    size_t n = ticket_text_make(a_key, 1700000000, STR("0123456789ab"), STR("j"), text);
    for (size_t i = 0; i < n; i++) {
        memcpy(touched, text, n);
        touched[i] = touched[i] == '1' ? '2' : '1';
        assert_false(ticket_text_read(str_make(touched, n), &t) &&
                     ticket_text_check(a_key, &t, STR("j")) == 0);
        assert_false(ticket_text_read(str_make(text, i), &t) &&
                     ticket_text_check(a_key, &t, STR("j")) == 0);
    }
    assert_false(ticket_text_read(STR("spt_01_0123456789ab_x"), &t));
}

static void a_job_with_a_long_name_gets_no_ticket(void **state)
{
    char job[300], text[TICKET_CHARS + 1];

    (void)state;
    memset(job, 'x', sizeof(job));
    assert_int_equal(
        ticket_text_make(a_key, 1, STR("0123456789ab"), str_make(job, sizeof(job)), text), 0);
}

/* --- scopes ---------------------------------------------------------------------- */

static void scopes_give_access(void **state)
{
    (void)state;
    assert_int_equal(access_of_scopes(STR("read")), ACCESS_READ | ACCESS_QUEUES);
    assert_int_equal(access_of_scopes(STR("client")),
                     ACCESS_READ | ACCESS_CLIENT | ACCESS_ITEMS | ACCESS_QUEUES);
    assert_int_equal(access_of_scopes(STR("worker")),
                     ACCESS_WORKER | ACCESS_ITEMS | ACCESS_QUEUES);
    assert_int_equal(access_of_scopes(STR("admin")), ACCESS_ALL);
    assert_int_equal(access_of_scopes(STR("read,worker")),
                     ACCESS_READ | ACCESS_WORKER | ACCESS_ITEMS | ACCESS_QUEUES);
    assert_int_equal(access_of_scopes(STR("")), 0);
    assert_int_equal(access_of_scopes(STR_NONE), 0);
    assert_int_equal(access_of_scopes(STR("root")), 0);
    assert_int_equal(access_of_scopes(STR("read,root")), 0);
    assert_int_equal(access_of_scopes(STR("read,,worker")), 0);
    assert_int_equal(access_of_scopes(STR("Read")), 0);
    assert_string_equal(access_scope(ACCESS_READ), "read");
    assert_string_equal(access_scope(ACCESS_CLIENT), "client");
    assert_string_equal(access_scope(ACCESS_WORKER), "worker");
    assert_string_equal(access_scope(ACCESS_ADMIN), "admin");
    assert_string_equal(access_scope(ACCESS_ITEMS), "client");
}

/* --- tokens of the configuration -------------------------------------------------- */

static void a_spec_is_a_token_with_its_scope(void **state)
{
    char text[200];
    struct token_row row, hashed;
    struct spec mem, other;

    (void)state;
    (void)snprintf(text, sizeof(text), "client+worker:%s", a_token);
    assert_int_equal(spec_read(STR_NONE, str_of(text), &mem, &row, NULL), 0);
    assert_true(str_is(row.scopes, "client,worker"));
    assert_true(str_is(row.id, "0123456789ab") && str_is(row.owner, "0123456789ab"));
    (void)snprintf(text, sizeof(text), "acme@read:%s", a_token);
    assert_int_equal(spec_read(STR_NONE, str_of(text), &mem, &row, NULL), 0);
    assert_true(str_is(row.scopes, "read") && str_is(row.owner, "acme"));
    assert_int_equal(spec_read(STR("admin"), str_of(a_token), &mem, &row, NULL), 0);
    assert_true(str_is(row.scopes, "admin"));

    int n = snprintf(text, sizeof(text), "read:spw_0123456789ab_sha256:");
    for (size_t i = 0; i < SECRET_BYTES; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", mem.hash[i]);
    assert_int_equal(spec_read(STR_NONE, str_of(text), &other, &hashed, NULL), 0);
    assert_memory_equal(mem.hash, other.hash, SECRET_BYTES);
    assert_true(str_is(hashed.id, "0123456789ab"));
}

static void what_is_no_spec_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "client",
        "client:",
        "client:spw_x",
        ":spw_0123456789ab_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk",
        "spw_0123456789ab_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk",
        "client:spw_0123456789ab_sha256:",
        "client:spw_0123456789ab_sha256:0123",
        ("client:spw_0123456789AB_sha256:"
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    };
    struct token_row row;
    struct error err;
    struct spec mem;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(spec_read(STR_NONE, str_of(bad[i]), &mem, &row, &err), ERR_REFUSED);
        assert_null(strstr(err.text, "0123456789abcdefgh")); /* it says nothing secret */
    }
}

/* --- tokens ---------------------------------------------------------------------- */

static const struct token_limits few = { .jobs = 1, .streams = 2, .events = 10 };

static struct token_row a_row(const char *scopes)
{
    return (struct token_row){ .id = STR("0123456789ab"),
                               .hash = str_make((const char *)a_key, SECRET_BYTES),
                               .scopes = str_of(scopes),
                               .owner = STR("acme"),
                               .max_jobs = -1,
                               .max_queued = -1,
                               .max_running = -1,
                               .max_streams = -1,
                               .max_events = -1 };
}

static struct token *made(const struct token_row *row)
{
    struct error err = { 0 };
    struct token *t = NULL;

    if (token_new(row, &few, NULL, &t, &err) != 0)
        fail_msg("%s", err.text);
    return t;
}

static bool reaches(const struct token_row *row, const char *job, const char *owner)
{
    struct token *t = made(row);
    bool yes = job_scope_includes(&t->job_scope, str_of(job), str_of(owner));

    token_unref(t);
    return yes;
}

static void which_jobs_when_nothing_is_said(void **state)
{
    struct token_row client = a_row("client"), reader = a_row("read"), admin = a_row("admin");

    (void)state;
    assert_true(reaches(&client, "j", "acme"));
    assert_false(reaches(&client, "j", "other") || reaches(&client, "j", NULL));
    assert_true(reaches(&reader, "j", "other") && reaches(&reader, "j", NULL));
    assert_true(reaches(&admin, "j", "other") && reaches(&admin, "j", NULL));
    client.jobs = reader.jobs = STR("team-*");
    assert_true(reaches(&client, "j", "acme") && reaches(&client, "team-1", "other"));
    assert_true(reaches(&reader, "team-1", NULL));
    assert_false(reaches(&reader, "j", "acme"));
}

static void rows_that_make_no_sense_are_refused(void **state)
{
    struct token_row rows[] = { a_row("root"),   a_row(""),       a_row("client"),
                                a_row("client"), a_row("worker"), a_row("admin"),
                                a_row("client"), a_row("client"), a_row("client") };
    char long_name[101];
    struct token *t = NULL;
    struct error err;

    (void)state;
    memset(long_name, 'x', sizeof(long_name));
    rows[2].owner = STR("a b");
    rows[3].jobs = STR("a b");
    rows[4].jobs = STR("own");
    rows[5].jobs = STR("own");
    rows[6].name = str_make(long_name, sizeof(long_name));
    rows[7].name = STR("a\nb");
    rows[8].id = STR("0123");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(token_new(&rows[i], &few, NULL, &t, &err), ERR_REFUSED);
        assert_null(t);
        assert_true(err.text[0] != '\0');
    }
}

static void a_token_is_good_until_it_ends(void **state)
{
    struct token_row row = a_row("client"), gone = a_row("client");

    (void)state;
    row.expires = 1000;
    struct token *t = made(&row);
    assert_true(token_is_good(t, 999));
    assert_false(token_is_good(t, 1000));
    token_revoke(t, 500);
    assert_false(token_is_good(t, 1));
    token_unref(t);
    gone.revoked = 5;
    t = made(&gone);
    assert_false(token_is_good(t, 1));
    token_unref(t);
}

static void a_session_ends_with_its_token(void **state)
{
    struct token_row row = a_row("client");
    struct token *parent = made(&row), *session = NULL;

    (void)state;
    row.expires = 1000;
    assert_int_equal(token_new(&row, &few, parent, &session, NULL), 0);
    assert_true(token_is_good(session, 5));
    assert_false(token_is_good(session, 1000));
    assert_true(token_is_good(parent, 1000));
    assert_true(token_take_stream(session)); /* counted with its token */
    assert_int_equal(parent->n_streams, 1);
    token_revoke(parent, 5);
    assert_false(token_is_good(session, 5));
    token_give_stream(session);
    token_unref(parent);
    token_unref(session);
}

static void agents_are_a_list(void **state)
{
    struct token_row row = a_row("worker");
    struct token *any = made(&row);

    (void)state;
    row.agents = STR("triage,demo");
    struct token *two = made(&row);
    assert_true(token_has_agent(any, STR("x")));
    assert_true(token_has_agent(two, STR("triage")) && token_has_agent(two, STR("demo")));
    assert_false(token_has_agent(two, STR("tri")) || token_has_agent(two, STR("triage,demo")) ||
                 token_has_agent(two, STR("")));
    token_unref(any);
    token_unref(two);
}

static void streams_are_counted(void **state)
{
    struct token_row row = a_row("read");
    struct token *t = made(&row);

    (void)state;
    assert_true(token_take_stream(t) && token_take_stream(t));
    assert_false(token_take_stream(t));
    assert_false(token_take_stream(t));
    token_give_stream(t);
    assert_true(token_take_stream(t));
    token_unref(t);
    row.max_streams = 0;
    t = made(&row);
    for (int i = 0; i < 100; i++)
        assert_true(token_take_stream(t));
    token_unref(t);
}

static void events_come_at_a_rate(void **state)
{
    struct token_row row = a_row("worker");
    struct token *t = made(&row); /* 10 a second */
    int64_t now = 1000000000;

    (void)state;
    assert_int_equal(token_events_wait_ms(t, now), 0);
    token_took_events(t, 10, now); /* a second's worth is fine at once */
    assert_int_equal(token_events_wait_ms(t, now), 0);
    token_took_events(t, 10, now);
    assert_in_range(token_events_wait_ms(t, now), 1000, 1001);
    assert_in_range(token_events_wait_ms(t, now + 500000), 500, 501);
    assert_int_equal(token_events_wait_ms(t, now + 1000000), 0);
    token_took_events(t, 100, now + 1000000); /* a large batch is paid for afterwards */
    assert_in_range(token_events_wait_ms(t, now + 1000000), 10000, 10001);
    assert_int_equal(token_events_wait_ms(t, now + 60000000), 0);
    token_took_events(t, 5, now + 60000000); /* what was not used is not saved up */
    token_took_events(t, 15, now + 60000000);
    assert_in_range(token_events_wait_ms(t, now + 60000000), 1000, 1001);
    token_took_events(t, UINT64_MAX, now + 60000000);
    assert_true(token_events_wait_ms(t, now + 60000000) > 1000);
    token_unref(t);
    row.max_events = 0;
    t = made(&row);
    token_took_events(t, 1000000, now);
    assert_int_equal(token_events_wait_ms(t, now), 0);
    token_unref(t);
}

/* --- the token service and authenticators --------------------------------------------------
 */

struct fixture {
    char folder[64];
    char path[128];
    struct store *store; /* the server's */
    struct token_service_options options;
    int64_t now;
    unsigned n_changes;
};

static int64_t on_clock(void *arg)
{
    const struct fixture *f = arg;

    return f->now;
}

static void on_changed(void *arg)
{
    struct fixture *f = arg;

    f->n_changes++;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    (void)snprintf(f->folder, sizeof(f->folder), "%s/auth_test.XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof(f->path), "%s/x.db", f->folder);
    f->now = 1000;
    f->options = (struct token_service_options){
        .ticket_life_ms = 3600000,
        .store = { .url = f->path, .relaxed = true, .busy_ms = 20000 },
        .clock = on_clock,
        .changed = on_changed,
        .arg = f
    };
    *state = f;
    return store_open(&f->options.store, &f->store, NULL);
}

static int teardown(void **state)
{
    static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
    struct fixture *f = *state;
    char path[160];

    store_close(f->store);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", f->path, ends[i]);
        (void)unlink(path); /* most are not there */
    }
    int rc = rmdir(f->folder);
    free(f);
    return rc;
}

static struct token_service *new_token_service(struct fixture *f)
{
    struct error err = { 0 };
    struct token_service *k = NULL;

    if (token_service_new(&f->options, &k, &err) != 0)
        fail_msg("%s", err.text);
    return k;
}

/* Stores a token of its own, as another process would; @text gets it. */
static void store_token(struct fixture *f, const char *scopes, char text[TOKEN_CHARS + 1])
{
    struct draft d;
    struct error err = { 0 };

    assert_int_equal(draft_init(&d, f->now, &err), 0);
    d.row.scopes = str_of(scopes);
    if (store_token_insert(f->store, &d.row, &err) != 0)
        fail_msg("%s", err.text);
    memcpy(text, d.text, TOKEN_CHARS + 1);
}

static struct credential shown(enum credential_kind kind, const char *text)
{
    return (struct credential){ kind, str_of(text), STR("j") };
}

/* What gate_admit says; its visitor is let go. */
static int admits(struct authenticator *g,
                  enum credential_kind kind,
                  const char *text,
                  int64_t now)
{
    struct credential c = shown(kind, text);
    struct visitor *v = NULL;
    struct error err = { 0 };
    int code = authenticator_admit(g, &c, now, &v, &err);

    assert_true((code == 0) == (v != NULL));
    assert_true(code == 0 || err.text[0] != '\0');
    assert_true(code == 0 || text == NULL || strstr(err.text, text + 17) == NULL);
    visitor_free(v);
    return code;
}

static void without_tokens_the_door_is_open(void **state)
{
    struct fixture *f = *state;
    struct token_service *k = new_token_service(f);
    struct authenticator g;

    authenticator_init(&g, k);
    assert_true(authenticator_is_open(&g));
    assert_int_equal(admits(&g, CREDENTIAL_NONE, NULL, 1000), 0);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, a_token, 1000), 0);
    authenticator_done(&g);
    token_service_free(k);
    f->options.is_required = true;
    k = new_token_service(f);
    authenticator_init(&g, k);
    assert_false(authenticator_is_open(&g));
    assert_int_equal(admits(&g, CREDENTIAL_NONE, NULL, 1000), ERR_NOT_FOUND);
    authenticator_done(&g);
    token_service_free(k);
}

static void a_gate_knows_good_tokens(void **state)
{
    struct fixture *f = *state;
    char text[TOKEN_CHARS + 1], wrong[TOKEN_CHARS + 1];
    struct authenticator g;

    store_token(f, "client", text);
    struct token_service *k = new_token_service(f);
    authenticator_init(&g, k);
    assert_false(authenticator_is_open(&g));
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, text, 1000), 0);
    assert_int_equal(admits(&g, CREDENTIAL_NONE, NULL, 1000), ERR_NOT_FOUND);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, a_token, 1000), ERR_NOT_FOUND);
    assert_int_equal(admits(&g, CREDENTIAL_SESSION, text, 1000), ERR_NOT_FOUND);
    assert_int_equal(admits(&g, CREDENTIAL_TICKET, text, 1000), ERR_NOT_FOUND);
    memcpy(wrong, text, sizeof(wrong)); /* the right id */
    wrong[TOKEN_CHARS - 2] = wrong[TOKEN_CHARS - 2] == '0' ? '1' : '0';
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, wrong, 1000), ERR_NOT_FOUND);
    authenticator_done(&g);
    token_service_free(k);
    f->options.is_off = true;
    k = new_token_service(f);
    assert_false(token_service_is_locked(k));
    token_service_free(k);
}

static void a_visitor_is_known_by_what_it_showed(void **state)
{
    struct fixture *f = *state;
    char text[TOKEN_CHARS + 1], other[TOKEN_CHARS + 1];
    struct visitor *v = NULL;
    struct authenticator g;

    store_token(f, "client", text);
    store_token(f, "client", other);
    struct token_service *k = new_token_service(f);
    authenticator_init(&g, k);
    struct credential c = shown(CREDENTIAL_TOKEN, text), d = shown(CREDENTIAL_TOKEN, other),
                      s = shown(CREDENTIAL_SESSION, text), none = { .kind = CREDENTIAL_NONE };
    assert_int_equal(authenticator_admit(&g, &c, 1000, &v, NULL), 0);
    assert_true(visitor_is(v, &c, 1000));
    assert_false(visitor_is(NULL, &c, 1000));
    assert_false(visitor_is(v, &d, 1000) || visitor_is(v, &s, 1000) ||
                 visitor_is(v, &none, 1000));
    token_revoke(v->token, 1000);
    assert_false(visitor_is(v, &c, 1000));
    visitor_free(v);
    authenticator_done(&g);
    token_service_free(k);
}

static void wait_for_change(struct token_service *k, uint64_t generation)
{
    struct timespec pause = { .tv_nsec = 5000000 };

    for (int i = 0; i < 12000 && token_service_generation(k) == generation; i++)
        (void)nanosleep(&pause, NULL); /* sooner is fine */
    assert_true(token_service_generation(k) > generation);
}

static void changes_of_others_are_noticed(void **state)
{
    struct fixture *f = *state;
    char text[TOKEN_CHARS + 1];
    struct token_text parts;
    struct permit *permit = NULL;
    struct visitor *v = NULL;
    struct error err;
    struct authenticator g;

    struct token_service *k = new_token_service(f);
    authenticator_init(&g, k);
    struct credential none = { .kind = CREDENTIAL_NONE };
    assert_int_equal(authenticator_admit(&g, &none, 1000, &v, NULL), 0);
    assert_true(visitor_is(v, &none, 1000));
    assert_int_equal(token_service_start(k, &err), 0);
    uint64_t generation = token_service_generation(k);
    store_token(f, "read", text);
    wait_for_change(k, generation);
    assert_false(authenticator_is_open(&g));
    assert_false(visitor_is(v, &none, 1000)); /* whoever was let in before is not any more */
    visitor_free(v);
    struct credential c = shown(CREDENTIAL_TOKEN, text);
    assert_int_equal(authenticator_admit(&g, &c, 1000, &v, NULL), 0);
    assert_int_equal(permit_new(v, &permit), 0);
    assert_true(permit_holds(permit, 1000));

    generation = token_service_generation(k);
    assert_true(token_text_read(str_of(text), &parts));
    assert_int_equal(store_token_revoke(f->store, parts.id, 1500, &err), 0);
    wait_for_change(k, generation);
    assert_false(visitor_is(v, &c, 2000) || permit_holds(permit, 2000));
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, text, 2000), ERR_CLOSED);
    assert_false(authenticator_is_open(&g)); /* the last token is gone, and the door stays
                                                locked */
    token_service_stop(k);
    permit_free(permit);
    visitor_free(v);
    authenticator_done(&g);
    token_service_free(k);
    assert_true(f->n_changes >= 3);
}

static void tickets_need_their_token(void **state)
{
    struct fixture *f = *state;
    char text[TOKEN_CHARS + 1], ticket[TICKET_CHARS + 1];
    struct credential c, t;
    struct visitor *v = NULL, *w = NULL;
    struct authenticator g;

    store_token(f, "read", text);
    struct token_service *k = new_token_service(f);
    authenticator_init(&g, k);
    c = shown(CREDENTIAL_TOKEN, text);
    assert_int_equal(authenticator_admit(&g, &c, 1000, &v, NULL), 0);
    assert_true(authenticator_make_ticket(&g, v->token, STR("j"), 5, ticket) > 0);
    assert_int_equal(admits(&g, CREDENTIAL_TICKET, ticket, 4999), 0);
    assert_int_equal(admits(&g, CREDENTIAL_TICKET, ticket, 5000), ERR_CLOSED);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, ticket, 1000), ERR_NOT_FOUND);
    t = shown(CREDENTIAL_TICKET, ticket);
    assert_int_equal(authenticator_admit(&g, &t, 1000, &w, NULL), 0);
    assert_int_equal(w->until, 5000);
    assert_ptr_equal(w->token, v->token);
    assert_false(visitor_is(w, &t, 1000)); /* looked at each time */
    t.job = STR("k");
    visitor_free(w);
    assert_int_equal(authenticator_admit(&g, &t, 1000, &w, NULL), ERR_NOT_FOUND);
    authenticator_done(&g);
    token_service_free(k);

    k = new_token_service(f); /* the key is in the store */
    authenticator_init(&g, k);
    assert_int_equal(admits(&g, CREDENTIAL_TICKET, ticket, 4999), 0);
    token_revoke(keyring_find(authenticator_ring(&g), str_of(v->token->id)), 1);
    assert_int_equal(admits(&g, CREDENTIAL_TICKET, ticket, 4999), ERR_CLOSED);
    visitor_free(v);
    authenticator_done(&g);
    token_service_free(k);
}

static void configured_tokens_count_too(void **state)
{
    struct fixture *f = *state;
    char spec[100];
    char *specs[] = { spec, NULL }, *bad[] = { (char *)(uintptr_t) "client:spw_", NULL };
    struct error err = { 0 };
    struct token_service *k = NULL;
    struct authenticator g;

    (void)snprintf(spec, sizeof(spec), "worker:%s", a_token);
    f->options.specs = specs;
    k = new_token_service(f);
    authenticator_init(&g, k);
    assert_false(authenticator_is_open(&g));
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, a_token, 1000), 0);
    authenticator_done(&g);
    token_service_free(k);
    f->options.specs = bad;
    assert_int_equal(token_service_new(&f->options, &k, &err), ERR_REFUSED);
    assert_non_null(strstr(err.text, "auth_tokens: "));
    f->options.specs = NULL;
    f->options.admin = "hunter2";
    assert_int_equal(token_service_new(&f->options, &k, &err), ERR_REFUSED);
    assert_non_null(strstr(err.text, "token_admin: "));
    assert_null(strstr(err.text, "hunter2"));
}

struct asked {
    struct token_request req;
    struct loop_call call;
    atomic_bool done;
};

/* On the token service's thread. */
static void on_answered(struct loop_call *call)
{
    atomic_store(&((struct asked *)call->owner)->done, true);
}

static int ask(struct token_service *k, struct asked *a)
{
    struct timespec pause = { .tv_nsec = 1000000 };

    atomic_store(&a->done, false);
    a->call = (struct loop_call){ .owner = a, .answered = on_answered };
    a->req.call = &a->call;
    token_service_post(k, &a->req);
    while (!atomic_load(&a->done))
        (void)nanosleep(&pause, NULL);
    return a->req.code;
}

static void what_is_asked_for_counts_at_once(void **state)
{
    struct fixture *f = *state;
    struct asked a = { .req.op = TOKEN_CREATE };
    struct draft d, session;
    struct authenticator g;

    struct token_service *k = new_token_service(f);
    authenticator_init(&g, k);
    assert_int_equal(token_service_start(k, NULL), 0);
    assert_int_equal(draft_init(&d, f->now, NULL), 0);
    d.row.scopes = STR("nonsense");
    a.req.row = d.row;
    assert_int_equal(ask(k, &a), ERR_REFUSED);
    assert_true(authenticator_is_open(&g));
    d.row.scopes = a.req.row.scopes = STR("client");
    assert_int_equal(ask(k, &a), 0);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, d.text, 1000), 0);

    assert_int_equal(draft_init(&session, f->now, NULL), 0);
    session.row.scopes = STR("client");
    session.row.parent = d.row.id;
    session.row.expires = 2000;
    a.req.row = session.row;
    assert_int_equal(ask(k, &a), 0);
    assert_int_equal(admits(&g, CREDENTIAL_SESSION, session.text, 1000), 0);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, session.text, 1000), ERR_NOT_FOUND);
    a.req.op = TOKEN_LOGOUT;
    assert_int_equal(ask(k, &a), 0);
    assert_int_equal(admits(&g, CREDENTIAL_SESSION, session.text, 1000), ERR_NOT_FOUND);
    assert_int_equal(ask(k, &a), ERR_NOT_FOUND);

    a.req.op = TOKEN_REVOKE;
    a.req.row = d.row;
    assert_int_equal(ask(k, &a), 0);
    assert_int_equal(admits(&g, CREDENTIAL_TOKEN, d.text, 1000), ERR_CLOSED);
    token_service_stop(k);
    authenticator_done(&g);
    token_service_free(k);
}

int main(void)
{
#define with_store(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_has_an_id_and_a_secret),
        cmocka_unit_test(what_is_no_token_is_not_read),
        cmocka_unit_test(tokens_are_made_at_random),
        cmocka_unit_test(a_secret_is_kept_as_its_sha256),
        cmocka_unit_test(a_ticket_is_for_one_job_and_one_moment),
        cmocka_unit_test(a_ticket_that_was_touched_is_none),
        cmocka_unit_test(a_job_with_a_long_name_gets_no_ticket),
        cmocka_unit_test(scopes_give_access),
        cmocka_unit_test(a_spec_is_a_token_with_its_scope),
        cmocka_unit_test(what_is_no_spec_is_refused),
        cmocka_unit_test(which_jobs_when_nothing_is_said),
        cmocka_unit_test(rows_that_make_no_sense_are_refused),
        cmocka_unit_test(a_token_is_good_until_it_ends),
        cmocka_unit_test(a_session_ends_with_its_token),
        cmocka_unit_test(agents_are_a_list),
        cmocka_unit_test(streams_are_counted),
        cmocka_unit_test(events_come_at_a_rate),
        with_store(without_tokens_the_door_is_open),
        with_store(a_gate_knows_good_tokens),
        with_store(a_visitor_is_known_by_what_it_showed),
        with_store(changes_of_others_are_noticed),
        with_store(tickets_need_their_token),
        with_store(configured_tokens_count_too),
        with_store(what_is_asked_for_counts_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
