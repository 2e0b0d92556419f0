#include "agents/process/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

size_t resident_bytes(pid_t pid)
{
    char path[32], text[128];
    unsigned long pages = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/statm", (long)pid); /* fits */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd); /* nothing was written */
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %lu", &pages) != 1)
        return 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
