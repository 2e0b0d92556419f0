/* A dialect knows records, not how they were made. */
#include "base/buf.h"
#include "dialect/dialect.h"
#include "ingest/fold.h"
