/* Both hide which folder they mean. */
#include "../ingest/fold.h"
#include "record.h"
