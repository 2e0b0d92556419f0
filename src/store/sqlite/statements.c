/* Every statement, prepared once when the store is opened.
 *
 * INDEXED BY pins the query plans that matter: if such a plan becomes impossible, that is an
 * error at start-up, instead of a server that gets slower as its file grows.
 *
 * Three layouts of the records table were measured: microseconds of CPU time per row of 200
 * bytes, with pages of 4 KiB and all commits and checkpoints, on a file in memory (a disk
 * delays all three alike), SQLite 3.40:
 *
 *                                      one job            1000 jobs, row by row
 *     rows in a commit           1    10   100  1000       1    10   100  1000
 *     WITHOUT ROWID (job, seq)  12.9  3.6  1.8  1.7       16.3  8.8  8.7  8.4
 *     row id of job and seq      9.4  2.5  1.2  1.2       15.5  8.2  8.8  8.0
 *     row id, index (job, seq)  13.4  3.3  1.9  1.9       13.5  4.9  3.9  3.3
 *
 * The third layout is faster with many jobs only while its index is small: with 1000 rows in
 * each of the 1000, a commit touches as many pages of the index as it would of the table (43
 * 000 rows/s against 45 000 of the second), and a replay finds every row in another page (0.18
 * million rows/s against 1.85).  The first keeps only 1 KB of a record in its page, and the
 * second 4 KB.  So the second was chosen.  Pages of 8 KiB took up to 11 % more with many jobs,
 * and up to 21 % less with one job of 1500-byte records: no reason to leave 4 KiB. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

#define TEXTS_KEPT_BYTES ((size_t)1024 * 1024)

#define NAME(column) ", " #column
#define MARK(column) ", ?"
#define SET(column)  ", " #column "=?"
#define SAME(column) " AND " #column "=?"

/* clang-format off */
#define ALL_NAMES JOB_FIXED(NAME, NAME) JOB_INDEXED(NAME, NAME) JOB_PLAIN(NAME, NAME)
#define ALL_MARKS JOB_FIXED(MARK, MARK) JOB_INDEXED(MARK, MARK) JOB_PLAIN(MARK, MARK)
#define SET_PLAIN "UPDATE jobs SET seq=?, producer_seq=?" JOB_PLAIN(SET, SET)
#define SET_INDEXED JOB_INDEXED(SET, SET)
#define SAME_INDEXED JOB_INDEXED(SAME, SAME)
/* A job's row is stored less often than its records: seq and batch come from the records
 * (store_append). */
#define RUNS_SINCE "FROM records WHERE id BETWEEN (key << 30) + seq + 1 AND (key << 30) + 1073741823"
#define SELECT_JOBS                                                                    \
    "SELECT key, (SELECT input FROM inputs WHERE job = key),"                          \
    " ifnull((SELECT max(id) & 1073741823 " RUNS_SINCE "), seq), first_seq,"           \
    " ifnull((SELECT batch " RUNS_SINCE " ORDER BY id DESC LIMIT 1), producer_seq)," \
    " (SELECT crashed FROM suspects WHERE job = key),"                                 \
    " (SELECT set_aside FROM suspects WHERE job = key)" ALL_NAMES                      \
    " FROM jobs "
#define IS_FINAL "WHERE state IN ('succeeded', 'failed', 'cancelled') "
#define BEFORE                                                                         \
    "AND finished + expiry_seconds * 1000 < ? "                                        \
    "ORDER BY finished + expiry_seconds * 1000 LIMIT 1"
/* clang-format on */

/* In the order of token_of() and sqlite_token_insert(). */
#define TOKEN_COLUMNS                                                 \
    "id, parent, hash, name, scopes, owner, jobs, agents, max_jobs, " \
    "max_queued, max_running, max_streams, max_events, created, expires, revoked"

/* In the order of question_of(). */
#define SELECT_QUESTIONS                                                              \
    "SELECT q.job, q.seq, q.id, q.attempt, q.asked, q.expires, q.on_expiry, "         \
    "q.fallback, q.schema, q.question, q.context, q.value, q.answer, q.answered_by, " \
    "q.answered, q.resumed, j.id, j.agent, j.owner FROM questions q "

/* Columns of the tables of checkpoints after `thread`, in the order of the functions that put
 * them. */
#define CHECKPOINT_COLUMNS "ns, id, parent, type, data, metadata, versions"
#define CHANNEL_COLUMNS    "ns, channel, version, type, data, large"
#define WRITE_COLUMNS      "ns, checkpoint, task, idx, path, channel, type, data, run"
#define STATE_COLUMNS      "ns, id, state, run, large"
/* The bytes of a row: a large value, or those that are in the row. */
#define VALUE(of, column) \
    "ifnull((SELECT v.data FROM large_values v WHERE v.id = " of ".large), " column ")"
