/* What names the database: `store` and `data` of the settings.
 *
 *     FILE, sqlite:FILE                  a file of SQLite's
 *     postgres://USER@HOST/DATABASE      whatever libpq knows, but for passwords
 *
 * Only what can be seen in the text is checked here; whether libpq can make something of a URL
 * is seen when the store is opened. */
#ifndef CONFIG_VALUES_DATABASE_URL_H
#define CONFIG_VALUES_DATABASE_URL_H

#include "base/must_check.h"
#include "base/str.h"

struct error;

/* ERR_REFUSED: the URL of something else, or one with a password, which no text of ours shows.
 */
MUST_CHECK int database_url_check(struct str url, struct error *err);
/* Is it written as libpq's other form, "host=… dbname=…", which a file could be called? */
bool database_url_is_pairs(struct str url);

#endif
