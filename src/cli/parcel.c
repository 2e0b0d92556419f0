#include "cli/parcel.h"

#include "base/buf.h"
#include "base/error.h"

#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

int parcel_make_folder(const char *path, struct error *err)
{
    char part[MAX_PATH];
    size_t n = strlen(path);

    if (n >= sizeof(part))
        return error_set(err, ERR_TOO_LARGE, "a path of more than %d bytes", MAX_PATH);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return error_set(err, ERR_IO, "%s: %s", part, strerror(errno));
        part[i] = i < n ? '/' : '\0';
    }
    return 0;
}

static bool has_same(const char *path, struct str bytes)
{
    FILE *in = fopen(path, "re");
    char part[4096];
    size_t at = 0, n;

    if (in == NULL)
        return false;
    while ((n = fread(part, 1, sizeof(part), in)) > 0 && bytes.n - at >= n &&
           memcmp(bytes.p + at, part, n) == 0)
        at += n;
    (void)fclose(in); /* was only read */
    return n == 0 && at == bytes.n;
}

int parcel_write(const char *path, struct str bytes, struct error *err)
{
    char temporary[MAX_PATH];

    if (has_same(path, bytes))
        return 0;
    int n = snprintf(temporary, sizeof(temporary), "%s.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return error_set(err, ERR_TOO_LARGE, "a path of more than %d bytes", MAX_PATH);
    FILE *out = fopen(temporary, "we");
    bool ok = out != NULL && fwrite(bytes.p, 1, bytes.n, out) == bytes.n;
    if (out != NULL)
        ok = fclose(out) == 0 && ok;
    if (ok && rename(temporary, path) == 0)
        return 0;
    int why = errno;
    (void)unlink(temporary); /* it may not be there */
    return error_set(err, ERR_IO, "%s: %s", path, strerror(why));
}

/* The part of @path below @name, or NULL. */
static const char *below(const char *path, const char *name)
{
    size_t n = strlen(name);

    return strncmp(path, name, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int unpack_one(const struct parcel_file *file,
                      const char *relative,
                      const char *folder,
                      bool is_fresh,
                      struct error *err)
{
    char path[MAX_PATH];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, relative);

    if (n < 0 || (size_t)n >= sizeof(path))
        return error_set(err, ERR_TOO_LARGE, "a path of more than %d bytes", MAX_PATH);
    if (is_fresh && access(path, F_OK) == 0)
        return error_set(err, ERR_REFUSED, "%s is there already", path);
    char *slash = strrchr(path, '/'); /* there is one */
    *slash = '\0';
    int code = parcel_make_folder(path, err);
    *slash = '/';
    return code == 0 ? parcel_write(path, file->bytes, err) : code;
}

int parcel_unpack(const char *name, const char *folder, bool is_fresh, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && parcel_files[i].path != NULL; i++) {
        const char *relative = below(parcel_files[i].path, name);
        if (relative != NULL)
            code = unpack_one(&parcel_files[i], relative, folder, is_fresh, err);
    }
    return code;
}
