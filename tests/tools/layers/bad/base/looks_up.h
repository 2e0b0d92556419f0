/* base/ is below everything. */
#include "record/record.h"