#define COPY(table, columns)                                                       \
    "INSERT INTO " table "(thread, " columns ") SELECT ?, " columns " FROM " table \
    " WHERE thread = ? ORDER BY rowid"
#define WRITE "INTO run_writes(thread, " WRITE_COLUMNS ") "
#define LAST_WRITE                                                          \
    "w.rowid = (SELECT max(rowid) FROM run_writes WHERE thread = w.thread " \
    "AND ns = w.ns AND checkpoint = w.checkpoint AND task = w.task AND "    \
    "idx = w.idx)"
#define SELECT_CHECKPOINTS "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints "
/* The last state of each checkpoint. */
#define SELECT_STATES                                                                 \
    "SELECT ns, id, parent, metadata, " VALUE(                                        \
        "states",                                                                     \
        "state") " "                                                                  \
                 "FROM run_states states JOIN checkpoints USING (thread, ns, id) "    \
                 "WHERE states.rowid = (SELECT max(s.rowid) FROM run_states s WHERE " \
                 "s.thread = states.thread AND s.ns = states.ns AND s.id = states.id) "

/* In the order of each() and sqlite_assistant_insert(). */
#define ASSISTANT_COLUMNS                                                                \
    "id, version, owner, graph, name, description, config, context, metadata, created, " \
    "updated"
#define SELECT_ASSISTANTS "SELECT " ASSISTANT_COLUMNS " FROM assistants "
/* In the order of each() and sqlite_cron_insert(). */
#define CRON_COLUMNS                                                                  \
    "id, owner, assistant, thread, schedule, timezone, on_completed, payload, "       \
    "metadata, end_time, next, enabled, max_jobs, max_queued, max_running, created, " \
    "updated, moved"
#define SELECT_CRONS "SELECT " CRON_COLUMNS " FROM crons "
/* In the order of webhooks.c: the texts that lists lack, and the rest. */
#define WEBHOOK_COLUMNS(run, output)                                                   \
    "id, job, thread, owner, url, " run ", status, error, " output ", state, reason, " \
    "created, started, ended, since, due, tried, attempts, code, version, expires, n "
#define SELECT_WEBHOOKS      "SELECT " WEBHOOK_COLUMNS("run", "output") "FROM webhooks w "
#define SELECT_WEBHOOK_HEADS "SELECT " WEBHOOK_COLUMNS("NULL", "NULL") "FROM webhooks "
#define SELECT_ITEMS                                                        \
    "SELECT namespace, key, value, created, updated, ttl_ms, expires FROM " \
    "items WHERE owner = ? "

