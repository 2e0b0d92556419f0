/* Statements are prepared when a connection is made, all in one message.
 *
 * Each statement that changes rows is prepared twice.  The second variant fails unless a row
 * was changed; then PostgreSQL skips the rest of the pipeline, including the commit.  This is
 * needed because a statement that changes nothing is not an error for PostgreSQL, and its
 * result is read only after the commit was sent. */
#define _DEFAULT_SOURCE /* htobe64 */
#include "store/postgres/postgres.h"

#include "base/buf.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SQL_MAX_BYTES = 4096 };

#define TEXT_OF(name, sql) sql,
static const char *const texts[SQL_STATEMENT_MAX] = { SQL_READING(TEXT_OF)
                                                          SQL_WRITING(TEXT_OF) };
#undef TEXT_OF

/* The texts of statements that are different on a schema without large values. */
#define TEXT_AT(name, sql) [SQL_##name] = sql,
static const char *const older_texts[SQL_STATEMENT_MAX] = { SQL_WITHOUT_LARGE(TEXT_AT) };
#undef TEXT_AT

static const char *text_of(const struct postgres_store *s, enum postgres_statement id)
{
    return s->version < SCHEMA_WITH_LARGE && older_texts[id] != NULL ? older_texts[id]
                                                                     : texts[id];
}

const char *statement_name(enum postgres_statement id, bool must, char buffer[16])
{
    (void)snprintf(buffer, 16, must ? "m%d" : "s%d", (int)id);
    return buffer;
}

/* Numbers the parameters: "a = ?, b = ?" becomes "a = $1, b = $2".  False: it is too long. */
static bool number_params(const char *sql, struct buf *ret)
{
    unsigned n = 0;

    for (const char *p = sql; *p != '\0'; p++) {
        if (*p != '?') {
            buf_char(ret, *p);
            continue;
        }
        buf_char(ret, '$');
        if (p[1] < '0' || p[1] > '9')
            buf_u64(ret, ++n);
        else
            n = (unsigned)(p[1] - '0'); /* the digits are copied with the rest */
    }
    return ret->error == 0;
}

static bool changes_rows(enum postgres_statement id)
{
    const char *sql = texts[id];

    return id > SQL_THREAD_KEYS && strncmp(sql, "SELECT", 6) != 0;
}

static int send_one(struct postgres_store *s, enum postgres_statement id, bool must)
{
    struct buf sql;
    char name[16];

    buf_init(&sql, SQL_MAX_BYTES);
    if (must)
        buf_lit(&sql, "WITH changed AS (");
    bool ok = number_params(text_of(s, id), &sql);
    if (must)
        buf_lit(&sql, " RETURNING 1) SELECT must(count(*)) FROM changed");
    buf_char(&sql, '\0');
    ok = ok && sql.error == 0 &&
         PQsendPrepare(s->conn, statement_name(id, must, name), sql.p, 0, NULL) == 1;
    s->n_unread += ok;
    buf_done(&sql);
    return ok ? 0 : ERR_IO;
}

int statement_send_unnamed(struct postgres_params *p, const int *formats)
{
    struct buf sql LOCAL_BUF(SQL_MAX_BYTES);

    if (!number_params(text_of(p->s, p->id), &sql))
        return 0;
    buf_char(&sql, '\0');
    return sql.error == 0 ? PQsendQueryParams(p->s->conn, sql.p, p->n, NULL, p->values,
                                              p->lengths, formats, 1)
                          : 0;
}

/* Is the variant that must change a row used, by write_row()? */
static bool has_must(enum postgres_statement id)
{
    return changes_rows(id) && strncmp(texts[id], "WITH", 4) != 0;
}

bool statement_is_newer(const struct postgres_store *s, enum postgres_statement id)
{
    bool is_of_crons = (id >= SQL_CRON && id <= SQL_CRONS_DUE) ||
                       (id >= SQL_CRON_INSERT && id <= SQL_CRONS_FORGET);
    bool is_of_webhooks = (id >= SQL_WEBHOOK && id <= SQL_WEBHOOKS_COUNT) ||
                          (id >= SQL_WEBHOOK_INSERT && id <= SQL_WEBHOOKS_EXPIRE) ||
                          id == SQL_MOVE_WEBHOOKS;

    bool is_of_large =
        id == SQL_CHANNEL_PUT_LARGE || id == SQL_STATE_PUT_LARGE || id == SQL_CHECK_LARGE;

    return (is_of_crons && s->version < SCHEMA_WITH_CRONS) ||
           (is_of_webhooks && s->version < SCHEMA_WITH_WEBHOOKS) ||
           (is_of_large && s->version < SCHEMA_WITH_LARGE);
}

int statements_send(struct postgres_store *s)
{
    int n = s->role == STORE_READER ? SQL_FIRST_WRITING : SQL_STATEMENT_MAX;
    int code = 0;

    if (s->is_pooled)
        return 0;
    for (int i = 0; i < n && code == 0; i++) {
        if (statement_is_newer(s, (enum postgres_statement)i))
            continue;
        code = send_one(s, (enum postgres_statement)i, false);
        if (code == 0 && s->role == STORE_WRITER && has_must((enum postgres_statement)i))
            code = send_one(s, (enum postgres_statement)i, true);
    }
    return code;
}

/* --- parameters ------------------------------------------------------------------ */

void params_init(struct postgres_params *p, struct store *s, enum postgres_statement id)
{
    p->s = postgres_of(s);
    p->id = id;
    p->n = 0;
    p->is_too_large = false;
}

void params_text(struct postgres_params *p, struct str text)
{
    p->is_too_large = p->is_too_large || text.n > INT_MAX / 2;
    p->values[p->n] = text.p;
    p->lengths[p->n++] = (int)text.n;
}

void params_int(struct postgres_params *p, int64_t value)
{
    p->numbers[p->n] = (int64_t)htobe64((uint64_t)value);
    p->values[p->n] = (const char *)&p->numbers[p->n];
    p->lengths[p->n++] = (int)sizeof(value);
}
