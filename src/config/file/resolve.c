#include "config/file/resolve.h"

#include "base/buf.h"
#include "base/error.h"
#include "config/text/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

const char *resolve_variable(char *const *envp, struct str name)
{
    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name.p, name.n) == 0 && (*envp)[name.n] == '=')
            return *envp + name.n + 1;
    return NULL;
}

/* --- files ------------------------------------------------------------------- */

static int file_failed(const char *path,
                       const char *subject,
                       int code,
                       const char *why,
                       struct error *err)
{
    return error_set(err, code, "%s%s%s: %s", subject != NULL ? subject : "",
                     subject != NULL ? ": " : "", quote_file_name(path), why);
}

static int read_all(int fd,
                    const char *path,
                    const char *subject,
                    struct buf *out,
                    struct error *err)
{
    char block[4096];

    for (;;) {
        ssize_t n = read(fd, block, sizeof(block));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_failed(path, subject, ERR_IO, strerror(errno), err);
        if (n == 0)
            return 0;
        buf_put(out, block, (size_t)n);
        if (out->error == ERR_TOO_LARGE)
            return file_failed(path, subject, out->error, "too large", err);
        if (out->error != 0)
            return file_failed(path, subject, out->error, "out of memory", err);
    }
}

int resolve_read_file(const char *path, const char *subject, struct buf *out, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return file_failed(path, subject, ERR_IO, strerror(errno), err);
    int code = read_all(fd, path, subject, out, err);
    (void)close(fd); /* only read from */
    return code;
}

/* Appends the contents of the file that a value names, without line ends at the end.  Only
 * regular files: reading a pipe or a device could block. */
static int put_file(const char *path, const char *subject, struct buf *out, struct error *err)
{
    size_t begin = out->n;
    struct stat st;

    if (stat(path, &st) != 0)
        return file_failed(path, subject, ERR_IO, strerror(errno), err);
    if (!S_ISREG(st.st_mode))
        return file_failed(path, subject, ERR_IO, "not a regular file", err);
    int code = resolve_read_file(path, subject, out, err);
    while (code == 0 && out->n > begin &&
           (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r'))
        out->n--;
    return code;
}

/* --- variables --------------------------------------------------------------- */

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0;
}

/* @text follows "${"; *@ret_n is how much of it was used. */
static int put_variable(struct str text,
                        char *const *envp,
                        const char *subject,
                        struct buf *out,
                        size_t *ret_n,
                        struct error *err)
{
    struct str name = str_head(text, str_find(text, '}'));

    if (name.n == text.n)
        return error_set(err, ERR_SYNTAX, "%s: a '${' has no '}'", subject);
    if (!is_name(name))
        return error_set(err, ERR_SYNTAX,
                         "%s: '${%s}' is not a variable's name ('$${' means a '${' as such)",
                         subject, quote(name).z);
    const char *value = resolve_variable(envp, name);
    if (value == NULL)
        return error_set(err, ERR_NOT_FOUND, "%s: the environment has no %s", subject,
                         quote(name).z);
    buf_str(out, str_of(value));
    *ret_n = name.n + 1;
    return 0;
}

static int put_variables(struct str text,
                         char *const *envp,
                         const char *subject,
                         struct buf *out,
                         struct error *err)
{
    while (text.n > 0) {
        size_t used = 0;
        struct str plain = str_head(text, str_find(text, '$'));

        buf_str(out, plain);
        text = str_skip(text, plain.n);
        if (str_starts(text, STR("$${"))) {
            buf_lit(out, "${");
            text = str_skip(text, 3);
        } else if (str_starts(text, STR("${"))) {
            text = str_skip(text, 2);
            int code = put_variable(text, envp, subject, out, &used, err);
            if (code != 0)
                return code;
            text = str_skip(text, used);
        } else {
            buf_str(out, str_head(text, 1));
            text = str_skip(text, 1);
        }
    }
    return 0;
}

/* --- both -------------------------------------------------------------------- */

/* Replaces the path that was put at @begin by the file's contents. */
static int follow_path(size_t begin, const char *subject, struct buf *out, struct error *err)
{
    char path[4096];
    struct str name = buf_since(out, begin);

    if (name.n == 0 || name.n >= sizeof(path) || str_has(name, '\0'))
        return error_set(err, ERR_IO, "%s: '@' must be followed by a file's path", subject);
    str_copy(path, name);
    path[name.n] = '\0';
    buf_cut(out, begin);
    return put_file(path, subject, out, err);
}

int resolve_value(struct str text,
                  unsigned what,
                  char *const *envp,
                  const char *subject,
                  struct buf *out,
                  struct error *err)
{
    bool at = (what & RESOLVE_FILE) != 0 && str_starts(text, STR("@"));
    bool is_file = at && !str_starts(text, STR("@@"));
    size_t begin = out->n;
    int code = 0;

    if (at)
        text = str_skip(text, 1);
    if ((what & RESOLVE_VARIABLES) != 0)
        code = put_variables(text, envp, subject, out, err);
    else
        buf_str(out, text);
    if (code == 0 && out->error != 0)
        return error_set(err, out->error, "%s: %s", subject,
                         out->error == ERR_NOMEM ? "out of memory" : "too long");
    return code == 0 && is_file ? follow_path(begin, subject, out, err) : code;
}
