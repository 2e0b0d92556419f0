/* A store's backend: its operations, as two const tables of functions.
 *
 * Callers include store.h, whose functions call through the tables (store.c).  A backend embeds
 * `struct store` as the first member of its own struct and fills in the tables.  The contract
 * of an operation is at its prototype in store.h, and in checkpoints.h, items.h, assistants.h,
 * crons.h and webhooks.h. */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "base/thread_owner.h"
#include "store/assistants.h"
#include "store/batch.h"
#include "store/breadcrumb.h"
#include "store/checkpoints.h"
#include "store/copy.h"
#include "store/crons.h"
#include "store/items.h"
#include "store/read.h"
#include "store/store.h"
#include "store/webhooks.h"

/* The operations, by subject.  OP is applied to the name of a function after `store_`. */
/* clang-format off */
#define STORE_JOB_OPS(OP)                                                              \
    OP(close) OP(begin) OP(read) OP(flush) OP(commit) OP(rollback) OP(compact)         \
    OP(take_keys) OP(job_insert) OP(job_update) OP(job_published) OP(job_delete)       \
    OP(suspect) OP(append) OP(expire) OP(note_time) OP(move_times) OP(time_noted)                  \
    OP(job_get) OP(job_by_idempotency) OP(jobs) OP(open_jobs) OP(unpublished_jobs)     \
    OP(jobs_set_aside) OP(records) OP(record) OP(stats)
#define STORE_QUESTION_OPS(OP)                                                         \
    OP(question_insert) OP(question_answer) OP(questions_resumed) OP(questions)        \
    OP(open_questions)
#define STORE_THREAD_OPS(OP)                                                           \
    OP(thread_insert) OP(thread_update) OP(thread_values) OP(thread_delete)            \
    OP(thread_get) OP(thread_by_key) OP(threads) OP(threads_expired) OP(thread_jobs)   \
    OP(run_insert) OP(run_read) OP(run_get)
#define STORE_CHECKPOINT_OPS(OP)                                                       \
    OP(checkpoint_put) OP(channel_put) OP(write_put) OP(state_put)                     \
    OP(thread_forget) OP(run_forget) OP(thread_thin) OP(thread_copy)                   \
    OP(checkpoints) OP(channels) OP(writes) OP(states) OP(states_after)
#define STORE_ITEM_OPS(OP)                                                             \
    OP(item_put) OP(item_index) OP(item_delete) OP(item_touch)                         \
    OP(item) OP(items) OP(items_indexed) OP(namespaces)
#define STORE_ASSISTANT_OPS(OP)                                                        \
    OP(assistant_insert) OP(assistant_choose) OP(assistant_delete)                     \
    OP(assistants) OP(assistant)
#define STORE_CRON_OPS(OP)                                                             \
    OP(cron_insert) OP(cron_update) OP(cron_tick) OP(cron_delete) OP(crons_forget)     \
    OP(cron) OP(crons) OP(crons_due)
#define STORE_WEBHOOK_OPS(OP)                                                          \
    OP(webhook_insert) OP(webhook_end) OP(webhook_move) OP(webhook_forget)             \
    OP(webhook) OP(webhooks) OP(webhooks_due) OP(webhooks_count)
#define STORE_TOKEN_OPS(OP)                                                            \
    OP(token_insert) OP(token_revoke) OP(session_delete) OP(sessions_expire)           \
    OP(tokens) OP(token_changes) OP(tokens_see) OP(tokens_seen) OP(secret)
#define STORE_OPS(OP)                                                                  \
    STORE_JOB_OPS(OP) STORE_QUESTION_OPS(OP) STORE_THREAD_OPS(OP)                      \
    STORE_CHECKPOINT_OPS(OP) STORE_ITEM_OPS(OP) STORE_ASSISTANT_OPS(OP)                \
    STORE_CRON_OPS(OP) STORE_WEBHOOK_OPS(OP) STORE_TOKEN_OPS(OP)

/* Administration of the database.  A backend may leave out some of these. */
#define STORE_ADMIN(OP)                                                                \
    OP(check) OP(backup) OP(vacuum) OP(is_lost) OP(disk) OP(identity) OP(breadcrumb)   \
    OP(dump) OP(load) OP(last_key) OP(skip_keys)
/* The same for a database that several gateways share. */
#define STORE_SHARED(OP) OP(operation_put) OP(operation) OP(shards) OP(make_shards) OP(hurry) \
    OP(unmigrated) OP(left_behind) OP(name_suspect)
/* clang-format on */

#define STORE_MEMBER(name) __typeof__(store_##name) *name;

struct store_ops {
    STORE_OPS(STORE_MEMBER)
    uint64_t max_seq; /* the highest number of a job's record */
    bool is_remote;   /* behind a network: a call takes a round trip */
};

struct store_admin {
    STORE_ADMIN(STORE_MEMBER)
    STORE_SHARED(STORE_MEMBER)
};

/* For the sources and tables of a backend: the prototypes `prefix_name`, and `.name =
 * prefix_name`. */
#define STORE_DECLARE(prefix, name) __typeof__(store_##name) prefix##_##name;
#define STORE_ENTRY(prefix, name)   .name = prefix##_##name,

/* The purpose of a store: store_open, store_open_reader, store_open_beside. */
enum store_role { STORE_WRITER, STORE_READER, STORE_BESIDE };

/* A backend, as listed in list.h. */
struct store_backend {
    const char *scheme; /* of its URLs */
    const char *form;   /* the format of its URLs, for messages */
    bool is_shared;     /* several gateways may use a database at a time (gateways.h) */
    /* @place is the part after the scheme and its colon. */
    int (*open)(const char *place,
                const struct store_options *options,
                enum store_role role,
                struct store **ret,
                struct error *err);
    /* For store_examine(); NULL: opening the database is the whole check. */
    void (*examine)(const struct store_options *options, store_examine_cb cb, void *arg);
};

/* The first member of every backend's own struct. */
struct store {
    const struct store_ops *ops;
    const struct store_admin *admin; /* NULL: not supported */
    struct thread_owner owner;
    uint64_t era;       /* see era.h */
    bool lists_by_time; /* see store_lists_by_time() */
};

#endif