static const char *const sql[STATEMENT_MAX] = {
    [STATEMENT_JOB_BY_ID] = SELECT_JOBS "WHERE id = ?",
    [STATEMENT_JOB_BY_IDEMPOTENCY] = SELECT_JOBS "WHERE idempotency_key = ?",
    /* All four: an upper limit of the key, then the filters. */
    [STATEMENT_JOBS] = SELECT_JOBS "WHERE key < ? ORDER BY key DESC",
    [STATEMENT_JOBS_OF_STATE] =
        SELECT_JOBS "INDEXED BY jobs_state WHERE key < ? AND state = ? ORDER BY key DESC",
    [STATEMENT_JOBS_OF_AGENT] =
        SELECT_JOBS "INDEXED BY jobs_agent WHERE key < ? AND agent = ? ORDER BY key DESC",
    [STATEMENT_JOBS_OF_AGENT_AND_STATE] =
        SELECT_JOBS "INDEXED BY jobs_agent_state WHERE key < ? AND state = ? AND agent = ? "
                    "ORDER BY key DESC",
    /* Jobs of an owner, with filters that need no index of their own. */
    [STATEMENT_JOBS_OF_OWNER] =
        SELECT_JOBS "INDEXED BY jobs_owner WHERE key < ? AND owner = ? "
                    "AND state = ifnull(?, state) AND agent = ifnull(?, agent) "
                    "ORDER BY key DESC",
    [STATEMENT_OPEN_JOBS] =
        SELECT_JOBS "INDEXED BY jobs_open WHERE state IN ('queued', 'running', 'waiting') "
                    "ORDER BY key",
    [STATEMENT_UNPUBLISHED_JOBS] =
        SELECT_JOBS "INDEXED BY jobs_unpublished WHERE published >= 0 ORDER BY key",
    [STATEMENT_JOBS_SET_ASIDE] =
        SELECT_JOBS "WHERE key IN (SELECT job FROM suspects WHERE set_aside > 0) ORDER BY key",
    [STATEMENT_RECORDS] = "SELECT id, stored FROM records WHERE id BETWEEN ? AND ? ORDER BY id",
    [STATEMENT_RECORD] =
        "SELECT id, stored FROM records WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1",
    /* Sequence numbers have no gaps, so the number of records follows from the jobs' rows;
     * counting the records would read the whole file. */
    [STATEMENT_COUNTS] = "SELECT count(*), ifnull(sum(seq - first_seq + 1), 0) FROM jobs",
    [STATEMENT_BYTES] =
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    [STATEMENT_QUESTIONS] =
        SELECT_QUESTIONS "JOIN jobs j ON j.key = q.job WHERE q.job = ? ORDER BY q.seq",
    [STATEMENT_OPEN_QUESTIONS] =
        SELECT_QUESTIONS "INDEXED BY questions_open JOIN jobs j ON j.key = q.job "
                         "WHERE q.answered = 0 AND (q.job, q.seq) > (?, ?) "
                         "AND j.state IN ('running', 'waiting') ORDER BY q.job, q.seq",
    [STATEMENT_CHECKPOINT] = SELECT_CHECKPOINTS "WHERE thread = ? AND ns = ? AND id = ?",
    /* An upper limit of the id; NULL stands for the greatest possible one. */
    [STATEMENT_CHECKPOINTS_OF_NS] =
        SELECT_CHECKPOINTS "WHERE thread = ? AND ns = ? AND id < ifnull(?, x'ff') "
                           "ORDER BY id DESC",
    [STATEMENT_CHECKPOINTS] =
        SELECT_CHECKPOINTS "WHERE thread = ? AND id < ifnull(?, x'ff') ORDER BY id DESC",
    [STATEMENT_STATE] = SELECT_STATES "AND thread = ? AND ns = ? AND id = ?",
    [STATEMENT_STATES_OF_NS] =
        SELECT_STATES "AND thread = ? AND ns = ? AND id < ifnull(?, x'ff') ORDER BY id DESC",
    [STATEMENT_STATES] =
        SELECT_STATES "AND thread = ? AND id < ifnull(?, x'ff') ORDER BY id DESC",
    [STATEMENT_STATES_AFTER] =
        SELECT_STATES "AND thread = ? AND ns = ? AND parent = ? ORDER BY id",
    [STATEMENT_CHANNELS] = "SELECT c.channel, c.version, c.type, " VALUE(
        "c",
        "c.data") " FROM json_each(?) n "
                  "CROSS JOIN channels c "
                  "WHERE c.thread = ? AND c.ns = ? AND c.channel = n.key AND c.version = n.value",
    [STATEMENT_WRITES] = "SELECT task, idx, path, channel, type, data FROM run_writes w "
                         "WHERE thread = ? AND ns = ? AND checkpoint = ? AND " LAST_WRITE " "
                         "ORDER BY task, idx",
    [STATEMENT_THREAD_BY_ID] = "SELECT " THREAD_COLUMNS " FROM threads WHERE id = ?",
    [STATEMENT_THREAD_BY_KEY] = "SELECT " THREAD_COLUMNS " FROM threads WHERE key = ?",
    [STATEMENT_THREADS_EXPIRED] =
        "SELECT " THREAD_COLUMNS " FROM threads INDEXED BY threads_expiry "
        "WHERE ttl_ms > 0 AND updated + ttl_ms <= ? AND status <> 'busy' LIMIT ?",
    [STATEMENT_THREAD_JOBS] = SELECT_JOBS
    "INDEXED BY jobs_thread WHERE thread = ? AND thread > 0 ORDER BY ordinal DESC",
    [STATEMENT_RUN] = "SELECT r.job, r.assistant, r.metadata, r.kwargs, r.strategy, r.modes, "
                      "r.subgraphs, t.id FROM runs r JOIN jobs j ON j.key = r.job "
                      "LEFT JOIN threads t ON t.key = j.thread WHERE r.job = ?",
    [STATEMENT_ITEM] =
        SELECT_ITEMS "AND namespace = ? AND key = ? AND (expires = 0 OR expires > ?)",
    /* '/' follows '.' in ASCII: matches everything below the prefix. */
    [STATEMENT_ITEMS] =
        SELECT_ITEMS "AND namespace >= ? AND namespace < ifnull(rtrim(?, '.') || '/', x'ff') "
                     "AND (expires = 0 OR expires > ?) ORDER BY updated DESC, namespace, key "
                     "LIMIT " STORE_ITEMS_MAX,
    [STATEMENT_ITEMS_INDEXED] =
        /* Vectors are read one by one behind the sorting, which would copy them all. */
    "SELECT i.namespace, i.key, value, created, updated, ttl_ms, expires, vectors FROM "
    "(SELECT items.namespace, items.key, value, created, updated, ttl_ms, expires, "
    "v.rowid AS at FROM items JOIN item_vectors v USING (owner, namespace, key) "
    "WHERE owner = ? AND namespace >= ? "
    "AND namespace < ifnull(rtrim(?, '.') || '/', x'ff') AND (expires = 0 OR expires > ?) "
    "ORDER BY updated DESC, items.namespace, items.key LIMIT " STORE_ITEMS_MAX ") i "
    "CROSS JOIN item_vectors w ON w.rowid = i.at",
    [STATEMENT_NAMESPACES] = "SELECT DISTINCT namespace FROM items WHERE owner = ? "
                             "AND (expires = 0 OR expires > ?) ORDER BY namespace",
    [STATEMENT_ASSISTANT] = SELECT_ASSISTANTS "WHERE id = ? AND counts = 1",
    [STATEMENT_ASSISTANTS] = SELECT_ASSISTANTS "WHERE counts = 1 ORDER BY created DESC, id",
    [STATEMENT_ASSISTANT_VERSIONS] = SELECT_ASSISTANTS "WHERE id = ? ORDER BY version DESC",
    [STATEMENT_CRON] = SELECT_CRONS "WHERE id = ?",
    [STATEMENT_CRONS] = SELECT_CRONS "ORDER BY created DESC, id DESC",
    [STATEMENT_CRONS_DUE] =
        SELECT_CRONS "INDEXED BY crons_due WHERE enabled = 1 AND next > 0 AND next <= ? "
                     "AND (end_time = 0 OR next <= end_time) ORDER BY next, id LIMIT ?",
    [STATEMENT_WEBHOOK] = SELECT_WEBHOOKS "WHERE id = ?",
    [STATEMENT_WEBHOOKS] = SELECT_WEBHOOK_HEADS
    "WHERE n > 0 AND (?1 IS NULL OR state = ?1) AND (n, id) < (?2, ?3) "
    "ORDER BY n DESC, id DESC LIMIT ?4",
    [STATEMENT_WEBHOOKS_DUE] =
        SELECT_WEBHOOKS "INDEXED BY webhooks_due WHERE state = 'pending' AND due <= ? "
                        "AND NOT EXISTS (SELECT 1 FROM webhooks o INDEXED BY webhooks_thread "
                        "WHERE o.thread = w.thread AND o.state = 'pending' AND o.n < w.n) "
                        "ORDER BY due, n LIMIT ?",
    [STATEMENT_WEBHOOKS_COUNT] =
        "SELECT count(*) FILTER (WHERE state = 'waiting'), "
        "count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'sent'), "
        "count(*) FILTER (WHERE state = 'dead') FROM webhooks",
    [STATEMENT_TOKENS] = "SELECT " TOKEN_COLUMNS " FROM tokens ORDER BY parent, created, id",
    [STATEMENT_TOKEN_CHANGES] = "SELECT ifnull(max(n), 0) FROM token_changes WHERE id = 0",
    [STATEMENT_TOKENS_SEEN] = "SELECT ifnull(max(n), 0) FROM token_changes WHERE id = 1",
    /* TIME_NOTED: a job's row may be newer than the stored time. */
    /* The largest key that was ever given out, also to a deleted row. */
    [STATEMENT_LAST_JOB_KEY] =
        "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0), "
        "ifnull((SELECT max(key) FROM jobs), 0))",
    [STATEMENT_LAST_THREAD_KEY] =
        "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'threads'), 0), "
        "ifnull((SELECT max(key) FROM threads), 0))",
    [STATEMENT_TIME_NOTED] =
        "SELECT max(ifnull((SELECT at FROM clock), 0), ifnull((SELECT max(updated) FROM jobs "
        "WHERE state IN ('queued', 'running', 'waiting')), 0))",

    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_APPEND] = "INSERT INTO records(id, stored, batch) VALUES(?, ?, ?)",
    [STATEMENT_JOB_INSERT] = "INSERT INTO jobs(key, seq, first_seq, producer_seq" ALL_NAMES
                             ") VALUES(?, ?, ?, ?" ALL_MARKS ")",
    [STATEMENT_INPUT_INSERT] = "INSERT INTO inputs(job, input) VALUES(?, ?)",
    /* Most updates change no indexed column.  But an UPDATE that merely names an indexed column
     * writes the index, so the first of these names none, and matches no row when an indexed
     * value would change. */
    [STATEMENT_JOB_UPDATE_PLAIN] = SET_PLAIN " WHERE key=?" SAME_INDEXED,
    [STATEMENT_JOB_UPDATE] = SET_PLAIN SET_INDEXED " WHERE key=?",
    [STATEMENT_JOB_PUBLISHED] = "UPDATE jobs SET published = ? WHERE key = ?",
    [STATEMENT_JOB_WITHDRAW] = "UPDATE jobs SET first_seq = ? WHERE key = ?",
    [STATEMENT_JOB_DELETE] = "DELETE FROM jobs WHERE key = ?",
    [STATEMENT_SUSPECT_PUT] = "INSERT OR REPLACE INTO suspects(job, crashed, set_aside) "
                              "VALUES(?, ?, ?)",
    [STATEMENT_SUSPECT_DELETE] = "DELETE FROM suspects WHERE job = ?",
    [STATEMENT_INPUT_DELETE] = "DELETE FROM inputs WHERE job = ?",
    [STATEMENT_RECORDS_DELETE] = "DELETE FROM records WHERE id IN "
                                 "(SELECT id FROM records WHERE id BETWEEN ? AND ? LIMIT ?)",
    [STATEMENT_CHUNK_CUT] = "UPDATE records SET stored = ? WHERE id = ?",
    /* The two jobs that expired first. */
    [STATEMENT_WHOLE_JOB] =
        "SELECT key, max(2, seq - (state <> 'succeeded')) FROM jobs INDEXED BY jobs_whole " IS_FINAL
        "AND first_seq = 1 " BEFORE,
    [STATEMENT_EXPIRED_JOB] = "SELECT key, seq FROM jobs INDEXED BY jobs_expired " IS_FINAL
                              "AND first_seq > 1 " BEFORE,
    [STATEMENT_LEAVING_PUT] = "INSERT INTO leavings(job, upto) VALUES(?, ?) "
                              "ON CONFLICT(job) DO UPDATE SET upto = excluded.upto",
    [STATEMENT_LEAVING] = "SELECT job, upto FROM leavings LIMIT 1",
    [STATEMENT_LEAVING_DELETE] = "DELETE FROM leavings WHERE job = ?",

    [STATEMENT_QUESTION_INSERT] =
        "INSERT INTO questions(job, seq, id, attempt, asked, expires, on_expiry, fallback, "
        "schema, question, context, value) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_QUESTION_ANSWER] =
        "UPDATE questions SET answer = ?, answered_by = ?, answered = ? "
        "WHERE job = ? AND seq = ? AND answered = 0",
    [STATEMENT_QUESTIONS_RESUMED] =
        "UPDATE questions SET resumed = ? WHERE job = ? AND answered > 0 AND resumed = 0",
    [STATEMENT_QUESTIONS_DELETE] = "DELETE FROM questions WHERE job = ?",

    [STATEMENT_CHECKPOINT_PUT] =
        "INSERT OR REPLACE INTO checkpoints(thread, " CHECKPOINT_COLUMNS
        ") VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_LARGE_PUT] = "INSERT INTO large_values(data) VALUES(?)",
    [STATEMENT_CHANNEL_PUT] =
        "INSERT INTO channels(thread, " CHANNEL_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET type = excluded.type, data = excluded.data, "
        "large = excluded.large",
    [STATEMENT_WRITE_KEEP] =
        "INSERT " WRITE "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS "
        "(SELECT 1 FROM run_writes WHERE thread = ?1 AND ns = ?2 AND checkpoint = ?3 AND task = ?4 "
        "AND idx = ?5)",
    [STATEMENT_WRITE_REPLACE] =
        "INSERT OR REPLACE " WRITE "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    /* Before STATE_PUT: a row that is replaced gets a new place in the order, and no trigger
     * would see it go. */
    [STATEMENT_STATE_DELETE] =
        "DELETE FROM run_states WHERE thread = ? AND ns = ? AND id = ? AND run = ?",
    [STATEMENT_STATE_PUT] =
        "INSERT INTO run_states(thread, " STATE_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?)",
    [STATEMENT_CHECKPOINTS_DELETE] = "DELETE FROM checkpoints WHERE thread = ?",
    [STATEMENT_CHANNELS_DELETE] = "DELETE FROM channels WHERE thread = ?",
    [STATEMENT_WRITES_DELETE] = "DELETE FROM run_writes WHERE thread = ?",
    [STATEMENT_STATES_DELETE] = "DELETE FROM run_states WHERE thread = ?",
    [STATEMENT_CHECKPOINTS_COPY] = COPY("checkpoints", CHECKPOINT_COLUMNS),
    [STATEMENT_CHANNELS_COPY] = COPY("channels", CHANNEL_COLUMNS),
    [STATEMENT_WRITES_COPY] = COPY("run_writes", WRITE_COLUMNS),
    [STATEMENT_STATES_COPY] = COPY("run_states", STATE_COLUMNS),
    [STATEMENT_CHECKPOINTS_OF_RUN_DELETE] =
        "DELETE FROM checkpoints WHERE thread = ? AND metadata ->> '$.run_id' = ?",
    [STATEMENT_WRITES_OF_RUN_DELETE] = "DELETE FROM run_writes WHERE thread = ? AND run = ?",
    [STATEMENT_STATES_OF_RUN_DELETE] = "DELETE FROM run_states WHERE thread = ? AND run = ?",
    [STATEMENT_CHECKPOINTS_OLD_DELETE] =
        "DELETE FROM checkpoints WHERE thread = ?1 AND (ns, id) NOT IN "
        "(SELECT ns, max(id) FROM checkpoints WHERE thread = ?1 GROUP BY ns)",
    [STATEMENT_CHANNELS_SWEEP] =
        "DELETE FROM channels WHERE thread = ?1 AND (ns, channel, version) NOT IN "
        "(SELECT c.ns, v.key, v.value FROM checkpoints c, json_each(c.versions) v "
        "WHERE c.thread = ?1)",
    [STATEMENT_WRITES_SWEEP] =
        "DELETE FROM run_writes WHERE thread = ?1 AND (ns, checkpoint) NOT IN "
        "(SELECT ns, id FROM checkpoints WHERE thread = ?1)",
    [STATEMENT_STATES_SWEEP] = "DELETE FROM run_states WHERE thread = ?1 AND (ns, id) NOT IN "
                               "(SELECT ns, id FROM checkpoints WHERE thread = ?1)",
    [STATEMENT_JOB_ID] =
        "SELECT iif(thread = 0, id, (SELECT t.id FROM threads t WHERE t.key = thread AND "
        "t.is_temporary = 1)) FROM jobs WHERE key = ?",
    [STATEMENT_ITEM_PUT] =
        "INSERT INTO items(owner, namespace, key, value, created, updated, ttl_ms, expires) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, "
        "updated = excluded.updated, ttl_ms = excluded.ttl_ms, expires = excluded.expires",
    [STATEMENT_ITEM_INDEX] =
        "INSERT INTO item_vectors(owner, namespace, key, vectors) VALUES(?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET vectors = excluded.vectors",
    [STATEMENT_ITEM_UNINDEX] =
        "DELETE FROM item_vectors WHERE owner = ? AND namespace = ? AND key = ?",
    [STATEMENT_ITEM_DELETE] = "DELETE FROM items WHERE owner = ? AND namespace = ? AND key = ?",
    [STATEMENT_ITEM_TOUCH] = "UPDATE items SET expires = ? + ttl_ms WHERE owner = ? "
                             "AND namespace = ? AND key = ? AND ttl_ms > 0 AND expires > ?",
    [STATEMENT_ASSISTANT_INSERT] = "INSERT INTO assistants(" ASSISTANT_COLUMNS ", counts) "
                                   "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
    [STATEMENT_ASSISTANT_CHOOSE] = "UPDATE assistants SET counts = (version = ?) WHERE id = ?",
    [STATEMENT_ASSISTANT_DELETE] = "DELETE FROM assistants WHERE id = ?",
    [STATEMENT_CRON_INSERT] = "INSERT INTO crons(" CRON_COLUMNS ") "
                              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                              "ON CONFLICT DO NOTHING",
    [STATEMENT_CRON_UPDATE] =
        "UPDATE crons SET schedule = ?2, timezone = ?3, on_completed = ?4, payload = ?5, "
        "metadata = ?6, end_time = ?7, next = iif(?8 < 0, next, ?8), enabled = ?9, "
        "updated = ?10, moved = iif(?8 < 0, moved, ?10) WHERE id = ?1",
    [STATEMENT_CRON_TICK] =
        "UPDATE crons SET next = ?3, moved = ?4 WHERE id = ?1 AND next = ?2",
    [STATEMENT_CRON_DELETE] = "DELETE FROM crons WHERE id = ?",
    [STATEMENT_CRONS_FORGET] = "DELETE FROM crons WHERE thread = ? OR assistant = ?",
    [STATEMENT_WEBHOOK_INSERT] =
        "INSERT INTO webhooks(id, job, thread, owner, url, run, created, state) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, 'waiting') ON CONFLICT DO NOTHING",
    [STATEMENT_WEBHOOK_END] =
        "UPDATE webhooks SET state = 'pending', status = ?3, error = ?4, "
        "output = (SELECT state FROM threads WHERE key = ?2), started = ?5, ended = ?6, "
        "since = ?6, due = ?6, n = (SELECT max(n) + 1 FROM webhooks) "
        "WHERE job = ?1 AND state = 'waiting'",
    [STATEMENT_WEBHOOK_MOVE] =
        "UPDATE webhooks SET state = ?3, reason = ?4, since = ?5, due = ?6, tried = ?7, "
        "attempts = ?8, code = ?9, expires = ?10, version = version + 1 "
        "WHERE id = ?1 AND version = ?2",
    [STATEMENT_WEBHOOK_FORGET] = "DELETE FROM webhooks WHERE job = ? AND state <> 'pending'",
    [STATEMENT_WEBHOOKS_EXPIRE] = "DELETE FROM webhooks WHERE rowid IN (SELECT rowid FROM "
                                  "webhooks INDEXED BY webhooks_expiry WHERE expires > 0 "
                                  "AND expires <= ? LIMIT ?)",
    [STATEMENT_ITEMS_EXPIRE] = "DELETE FROM items WHERE rowid IN (SELECT rowid FROM items "
                               "INDEXED BY items_expiry WHERE expires > 0 AND expires <= ? "
                               "LIMIT ?)",
    [STATEMENT_THREAD_INSERT] =
        "INSERT INTO threads(key, id, owner, status, metadata, config, interrupts, error, "
        "created, updated, state_updated, n_runs, is_temporary, state, ttl_ms) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_THREAD_UPDATE] =
        "UPDATE threads SET status = ?, metadata = ?, config = ?, interrupts = ?, error = ?, "
        "updated = ?, state_updated = ?, n_runs = ?, ttl_ms = ? WHERE key = ?",
    [STATEMENT_THREAD_VALUES] =
        "UPDATE threads SET state = ?, state_updated = ?, updated = ? WHERE key = ?",
    [STATEMENT_THREAD_DELETE] = "DELETE FROM threads WHERE key = ?",
    [STATEMENT_THREAD_OF_RUN_DELETE] = "DELETE FROM threads WHERE is_temporary = 1 AND key = "
                                       "(SELECT thread FROM jobs WHERE key = ?)",
    [STATEMENT_RUN_READ] = "UPDATE runs SET modes = modes | ? WHERE job = ?",
    [STATEMENT_RUN_INSERT] = "INSERT INTO runs(job, assistant, metadata, kwargs, strategy, "
                             "modes, subgraphs) VALUES(?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_RUN_FORGET] = "UPDATE runs SET kwargs = '{}' WHERE job = ?",
    [STATEMENT_RUN_DELETE] = "DELETE FROM runs WHERE job = ?",

    [STATEMENT_TOKEN_INSERT] = "INSERT INTO tokens(" TOKEN_COLUMNS
                               ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_TOKEN_REVOKE] =
        "UPDATE tokens SET revoked = iif(revoked = 0, ?, revoked) WHERE id = ? AND parent IS NULL",
    [STATEMENT_SESSIONS_OF] = "DELETE FROM tokens WHERE parent = ?",
    [STATEMENT_SESSION_DELETE] = "DELETE FROM tokens WHERE id = ? AND parent IS NOT NULL",
    [STATEMENT_SESSIONS_EXPIRE] =
        "DELETE FROM tokens WHERE parent IS NOT NULL AND expires <= ?",
    [STATEMENT_TOKENS_CHANGED] =
        "INSERT INTO token_changes VALUES(0, 1) ON CONFLICT DO UPDATE SET n = n + 1",
    [STATEMENT_TOKENS_SEE] =
        "INSERT INTO token_changes VALUES(1, ?) ON CONFLICT DO UPDATE SET n = excluded.n",
    [STATEMENT_SECRET_INSERT] = "INSERT INTO secrets VALUES(?, ?) ON CONFLICT DO NOTHING",
    [STATEMENT_SECRET] = "SELECT value FROM secrets WHERE name = ?",
    [STATEMENT_TIME_NOTE] =
        "INSERT INTO clock VALUES(0, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
    /* A time of 0 means none, and stays 0. */
    [STATEMENT_MOVE_OPEN_JOBS] =
        "UPDATE jobs SET updated = updated + ?1, "
        "lease_until = iif(lease_until = 0, 0, lease_until + ?1), "
        "queue_deadline = iif(queue_deadline = 0, 0, queue_deadline + ?1), "
        "run_deadline = iif(run_deadline = 0, 0, run_deadline + ?1), "
        "answer_by = iif(answer_by = 0, 0, answer_by + ?1), "
        "not_before = iif(not_before = 0, 0, not_before + ?1), "
        "cancel_requested = iif(cancel_requested = 0, 0, cancel_requested + ?1), "
        "pause_requested = iif(pause_requested = 0, 0, pause_requested + ?1) "
        "WHERE state IN ('queued', 'running', 'waiting')",
    /* `finished` is shown to people and stays; how long the job is kept after it is changed. */
    [STATEMENT_MOVE_FINAL_JOBS] =
        "UPDATE jobs SET expiry_seconds = expiry_seconds + ?1 / 1000 " IS_FINAL,
    [STATEMENT_MOVE_QUESTIONS] =
        "UPDATE questions SET asked = asked + ?1, expires = iif(expires = 0, 0, expires + ?1) "
        "WHERE answered = 0",
    [STATEMENT_MOVE_ITEMS] = "UPDATE items SET expires = expires + ?1 WHERE expires > 0",
    [STATEMENT_MOVE_WEBHOOKS] = "UPDATE webhooks SET since = since + ?1, due = due + ?1, "
                                "expires = iif(expires = 0, 0, expires + ?1) WHERE n > 0",
    [STATEMENT_MOVE_SUSPECTS] =
        "UPDATE suspects SET crashed = iif(crashed = 0, 0, crashed + ?1)",
    [STATEMENT_MOVE_THREADS] = "UPDATE threads SET updated = updated + ?1 WHERE ttl_ms > 0",
    [STATEMENT_MOVE_TOKENS] = "UPDATE tokens SET expires = expires + ?1 WHERE expires > 0 "
                              "AND created NOT BETWEEN ?2 AND ?3",
};

