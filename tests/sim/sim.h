/* The simulated world: one server, its clients, and what can go wrong.
 *
 *     sim.c       seeds, the scheduler, the end of a run
 *     server.c    the server's parts on their fakes; turns, crashes, restarts
 *     calls.c     requests to the journal, and clients that submit, cancel, delete
 *     workers.c   pull workers: leases, batches, retries, zombies
 *     speakers.c  workers that are heard over a channel
 *     script.c    what a worker says: valid astream_events lines
 *     readers.c   readers of streams in every dialect, and what they must get
 *     gateways.c, members.c, network.c, pushes.c  several servers over one store: see
 * gateways.h model.c     what must hold after every commit and every reply
 *
 * One thread, virtual time, one seed.  Whatever is violated ends the process. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "chance.h"
#include "disk.h"
#include "fakes.h"

#include "cluster/member.h"
#include "cluster/peers.h"
#include "hub/hub.h"
#include "journal/journal.h"
#include "transport/job_stream.h"
#include "transport/traffic.h"

struct agent;
struct batch;
struct call;
struct model;
struct truth;

enum {
    MAX_AGENTS = 3,
    MAX_LOOPS = 2,
    MAX_WORKERS = 6,
    MAX_READERS = 10,
    MAX_SPEAKERS = 3,
    MAX_SUBMISSIONS = 160,
    N_THREADS = 3,
    MAX_GATEWAYS = 3,
    MAX_INSTANCES = 60, /* of gateways, from start to end */
    MAX_RUNNING = 2,    /* of the owner who has a limit */
    N_NOTES = 30,
    NOTE_BYTES = 200,
    ID_BYTES = 40
};

/* How hubs hear of commits: within the process, or as from another one, which sends no records
 * and may lose what it sends. */
enum hints { HINTS_WITH_RECORDS, HINTS_BARE, HINTS_HALF, HINTS_LOST };

/* What kind of a day it is: drawn once per seed. */
struct profile {
    unsigned n_steps;
    unsigned n_agents, n_workers, n_readers, n_loops;
    unsigned fault_permille;      /* per turn: a write fails */
    unsigned read_fault_permille; /* per turn: a read fails */
    unsigned crash_permille;      /* per step */
    unsigned jump_permille;       /* per step: time jumps */
    unsigned clock_permille;      /* per step: the wall clock is set */
    unsigned lost_permille;       /* per reply: it never arrives */
    unsigned silent_permille;     /* per worker's step */
    unsigned turn_weight, submit_weight, settle_weight;
    bool big;            /* some events fill whole pages */
    size_t page_bytes;   /* 0: as in the real world */
    enum hints hints;    /* what becomes of them */
    bool curious;        /* workers ask people again and again */
    bool pipelining;     /* workers do not wait for one reply before the next batch */
    bool has_owners;     /* every third job is somebody's who may have few at work */
    bool reuses_ids;     /* ids of deleted and expired jobs are submitted again */
    int64_t expiry_s;    /* retention */
    int64_t history_ms;  /* and after that */
    int64_t step_ms;     /* time passes by up to so much per step */
    unsigned n_gateways; /* over one store; 0: one server, alone */
    unsigned cut_permille, network_permille; /* per connection and step: it is cut; it moves */
    unsigned hint_permille;                  /* per hint: it is lost */
    unsigned freeze_permille; /* per commit: the gateway is frozen before it, or after it */
};

struct loop {
    struct http_loop http;
    struct mailbox *box;
    struct hub *hub;
    struct streams *streams;
    struct traffic traffic;
    int64_t last_tick;
    bool rechecks; /* it has begun to look at the store once a second */
};

