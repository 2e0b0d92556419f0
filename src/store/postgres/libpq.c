/* libpq, loaded when the first PostgreSQL database is opened.
 *
 * Linking with it would load some twenty libraries (Kerberos, LDAP, GnuTLS) at the start of
 * every command, which a server on SQLite does not need.  So this file defines the functions
 * that we use; each finds the real one once and keeps its address, which never changes. */
#include "store/postgres/postgres.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdatomic.h>

/* Stores the address of libpq's function @name in *@real; NULL without libpq. */
static void find(_Atomic(void *) *kept, const char *name, void *real)
{
    void *found = atomic_load(kept);

    if (found == NULL) {
        void *lib = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);

        found = lib != NULL ? dlsym(lib, name) : NULL;
        atomic_store(kept, found);
    }
    /* The way that POSIX recommends to turn an object pointer into a function pointer. */
    *(void **)real = found;
}

/* Declares `real`, a pointer to libpq's function @name. */
#define FIND(name)                 \
    static _Atomic(void *) kept;   \
    __typeof__(name) *real = NULL; \
    find(&kept, #name, &real)

int libpq_load(struct error *err)
{
    FIND(PQconninfoParse);
    if (real == NULL)
        return error_set(err, ERR_NOT_FOUND,
                         "PostgreSQL's client library libpq.so.5 cannot be loaded: install it "
                         "(Debian: apt-get install libpq5)");
    return 0;
}

/* clang-format off */
/* These are called only after libpq_load(). */
#define FUNCTION(type, name, parameters, arguments) \
    type name parameters                            \
    {                                               \
        FIND(name);                                 \
        assert(real != NULL);                       \
        return real arguments;                      \
    }

FUNCTION(PQconninfoOption *, PQconninfoParse, (const char *info, char **error), (info, error))
FUNCTION(char *, PQuser, (const PGconn *conn), (conn))
FUNCTION(ConnStatusType, PQstatus, (const PGconn *conn), (conn))
FUNCTION(const char *, PQparameterStatus, (const PGconn *conn, const char *name), (conn, name))
FUNCTION(int, PQserverVersion, (const PGconn *conn), (conn))
FUNCTION(char *, PQerrorMessage, (const PGconn *conn), (conn))
FUNCTION(PGresult *, PQexec, (PGconn *conn, const char *query), (conn, query))
FUNCTION(PGresult *, PQexecParams,
         (PGconn *conn, const char *query, int n, const Oid *types, const char *const *values,
          const int *lengths, const int *formats, int result_format),
         (conn, query, n, types, values, lengths, formats, result_format))
FUNCTION(int, PQsendQuery, (PGconn *conn, const char *query), (conn, query))
FUNCTION(int, PQisBusy, (PGconn *conn), (conn))
FUNCTION(int, PQsocket, (const PGconn *conn), (conn))
FUNCTION(int, PQbackendPID, (const PGconn *conn), (conn))
FUNCTION(PGnotify *, PQnotifies, (PGconn *conn), (conn))
FUNCTION(void, PQfreemem, (void *p), (p))
FUNCTION(PGcancel *, PQgetCancel, (PGconn *conn), (conn))
FUNCTION(void, PQfreeCancel, (PGcancel *cancel), (cancel))
FUNCTION(int, PQcancel, (PGcancel *cancel, char *error, int size), (cancel, error, size))
FUNCTION(PGresult *, PQgetResult, (PGconn *conn), (conn))
FUNCTION(int, PQsetSingleRowMode, (PGconn *conn), (conn))
FUNCTION(int, PQconsumeInput, (PGconn *conn), (conn))
FUNCTION(int, PQenterPipelineMode, (PGconn *conn), (conn))
FUNCTION(int, PQpipelineSync, (PGconn *conn), (conn))
FUNCTION(int, PQflush, (PGconn *conn), (conn))
FUNCTION(ExecStatusType, PQresultStatus, (const PGresult *r), (r))
FUNCTION(char *, PQresultErrorField, (const PGresult *r, int field), (r, field))
FUNCTION(int, PQnfields, (const PGresult *r), (r))
FUNCTION(int, PQntuples, (const PGresult *r), (r))
FUNCTION(char *, PQcmdStatus, (PGresult *r), (r))
FUNCTION(char *, PQcmdTuples, (PGresult *r), (r))
FUNCTION(char *, PQgetvalue, (const PGresult *r, int row, int column), (r, row, column))
FUNCTION(int, PQgetlength, (const PGresult *r, int row, int column), (r, row, column))
FUNCTION(int, PQgetisnull, (const PGresult *r, int row, int column), (r, row, column))
FUNCTION(PGconn *, PQconnectdbParams,
         (const char *const *words, const char *const *values, int expand),
         (words, values, expand))
FUNCTION(PQnoticeReceiver, PQsetNoticeReceiver,
         (PGconn *conn, PQnoticeReceiver receiver, void *arg), (conn, receiver, arg))
FUNCTION(int, PQsendQueryParams,
         (PGconn *conn, const char *query, int n, const Oid *types, const char *const *values,
          const int *lengths, const int *formats, int result_format),
         (conn, query, n, types, values, lengths, formats, result_format))
FUNCTION(int, PQsendPrepare,
         (PGconn *conn, const char *name, const char *query, int n, const Oid *types),
         (conn, name, query, n, types))
FUNCTION(int, PQsendQueryPrepared,
         (PGconn *conn, const char *name, int n, const char *const *values, const int *lengths,
          const int *formats, int result_format),
         (conn, name, n, values, lengths, formats, result_format))
/* clang-format on */

/* These accept NULL, because they are also called when nothing was created. */

void PQfinish(PGconn *conn)
{
    FIND(PQfinish);
    if (real != NULL)
        real(conn);
}

void PQclear(PGresult *r)
{
    FIND(PQclear);
    if (real != NULL)
        real(r);
}

void PQconninfoFree(PQconninfoOption *options)
{
    FIND(PQconninfoFree);
    if (real != NULL)
        real(options);
}