/* The statements that a store of store_open_beside may use: none about jobs. */
static bool is_beside(unsigned id)
{
    return id == STATEMENT_TOKENS || id == STATEMENT_TOKEN_CHANGES ||
           id == STATEMENT_TOKENS_SEEN || id == STATEMENT_BEGIN || id == STATEMENT_COMMIT ||
           id == STATEMENT_ROLLBACK || id >= STATEMENT_TOKEN_INSERT;
}

int statements_prepare(struct sqlite_store *s, struct error *err)
{
    unsigned n = s->writes ? STATEMENT_MAX : STATEMENT_FIRST_WRITING;

    for (unsigned i = 0; i < n; i++) {
        if (s->beside && !is_beside(i))
            continue;
        int rc = sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &s->statements[i], NULL);
        if (rc != SQLITE_OK)
            return schema_fault(s, rc, err);
    }
    return 0;
}

void statements_finalize(struct sqlite_store *s)
{
    for (unsigned i = 0; i < STATEMENT_MAX; i++) {
        (void)sqlite3_finalize(s->statements[i]); /* repeats an error that was handled */
        s->statements[i] = NULL;
    }
}

int statement_run(struct store *s, enum statement id, struct error *err)
{
    sqlite3_stmt *stmt = sqlite_of(s)->statements[id];
    int rc = sqlite3_step(stmt);
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);

    (void)sqlite3_reset(stmt); /* repeats the error */
    return code;
}

