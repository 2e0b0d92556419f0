#include "api/ops/process.h"

#include "api/ops/expose.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct process_figures {
    uint64_t cpu_ticks, start_ticks; /* since the machine started */
    uint64_t virtual_bytes, resident_pages, threads;
};

/* Reads /proc/self/stat; fields are counted after the last ')', because the program's name
 * before it may contain anything. */
static bool read_stat(struct process_figures *ret)
{
    char text[1024];
    unsigned long long user, system, threads, start, size, resident;
    FILE *file = fopen("/proc/self/stat", "re");
    size_t n = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (file != NULL)
        (void)fclose(file); /* was only read */
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    if (rest == NULL || sscanf(rest,
                               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d "
                               "%*d %*d %*d %llu %*d %llu %llu %llu",
                               &user, &system, &threads, &start, &size, &resident) != 6)
        return false;
    *ret = (struct process_figures){ user + system, start, size, resident, threads };
    return true;
}

static uint64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        (void)closedir(dir);  /* was only read */
    return n > 3 ? n - 3 : 0; /* ".", ".." and this one */
}

/* When the machine started, in microseconds since 1970. */
static uint64_t boot_us(void)
{
    char line[256];
    unsigned long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "btime %llu", &seconds) == 1)
            break;
    if (file != NULL)
        (void)fclose(file); /* was only read */
    return seconds * 1000000u;
}

static uint64_t ticks_us(uint64_t ticks)
{
    return ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

void process_expose(struct expose *e)
{
    struct process_figures p;
    struct rlimit files;

    if (read_stat(&p)) {
        expose_family(e, "process_cpu_seconds_total", "counter", "Processor time used.");
        expose_seconds(e, "", ticks_us(p.cpu_ticks));
        expose_family(e, "process_start_time_seconds", "gauge", "Start, since 1970.");
        expose_seconds(e, "", boot_us() + ticks_us(p.start_ticks));
        expose_gauge(e, "process_virtual_memory_bytes", p.virtual_bytes, "Address space.");
        expose_gauge(e, "process_resident_memory_bytes",
                     p.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE), "Memory in use.");
        expose_gauge(e, "process_threads", p.threads, "Threads.");
    }
    expose_gauge(e, "process_open_fds", count_fds(), "Open file descriptors.");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        expose_gauge(e, "process_max_fds", files.rlim_cur, "The most of them.");
}
