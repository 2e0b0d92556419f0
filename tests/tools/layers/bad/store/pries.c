/* Not even from the folder around it. */
#include "store/sqlite/sqlite.h"
