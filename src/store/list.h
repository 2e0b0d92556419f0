/* All backends of the store.  The first one is used for databases that are named by a path
 * alone.
 *
 * The name is that of the backend's folder and of its variable (store_backend_NAME). */
#ifndef STORE_LIST_H
#define STORE_LIST_H

#define STORE_BACKENDS(X) X(sqlite) X(postgres) X(postgresql)

#define STORE_BACKEND_DECLARE(name) extern const struct store_backend store_backend_##name;
STORE_BACKENDS(STORE_BACKEND_DECLARE)

#endif
