/* Runs a fuzz target over files, or over the files of a folder, without libFuzzer.
 *
 * So the corpus is an ordinary test with every compiler and under every checker.  Each
 * input gets a block of exactly its size, so that reading past its end is noticed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size < 0) {
        perror(path);
        if (file != NULL)
            (void)fclose(file); /* only read from */
        return 1;
    }
    rewind(file);
    /* malloc(0) may be NULL; a target must cope with an empty input, not with that. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data != NULL ? fread(data, 1, (size_t)size, file) : 0;
    (void)fclose(file); /* only read from */
    if (data == NULL || got != (size_t)size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        return 1;
    }
    /* Said before, so that the last line names the input that crashed. */
    fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, got); /* always 0 */
    free(data);
    return 0;
}

static int replay_folder(const char *folder, DIR *dir)
{
    const struct dirent *entry;
    char path[4096];
    int n_files = 0;

    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        int n = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof(path) || replay_file(path) != 0)
            return 1;
        n_files++;
    }
    if (n_files == 0) {
        fprintf(stderr, "%s: no inputs, so nothing was tested\n", folder);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir == NULL) {
            failed |= replay_file(argv[i]);
            continue;
        }
        failed |= replay_folder(argv[i], dir);
        (void)closedir(dir); /* only read from */
    }
    return failed;
}