struct server {
    bool up;
    struct journal *journal;
    struct store *store;
    struct notifier notifier;
    unsigned n_hints;
    struct hub_shared *shared;
    struct thread_pool *pool;
    struct loop loops[MAX_LOOPS];
    int64_t recovered_at;
    int64_t base; /* from the steady clock to the journal's time, without what has moved since
                   */
    int64_t failed_at;  /* the last turn that failed */
    int64_t good_since; /* turns have worked since then; -1: the last one did not */
    int64_t last_turn;
    int64_t heard_at;    /* the first turn after some that failed, or after none for a while */
    bool dying;          /* what it says is no longer heard */
    bool stopping;       /* whoever waits is told so */
    bool turn_committed; /* what was asked for; retention follows in a transaction of its own */
    unsigned turn_begins;
    unsigned turn_faults, turn_read_faults; /* before this turn */
    uint64_t n_failed_turns;                /* since it was started */
    /* Of several gateways: */
    unsigned instance;
    char id[GATEWAY_ID_BYTES], url[40];
    struct journal_link *link;
    uv_loop_t *link_loop;
    struct mailbox *served; /* of connections of others */
    struct newest *newest;
    struct watches *watches;   /* what its readers wait for */
    struct watchers *watchers; /* and those of others */
    uint64_t trusts_after;     /* no push of an older commit is heard */
    struct cluster_member *member;
    struct gateways *gateways;     /* borrowed: the member's */
    int64_t beat_at, steady_since; /* the last beat; they come in time since */
    int64_t again_at;              /* it starts, recovers or ends */
    int64_t frozen_until;
    bool is_frozen, is_in_turn, is_leaving;
    unsigned n_downs; /* how often it has ceased to write */
    bool is_closing;  /* its journal makes its last turns */
    bool is_late;     /* it was frozen in this turn */
    int64_t late_at;  /* the last such turn: what it has renewed is not known */
};

/* A gateway from its start to its end, as the database knows it. */
struct gateway_life {
    bool is_listed, is_connected;
    int64_t beat;
    struct store *ghost;           /* owned: a session without a gateway, or NULL */
    int64_t died;                  /* 0: it lives */
    int64_t gone_since, last_gone; /* the journal was told so; 0: not */
};

struct submission {
    char id[ID_BYTES], key[ID_BYTES]; /* no key: empty */
    size_t agent;
    size_t thread; /* 0: none */
    bool deleted;  /* somebody has asked for it */
};

struct sim {
    uint64_t seed;
    bool verbose;
    struct chance chance;
    struct profile p;
    int64_t now;  /* the steady clock */
    int64_t skew; /* from it to the wall clock: that is set now and then */
    unsigned step;
    struct disk *disk;
    struct server *server; /* that makes a turn, or has made the last one */
    struct server servers[MAX_GATEWAYS];
    struct journal_agent agents[MAX_AGENTS];
    struct agent *settings[MAX_AGENTS];
    struct str dead[MAX_AGENTS]; /* agents whose workers die with the server */
    size_t n_dead;
    struct model *model;
    struct call *calls; /* every one that is not freed */
    struct worker *workers;
    struct speaker *speakers;
    struct reader_sim *readers;
    struct submission submissions[MAX_SUBMISSIONS];
    size_t n_submissions;
    int64_t n_said;     /* lines over channels: their numbers only rise */
    unsigned n_answers; /* that were sent: no two are the same */
    bool draining;
    bool full;           /* the disk is, for a while */
    unsigned n_requests; /* request ids of leases */
    uint64_t n_posts;    /* requests to the journal */
    unsigned n_servers;
    struct gateway_life lives[MAX_INSTANCES];
    struct link_socket *sockets; /* owned */
    uint64_t writer_since;       /* commits before the one that writes has begun */
    uint64_t n_pushed;           /* records that were pushed to another gateway */
    bool is_calm;                /* nothing goes wrong just now, and nothing takes long */
    struct server *turning;      /* makes a turn just now; NULL: none */
    bool nested;                 /* others go on while one is in its turn */
    char notes[N_NOTES][NOTE_BYTES];
    unsigned n_notes;
};

