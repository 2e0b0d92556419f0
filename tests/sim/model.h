/* The model: what is true, taken from what was committed, and what therefore must hold. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim.h"

#include "dialect/dialect.h"
#include "framing/framing.h"
#include "hub/stream_format.h"

/* One batch of a worker, however often it is sent.  Its first and its last line are
 * markers, so that the records say whether it is there, whole, and how often. */
struct batch {
    struct batch *next;
    uint64_t number;
    char job[ID_BYTES];
    int64_t key, attempt, seq;
    struct buf bytes;
    unsigned n_posts;
    bool has_end;          /* a word on the job's end follows its last marker */
    unsigned begun, ended; /* markers in committed records */
    uint64_t commit;       /* that stored it */
};

/* The one true stream of a job in one way. */
struct canon {
    struct canon *next;
    const struct stream_format *format;
    struct buf bytes;
    struct canon_frame {
        struct cursor place; /* its id */
        uint32_t k;
        size_t end;
    } * frames;
    size_t n, cap;
    size_t n_records; /* rendered so far */
};

/* What is known of a job from its commits. */
struct truth {
    struct truth *next;
    struct disk_job *job;
    struct record **recs; /* refs, with their heads */
    uint64_t *commits;    /* that stored each of them */
    size_t n, cap;
    struct canon *canons;
    const struct journal_agent *agent;
    enum job_state state, state_before; /* before the last commit that changed it */
    int64_t attempt, attempt_before;
    uint64_t changed, created, gone; /* commits; 0: not */
    int64_t fence;                   /* no lower attempt may write any more */
    uint64_t given;                  /* attempts that were leased, as bits */
    uint64_t last_number;            /* of lease_attempt, by this server */
    char request[ID_BYTES];          /* what request_attempt was leased with, or empty */
    int64_t request_attempt;
    int64_t lease_attempt, leased_until; /* what a worker was promised */
    int64_t n_lost;
    int64_t running_since, waiting_since;
    bool ended;
    uint64_t first_seq; /* the oldest record that retention has left */
};

struct model {
    struct sim *sim;
    uint64_t n_commits;
    struct truth *truths;  /* newest first */
    struct batch *batches; /* newest first */
    uint64_t n_batches;
    struct frames frames;
    uint64_t n_reads; /* frames that readers have checked */
    size_t n_questions;
};

struct model *model_new(struct sim *s);
void model_free(struct model *m);

/* For disk_new. */
void model_committed(void *model, struct disk_job *dirty);
/* Before a request's owner learns of it. */
void model_check_reply(struct call *c);
/* After every turn. */
void model_check_turn(struct sim *s);
/* Another server numbers its leases by itself. */
void model_forget_numbers(struct sim *s);
/* At the end: what can be rebuilt is rebuilt. */
void model_check_folds(struct sim *s);

struct batch *model_batch(struct model *m);
struct truth *model_truth(struct model *m, struct str id); /* the newest of that id */
bool truth_is_final(const struct truth *t);
const struct canon *truth_canon(struct model *m,
                                struct truth *t,
                                const struct stream_format *format);
/* The first frame after @after. */
size_t canon_after(const struct canon *c, struct cursor after);
struct str canon_frame(const struct canon *c, size_t i);

#endif
