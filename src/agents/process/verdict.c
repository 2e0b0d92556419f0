#include "agents/process/verdict.h"

#include "agents/tail.h"
#include "agents/traceback.h"
#include "base/json.h"
#include "base/text_format.h"

#include <signal.h>

static const char *signal_name(int signal)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
        [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
        [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL",
        [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
        [SIGXCPU] = "SIGXCPU", [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
    };
    const char *name = (size_t)signal < sizeof(names) / sizeof(names[0]) ? names[signal] : NULL;

    return name != NULL ? name : "unnamed";
}

static void put_signal(struct buf *out, int signal)
{
    text_format(out, "killed by signal %d (%s)", signal, signal_name(signal));
}

static void put_status(struct buf *out, int64_t status)
{
    text_format(out, "exit status %d", status);
}

/* Interpreters exit with this status after an uncaught exception. */
enum { STATUS_UNCAUGHT = 1 };

struct str verdict_put(struct buf *out,
                       int64_t status,
                       int signal,
                       const struct tail *tail,
                       bool *ret_raised)
{
    struct str last = tail_last(tail);
    struct exception e;

    *ret_raised =
        signal == 0 && status == STATUS_UNCAUGHT && traceback_read(tail_text(tail), &e);
    if (signal != 0)
        put_signal(out, signal);
    else if (*ret_raised)
        buf_str(out, e.message);
    else if (last.p != NULL)
        buf_str(out, last);
    else
        put_status(out, status);
    if (*ret_raised && !str_absent(e.type))
        return e.type;
    return signal != 0 ? STR("Signal") : STR("ExitStatus");
}

void verdict_put_details(struct buf *out, int64_t status, int signal, const struct tail *tail)
{
    struct str text = tail_text(tail);

    while (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    json_begin(out);
    if (signal != 0)
        json_add_int(out, "signal", signal);
    else
        json_add_int(out, "exit_status", status);
    if (text.n > 0)
        json_add_str(out, "stderr", text);
    json_end(out);
}
