#include "config/text/quote.h"

/* Not the first byte of a code point? */
static bool is_inside(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

struct quoted quote(struct str s)
{
    struct quoted q;
    size_t n = s.n;

    if (n > QUOTE_MAX) {
        n = QUOTE_MAX;
        while (n > 0 && is_inside(s.p[n]))
            n--;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        /* C1 controls are C2 80 .. C2 9F. */
        bool c1 = c >= 0x80 && c < 0xA0 && i > 0 && (unsigned char)s.p[i - 1] == 0xC2;
        q.z[i] = c < 0x20 || c == 0x7F || c1 ? '?' : s.p[i];
        if (c1)
            q.z[i - 1] = '?';
    }
    memcpy(q.z + n, "...", 4);
    if (n == s.n)
        q.z[n] = '\0';
    return q;
}

const char *quote_file_name(const char *file_name)
{
    size_t n = strlen(file_name);

    if (n <= QUOTE_MAX_FILE_NAME)
        return file_name;
    file_name += n - QUOTE_MAX_FILE_NAME;
    while (is_inside(*file_name))
        file_name++;
    return file_name;
}
