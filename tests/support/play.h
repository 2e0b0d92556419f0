/* Plays a worker's bytes through the library and keeps what comes of it: the records as
 * they are stored, and their frames in every view of them.
 *
 * For tests only: without memory these functions abort. */
#ifndef SUPPORT_PLAY_H
#define SUPPORT_PLAY_H

#include "base/buf.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include "ingest/event.h"
#include "ingest/fold.h"

struct agent;
struct intake;

/* --- a list of byte strings ---------------------------------------------------------- */

struct tape {
    struct buf bytes;
    size_t *end; /* owned; where each string ends in bytes */
    size_t n;
    size_t cap;
};

void tape_init(struct tape *t);
void tape_done(struct tape *t);
void tape_clear(struct tape *t);
void tape_add(struct tape *t, struct str s);
struct str tape_at(const struct tape *t, size_t i);

/* --- views: every dialect, in the variants that differ most -------------------------- */

struct view {
    const char *name;
    const struct dialect *dialect;
    struct variant variant;
};

enum {
    VIEW_AGENT,
    VIEW_ENVELOPE,
    VIEW_MESSAGES,
    VIEW_MESSAGES_ALL, /* all modes, with subgraphs */
    VIEW_NODES,
    VIEW_AIQ,
    VIEW_RAW,
    VIEW_STORED,
    N_VIEWS
};

extern const struct view views[N_VIEWS];

/* Appends the frames of @rec as SSE. */
void view_put(const struct view *view,
              const struct record *rec,
              struct frames *frames,
              struct buf *out);

/* --- a job --------------------------------------------------------------------------- */

enum { PLAY_TS = 1771237800 }; /* seconds since 1970: when a job begins */

struct play;
/* Sees each record while it is live; the frames of VIEW i are in frames_of[i]. */
typedef void (*play_record_cb)(void *arg, const struct record *rec);

struct play_options {
    struct str agent; /* default: triage */
    struct str job;   /* default: job-1 */
    size_t field_limit;
    enum event_source from;
    bool render; /* keep frames too */
    play_record_cb record;
    void *arg;
};

struct play {
    struct play_options opt;
    struct agent *agent;
    struct intake *intake;
    struct fold *fold;
    struct frames frames;
    struct buf tmp;
    struct tape stored;             /* one for each record */
    struct tape frames_of[N_VIEWS]; /* one for each record, all its frames as SSE */
    uint64_t n_bad;                 /* lines that were refused */
    char why[256];                  /* the last of them */
};

void play_init(struct play *p, struct play_options options);
void play_done(struct play *p);

/* At @ms after the job's beginning. */
int play_feed(struct play *p, struct str bytes, int64_t ms);
/* One message of a recording: bytes, or a line that begins with '!' and says what the server
 * does: !attempt, !cancel, !pause, !resume. */
int play_step(struct play *p, struct str message, int64_t ms);
int play_end(struct play *p, int64_t ms);
int play_finish(struct play *p, enum job_end end, struct str error, int64_t ms);

/* --- stored records, read back ------------------------------------------------------- */

struct loaded {
    struct record **rec; /* owned, each; with their heads set */
    size_t n;
};

/* Reads what @stored holds.  NULL, or what is wrong with it. */
const char *loaded_init(struct loaded *l, const struct tape *stored);
void loaded_done(struct loaded *l);

/* --- files --------------------------------------------------------------------------- */

/* A worker's bytes, and where they may be cut without cutting a message in two. */
struct recording {
    const char *path; /* borrowed */
    char *bytes;      /* owned */
    size_t n;
    size_t *cut; /* owned; cut[i] is where message i ends */
    size_t n_cuts;
};

/* False when the file cannot be read. */
bool recording_open(struct recording *r, const char *path);
/* A copy of @bytes, under a name. */
void recording_init(struct recording *r, const char *name, struct str bytes);
void recording_done(struct recording *r);
/* Message @i. */
struct str recording_message(const struct recording *r, size_t i);

/* JSON that can be written in C: every ' becomes a ", and every ` a '. */
struct str quoted_text(struct buf *out, const char *text);

#endif
