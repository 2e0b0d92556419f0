/* What names the database: `store` and `data` of the settings.
 *
 *     FILE, sqlite:FILE                  a file of SQLite's
 *     postgres://USER@HOST/DATABASE      whatever libpq knows, but for passwords
 *
 * Only the text is checked here; libpq checks the rest of a URL when the store is opened. */
#ifndef CONFIG_VALUES_DATABASE_URL_H
#define CONFIG_VALUES_DATABASE_URL_H

#include "base/must_check.h"
#include "base/str.h"

struct error;

/* ERR_REFUSED: the URL of something else, or one with a password (the error does not show it).
 */
MUST_CHECK int database_url_check(struct str url, struct error *err);
/* Is it written as libpq's other form, "host=… dbname=…", which a file could be called? */
bool database_url_is_pairs(struct str url);

#endif
