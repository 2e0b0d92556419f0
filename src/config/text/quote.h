/* Quotes pieces of a file or of the command line for an error message. */
#ifndef CONFIG_TEXT_QUOTE_H
#define CONFIG_TEXT_QUOTE_H

#include "base/str.h"

enum { QUOTE_MAX = 40, QUOTE_MAX_FILE_NAME = 80 };

/* Short, and without control characters. */
struct quoted {
    char z[QUOTE_MAX + 4];
};

struct quoted quote(struct str s);

/* The end of a long path: it tells more than the beginning. */
const char *quote_file_name(const char *file_name);

#endif