int statement_number(struct store *s, enum statement id, int64_t *ret, struct error *err)
{
    struct binder b = statement_bind(s, id);
    int rc = sqlite3_step(b.stmt);
    int code = rc == SQLITE_ROW ? 0 : fault(s, rc, err);

    if (code == 0)
        *ret = sqlite3_column_int64(b.stmt, 0);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

struct binder statement_bind(struct store *s, enum statement id)
{
    sqlite3_stmt *stmt = sqlite_of(s)->statements[id];

    /* Busy would mean: a callback has called the function that is calling it. */
    assert(stmt != NULL && !sqlite3_stmt_busy(stmt));
    return (struct binder){ .stmt = stmt };
}

void bind_text(struct binder *b, struct str text)
{
    b->n++;
    if (b->rc == SQLITE_OK) /* not copied: it is stepped before the caller returns */
        b->rc = text.p == NULL ? sqlite3_bind_null(b->stmt, b->n)
                               : sqlite3_bind_text64(b->stmt, b->n, text.p, text.n,
                                                     SQLITE_STATIC, SQLITE_UTF8);
}

void bind_int(struct binder *b, int64_t value)
{
    b->n++;
    if (b->rc == SQLITE_OK)
        b->rc = sqlite3_bind_int64(b->stmt, b->n, value);
}

void bind_key(struct binder *b, int64_t key)
{
    if (key != 0)
        bind_int(b, key);
    else
        bind_text(b, STR_NONE);
}

void bind_blob(struct binder *b, struct str bytes)
{
    b->n++;
    if (b->rc == SQLITE_OK)
        b->rc = sqlite3_bind_blob64(b->stmt, b->n, bytes.p, bytes.n, SQLITE_STATIC);
}

bool texts_start(struct store *s, size_t n)
{
    struct buf *kept = &sqlite_of(s)->texts;

    /* Frees the buffer after a huge text, instead of keeping it. */
    if (kept->cap > TEXTS_KEPT_BYTES)
        buf_done(kept);
    buf_clear(kept);
    return buf_reserve(kept, n);
}

int texts_keep(struct store *s,
               const struct row_texts *texts,
               void *row,
               const char *what,
               struct error *err)
{
    struct buf *kept = &sqlite_of(s)->texts;
    size_t total = 0;

    for (size_t i = 0; i < texts->n; i++)
        total += row_text(texts, row, i)->n;
    if (!texts_start(s, total)) /* reserved at once, so that it does not move below */
        return error_set(err, kept->error, "%s does not fit into memory", what);
    for (size_t i = 0; i < texts->n; i++) {
        struct str *text = row_text(texts, row, i);
        size_t from = kept->n;

        if (text->p == NULL)
            continue;
        buf_str(kept, *text);
        *text = buf_since(kept, from);
    }
    return 0;
}

struct str column_text(sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return STR_NONE;
    const unsigned char *p = sqlite3_column_text(stmt, column);
    if (p == NULL) /* cannot happen for a stored text, which needs no conversion */
        return STR("");
    return str_make((const char *)p, (size_t)sqlite3_column_bytes(stmt, column));
}

struct str column_blob(sqlite3_stmt *stmt, int column)
{
    const void *p = sqlite3_column_blob(stmt, column);

    return p != NULL ? str_make(p, (size_t)sqlite3_column_bytes(stmt, column)) : STR("");
}
