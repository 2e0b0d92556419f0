/* A crash on demand, for tests of crash recovery.
 *
 * Builds with tests (-Dtests=enabled) have crash_test.c: folding ends the process when the
 * bytes contain the text of SPOOLWIRE_TEST_CRASH.  All others have crash_never.c. */
#ifndef JOURNAL_CRASH_H
#define JOURNAL_CRASH_H

#include "base/str.h"

void crash_if_told(struct str bytes);

#endif
