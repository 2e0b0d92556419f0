/* Files that are embedded in the program and unpacked when they are needed: the kits
 * that run graphs, and the projects that `init` writes. */
#ifndef CLI_PARCEL_H
#define CLI_PARCEL_H

#include "base/str.h"

struct error;

struct parcel_file {
    const char *path; /* "javascript/src/index.js" */
    struct str bytes;
};

/* Made by scripts/embed-tree; ends with one without a path. */
extern const struct parcel_file parcel_files[];

/* Writes what is below @name ("javascript") into @folder, which need not be there.  An
 * identical file is left alone; any other is replaced, or refused (ERR_REFUSED) when
 * @is_fresh.  ERR_IO, ERR_TOO_LARGE (a path). */
int parcel_unpack(const char *name, const char *folder, bool is_fresh, struct error *err);

/* Makes a folder and those above it. */
int parcel_make_folder(const char *path, struct error *err);
/* One file, as above; another process never sees half of it. */
int parcel_write(const char *path, struct str bytes, struct error *err);

#endif
