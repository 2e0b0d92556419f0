#include "cli/remote.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int remote_open(const char *command, const char *url, struct client **ret)
{
    struct error err;

    if (url == NULL)
        url = getenv("SPOOLWIRE_URL");
    if (url == NULL || url[0] == '\0')
        url = "http://127.0.0.1:8400";
    int code = client_new(url, getenv("SPOOLWIRE_TOKEN"), ret, &err);
    if (code == ERR_REFUSED)
        return cli_usage_error(command, "%s", err.text);
    return code == 0 ? EXIT_OK : remote_trouble(command, "%s", err.text);
}

int remote_bad_option(const char *command, int id, char *const *argv)
{
    if (id == ':')
        return cli_usage_error(command, "%s needs a value", argv[optind - 1]);
    return cli_usage_error(command, "there is no option %s", argv[optind - 1]);
}

int remote_trouble(const char *command, const char *format, ...)
{
    va_list args;

    (void)fprintf(stderr, "spoolwire %s: ", command);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return EXIT_TROUBLE;
}

int remote_refused(const char *command, const struct client_reply *reply)
{
    struct error err;

    client_reply_detail(reply, &err);
    return remote_trouble(command, "%s", err.text);
}

void remote_job_path(struct buf *b, const char *prefix, struct str job, const char *rest)
{
    buf_str(b, str_of(prefix));
    client_put_escaped(b, job);
    buf_put(b, rest, strlen(rest) + 1);
}