/* Says what happens, for the report of a failure. */
void sim_note(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something does not hold: reports it and ends the process. */
_Noreturn void sim_fail(struct sim *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Now, as times are stored: see journal/clock.c. */
int64_t sim_stored_now(const struct sim *s);
/* Somebody sets the wall clock. */
void sim_set_clock(struct sim *s);

/* Do the workers of @agent die with the server? */
bool sim_is_dead(const struct sim *s, struct str agent);

/* --- server.c ----------------------------------------------------------------- */

void server_start(struct sim *s);
/* Of s->server, with a journal that forwards; it is closed. */
void server_start_parts(struct sim *s,
                        void (*forward)(void *arg, struct journal_request *chain));
/* Around turns of s->server that the journal makes by itself. */
void server_begin_turns(struct sim *s);
void server_end_turns(struct sim *s);
void server_turn(struct sim *s);
/* The power goes: at once, in the middle of a turn (before or after its commit), or by a
 * signal that gives it time.  It is started again at once. */
void server_crash(struct sim *s);
/* The last time: everything is given back. */
void server_stop(struct sim *s);
void server_pass_time(struct sim *s, int64_t ms);

/* --- calls.c ------------------------------------------------------------------ */

struct call {
    struct journal_request req;
    struct call *next;
    struct sim *sim;
    struct batch *batch; /* APPEND */
    struct submission *sub;
    struct str hash;            /* SUBMIT */
    struct journal_reply reply; /* REPLY */
    struct server *home;        /* to which it was posted */
    unsigned server;            /* its number */
    unsigned codes;             /* that the gateway which writes has answered, as bits */
    int64_t leased, attempt;    /* LEASE: the job that it has given, by its key */
    bool posted;
    bool done;   /* the answer is there, or never will be */
    bool lost;   /* there is none */
    bool orphan; /* nobody waits for it */
};

struct call *call_new(struct sim *s, enum journal_op op, const char *job);
struct str call_text(struct call *c, const char *text); /* lives as long as the call */
void call_post(struct call *c);
void call_forget(struct call *c); /* posted; freed when it is answered */
void call_free(struct call *c);
/* Nobody will answer any of those that are open. */
void calls_lose_all(struct sim *s);
/* The same of one server. */
void calls_lose(struct sim *s, const struct server *home);
void calls_sweep(struct sim *s); /* frees answered orphans */

void client_submit(struct sim *s);
void client_cancel(struct sim *s);
void client_delete(struct sim *s);
void client_answer(struct sim *s);
void client_expire(struct sim *s);
void client_pause(struct sim *s);
void client_cancel_all(struct sim *s);

/* --- workers.c ---------------------------------------------------------------- */

/* One that a client may talk to. */
struct server *sim_some_server(struct sim *s);
/* Is @number the one that @home has now? */
bool sim_is_same(const struct sim *s, const struct server *home, unsigned number);
/* Workers and clients go on. */
void sim_clients_step(struct sim *s);

/* --- gateways.c --------------------------------------------------------------- */

void gateways_start(struct sim *s);
void gateways_stop(struct sim *s);
/* Something happens to each: beats, what it forwards, who writes; and what goes wrong. */
void gateways_step(struct sim *s);
/* Whoever has an open journal makes a turn. */
void gateways_turn(struct sim *s);
/* All that is under way arrives, and somebody writes. */
void gateways_settle(struct sim *s);
/* An answer has come back from another gateway. */
void gateways_check_answer(struct call *c);
/* The same in the turn of its own one. */
void gateways_check_own(struct call *c);

/* All that is under way between gateways arrives, and time passes without a re-check.  False:
 * hints may be lost, or it does not end. */
bool pushes_settle(struct sim *s);
/* Does @g then hear of everything, on this of its loops? */
bool pushes_reach(struct sim *s, const struct server *g, unsigned loop);

void workers_init(struct sim *s);
void workers_done(struct sim *s);
/* What is said of a worker that is known to be lost. */
#define WORKER_LOST_TEXT "worker lost: its process ended"
#define WORKER_LOST_TYPE "Signal"

void worker_step(struct sim *s, size_t i);
void workers_lose_server(struct sim *s);
bool workers_idle(const struct sim *s);

/* --- speakers.c --------------------------------------------------------------- */

void speakers_init(struct sim *s);
void speakers_done(struct sim *s);
void speaker_step(struct sim *s);

/* --- readers.c ---------------------------------------------------------------- */

void readers_init(struct sim *s);
void readers_done(struct sim *s);
void reader_step(struct sim *s, size_t i);
void readers_lose_server(struct sim *s);
/* Everything that can move moves; then all must have what there is. */
void readers_settle(struct sim *s);
/* All have read what they were reading to its end, or go on until they have. */
bool readers_finished(struct sim *s);

#endif
