/* A folder that nobody gave a place. */
#include "base/buf.h"
