/* May include everybody, but not what a room keeps to itself. */
#include "store/store.h"
#include "store/sqlite/sqlite.h"
