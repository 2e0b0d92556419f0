/* The demo agent: a scripted triage run that emits what a LangGraph graph in Python does.
 *
 * One job in, `astream_events` lines out through a sink.  The output depends on the job and its
 * options alone: no clock, no randomness.  The sink decides where lines go and how long a pause
 * takes (agent.c: standard output; pool.c: the same for several jobs at a time; pull.c: the
 * worker API). */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct buf;
struct client;

struct demo_options {
    uint64_t seed;
    double speed;        /* 1: about 40 tokens a second; 0: flat out */
    uint64_t length;     /* tokens in all, about; 0: as the script has them */
    const char *fail_at; /* a node's name, or NULL; never freed */
    unsigned fan_out;    /* investigators at once, by Send; 1: one, without */
    bool question;       /* ask the human? */
    double ask_seconds;  /* until the default answer is taken; below 0: end with the question */
};

void demo_options_init(struct demo_options *o);

/* Sets one by its name in the input ("fail_at") from its text.  ERR_NOT_FOUND: there is no
 * such option; ERR_TYPE: not a value for it. */
int demo_options_set(struct demo_options *o,
                     struct str name,
                     struct str value,
                     struct error *err);

struct demo_job {
    struct arena mem; /* owned; the texts below */
    struct str id;
    struct str lease;  /* the token that a pull worker's requests carry; or absent */
    struct str thread; /* the id when none was given */
    struct str issue;
    struct str resume; /* JSON, or absent: from the beginning */
    int64_t paused_at; /* the step after which it was paused, to go on from; 0: it was not */
    int64_t attempt;
    int64_t heartbeat_ms; /* how often the server wants to hear from a pull worker */
    struct demo_options options;
};

/* @options are what the input may change. */
void demo_job_init(struct demo_job *job, const struct demo_options *options);
void demo_job_done(struct demo_job *job);

/* Reads {"job","attempt","input","thread","resume",…}: the line on standard input, or the
 * answer to a lease.  On an error id and attempt are set if the line had them. */
int demo_job_read(struct demo_job *job, struct str line, struct error *err);

struct demo_sink {
    /* Takes one line, with its '\n'.  Anything but 0 stops the run. */
    int (*line)(struct demo_sink *sink, struct str line);
    /* Waits until @us have passed since the last pause ended. */
    int (*pause)(struct demo_sink *sink, int64_t us);
    /* Shall the run pause at the next step? */
    bool (*is_to_rest)(struct demo_sink *sink);
};

enum demo_outcome {
    DEMO_SUCCEEDED,
    DEMO_INTERRUPTED, /* the question is open, and somebody else will answer it */
    DEMO_PAUSED,      /* between two steps, as it was asked to */
    DEMO_RAISED,      /* the node that fail_at names has failed */
    DEMO_STOPPED,     /* by the sink */
    DEMO_NO_MEMORY
};

/* The error of DEMO_RAISED, in pull mode and on standard error. */
#define DEMO_ERROR_TYPE "RuntimeError"
#define DEMO_ERROR_TEXT "%s was told to fail (fail_at)"

/* How the job ended, in the form of the worker protocol.  @error and @type are its failure;
 * NULL: taken from the outcome. */
void demo_put_finish(struct buf *b,
                     const struct demo_job *job,
                     enum demo_outcome outcome,
                     const char *error,
                     const char *type);

enum demo_outcome demo_play(const struct demo_job *job, struct demo_sink *sink);

/* The step after which a job was paused that goes on without an answer, by its log; 0: from
 * the beginning.  @client NULL: that of the server in the environment. */
int64_t demo_paused_at(struct client *client, const struct demo_job *job);

static inline int64_t demo_now_us(void)
{
    return (int64_t)clock_monotonic_us();
}

/* Works on the jobs that come as lines on standard input, all at the same time, until the input
 * ends. */
int demo_pool(const struct demo_options *defaults);

/* Works on jobs of the server at @url until @max_jobs are done (0: for ever). */
struct demo_pull_options {
    const char *url;
    const char *agent;
    const char *worker;
    unsigned long max_jobs;
    bool is_once;        /* do not wait for a job, and exit with 75 if there is none */
    unsigned long batch; /* events */
    struct demo_options defaults;
};
int demo_pull(const struct demo_pull_options *options);

#endif
