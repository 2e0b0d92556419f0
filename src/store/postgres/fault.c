/* Error messages for the operator.
 *
 * PostgreSQL reports a failed statement by a code of five characters (SQLSTATE), libpq a failed
 * connection by a text.  Neither contains a password; a URL may, so URLs are never printed. */
#include "store/postgres/postgres.h"

#include <string.h>

int not_found(int code, const char *what, struct error *err)
{
    return code == ERR_NOT_FOUND ? error_set(err, code, "there is no such %s", what) : code;
}

/* libpq's messages have several lines; the first is enough. */
static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

int postgres_cannot_connect(struct postgres_store *s, const PGconn *conn, struct error *err)
{
    const char *text = conn != NULL ? PQerrorMessage(conn) : "out of memory";

    /* Skips "connection to server at "host", port 5432 failed: "; s->name has the server. */
    const char *why = strstr(text, " failed: ");

    text = why != NULL ? why + strlen(" failed: ") : text;
    return error_set(err, ERR_BUSY,
                     "cannot connect to PostgreSQL (%s): %.*s; check the URL, that the server "
                     "runs, and its pg_hba.conf",
                     s->name, first_line(text), text);
}

static int lost(struct postgres_store *s, struct error *err)
{
    return error_set(err, ERR_IO,
                     "PostgreSQL (%s) went away; the server connects again by itself", s->name);
}

static bool is_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

static int shortage(struct postgres_store *s, const char *state, struct error *err)
{
    if (is_class(state, "53100"))
        return error_set(
            err, ERR_IO,
            "no space left on the disk of PostgreSQL (%s): free some; appends will "
            "go on by themselves",
            s->name);
    return error_set(err, ERR_BUSY,
                     "PostgreSQL (%s) has no memory or no connection left: see its log, "
                     "max_connections and work_mem",
                     s->name);
}

/* PostgreSQL refused a valid statement. */
static int refused(struct postgres_store *s,
                   const char *state,
                   const char *message,
                   struct error *err)
{
    if (is_class(state, "42501"))
        return error_set(err, ERR_IO,
                         "the role \"%s\" lacks a right in PostgreSQL (%s): %.*s; grant it, or "
                         "make the role the owner of the schema",
                         PQuser(s->conn), s->name, first_line(message), message);
    if (is_class(state, "42P01") || is_class(state, "42703") || is_class(state, "42883"))
        return error_set(
            err, ERR_IO,
            "the database %s does not have the tables of spoolwire (%.*s): restore "
            "a backup, or give another database",
            s->name, first_line(message), message);
    if (is_class(state, "25006"))
        return error_set(err, ERR_IO,
                         "PostgreSQL (%s) only reads, as a standby does: give the URL of the "
                         "primary (target_session_attrs=read-write finds it)",
                         s->name);
    if (is_class(state, "54000"))
        return error_set(err, ERR_TOO_LARGE, "a text is too large for PostgreSQL");
    return error_set(err, ERR_IO, "PostgreSQL (%s): %.*s (%s)", s->name, first_line(message),
                     message, state);
}

int postgres_fault(struct postgres_store *s, const PGresult *result, struct error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    if (state == NULL || message == NULL || connection_lost(s) || is_class(state, "57P") ||
        is_class(state, "08"))
        return lost(s, err);
    if (is_class(state, "SW001")) {
        s->is_fenced = true;
        return error_set(err, ERR_IO, "another gateway writes to %s now: nothing was stored",
                         s->name);
    }
    if (is_class(state, "40") || is_class(state, "23503")) /* what it names was just deleted */
        return error_set(err, ERR_CONFLICT, "PostgreSQL (%s) gave up a transaction: %.*s",
                         s->name, first_line(message), message);
    if (is_class(state, "23") || is_class(state, "SW002"))
        return error_set(err, ERR_REFUSED, "PostgreSQL (%s) refuses a row: %.*s", s->name,
                         first_line(message), message);
    return is_class(state, "53") ? shortage(s, state, err) : refused(s, state, message, err);
}
