/* Every statement, as X(name, sql): those that read, then those that write.
 *
 * A question mark is the next parameter, `?n` the parameter n (statements.c).  Every text is
 * bytea: it is returned unchanged and compared as bytes, whatever the encoding and the
 * collation of the database.  The views that end in `_text` are for people. */
#ifndef STORE_POSTGRES_STATEMENTS_H
#define STORE_POSTGRES_STATEMENTS_H

/* clang-format off */
#define SQL_NAME(column) ", " #column
#define SQL_OF_JOB(column) ", j." #column
#define SQL_MARK(column) ", ?"
#define SQL_SET(column)  ", " #column " = ?"
#define SQL_JOB_COLUMNS(M) JOB_FIXED(M, M) JOB_INDEXED(M, M) JOB_PLAIN(M, M)
/* A job's row is stored less often than its records: seq and batch come from the records
 * (store_append). */
#define SQL_SELECT_JOBS                                                                \
    "SELECT j.key, i.input, coalesce(r.last, j.seq), j.first_seq,"                     \
    " coalesce(r.batch, j.producer_seq), s.crashed, s.set_aside, j.shard"                     \
    SQL_JOB_COLUMNS(SQL_OF_JOB)                                                        \
    " FROM jobs j LEFT JOIN inputs i ON i.job = j.key"                                 \
    " LEFT JOIN suspects s ON s.job = j.key"                                           \
    " LEFT JOIN LATERAL (SELECT last, batch FROM records WHERE job = j.key AND last > j.seq" \
    "  ORDER BY last DESC LIMIT 1) r ON true "
/* The ending of an expired job is not with its other records (retention.c). */
#define SQL_ALL_RECORDS                                                                \
    "(SELECT job, last, batch, stored FROM records UNION ALL "                         \
    "SELECT job, last, batch, stored FROM endings) r"
#define SQL_IS_OPEN "state IN ('queued', 'running', 'waiting') "
#define SQL_IS_FINAL "state IN ('succeeded', 'failed', 'cancelled') "
#define SQL_KEPT_UNTIL "finished + expiry_seconds * 1000"

#define SQL_SELECT_QUESTIONS                                                           \
    "SELECT q.job, q.seq, q.id, q.attempt, q.asked, q.expires, q.on_expiry, "          \
    "q.fallback, q.schema, q.question, q.context, q.value, q.answer, q.answered_by, "  \
    "q.answered, q.resumed, j.id, j.agent, j.owner "                                   \
    "FROM questions q JOIN jobs j ON j.key = q.job "

#define SQL_THREAD_COLUMNS                                                             \
    "key, id, owner, status, metadata, config, interrupts, error, created, updated, "  \
    "state_updated, n_runs, is_temporary, state, ttl_ms, shard"
#define SQL_SELECT_THREADS "SELECT " SQL_THREAD_COLUMNS " FROM threads "
#define SQL_LIST_THREADS(order)                                                        \
    SQL_SELECT_THREADS "WHERE is_temporary = 0 AND (?1::bytea IS NULL OR owner = ?1) ORDER BY " order

/* Columns of the tables of checkpoints after `thread`, in the order of the functions that put
 * them. */
#define CHECKPOINT_COLUMNS "ns, id, parent, type, data, metadata, versions, run"
#define CHANNEL_COLUMNS    "ns, channel, version, type, data"
#define SQL_LARGE          ", large"
/* The bytes of a row: a large value, or those that are in the row. */
#define SQL_VALUE(of, column)                                                          \
    "coalesce((SELECT l.data FROM large_values l WHERE l.id = " of ".large), " column ")"
#define WRITE_COLUMNS      "ns, checkpoint, task, idx, path, channel, type, data, run"
#define STATE_COLUMNS      "ns, id, state, run"
#define SQL_COPY(table, columns, order)                                                \
    "INSERT INTO " table "(thread, " columns ") SELECT ?::bytea, " columns " FROM " table " WHERE thread = ?" order
#define SQL_SELECT_CHECKPOINTS "SELECT ns, id, parent, type, data, metadata, versions FROM checkpoints "
#define SQL_LAST_WRITE                                                                 \
    "w.n = (SELECT max(n) FROM run_writes WHERE thread = w.thread AND ns = w.ns "      \
    "AND checkpoint = w.checkpoint AND task = w.task AND idx = w.idx) "
#define SQL_SELECT_STATES(state)                                                       \
    "SELECT ns, id, parent, metadata, " state " FROM run_states states "               \
    "JOIN checkpoints USING (thread, ns, id) WHERE states.n = (SELECT max(s.n) FROM run_states s " \
    "WHERE s.thread = states.thread AND s.ns = states.ns AND s.id = states.id) "
/* NULL stands for the greatest possible id. */
#define SQL_BY_TIME(filters)                   \
    "WHERE (j.created, j.key) < (?1, ?2) " filters \
    "ORDER BY j.created DESC, j.key DESC LIMIT ?3"
#define SQL_OLDER "id < coalesce(?, '\\xff'::bytea) ORDER BY id DESC"
#define SQL_VERSIONS_OF "json_each_text(json_of(c.versions)) v "

#define ASSISTANT_COLUMNS                                                                  \
    "id, version, owner, graph, name, description, config, context, metadata, created, updated"
#define SQL_SELECT_ASSISTANTS "SELECT " ASSISTANT_COLUMNS " FROM assistants "
#define CRON_COLUMNS                                                                   \
    "id, owner, assistant, thread, schedule, timezone, on_completed, payload, metadata, " \
    "end_time, next, enabled, max_jobs, max_queued, max_running, created, updated, moved"
#define SQL_SELECT_CRONS "SELECT " CRON_COLUMNS " FROM crons "
/* In the order of webhook_row_at(): the texts that lists lack, and the rest. */
#define WEBHOOK_COLUMNS(run, output)                                                   \
    "id, job, thread, owner, url, " run ", status, error, " output ", state, reason, created, " \
    "started, ended, since, due, tried, attempts, code, version, expires, n "
#define SQL_SELECT_WEBHOOKS                                                            \
    "SELECT " WEBHOOK_COLUMNS("run", "output") "FROM webhooks w "
#define SQL_SELECT_WEBHOOK_HEADS                                                       \
    "SELECT " WEBHOOK_COLUMNS("NULL::bytea", "NULL::bytea") "FROM webhooks "
#define SQL_SELECT_ITEMS                                                               \
    "SELECT namespace, key, value, created, updated, ttl_ms, expires FROM items WHERE owner = ? "
#define TOKEN_COLUMNS                                                                      \
    "id, parent, hash, name, scopes, owner, jobs, agents, max_jobs, "                  \
    "max_queued, max_running, max_streams, max_events, created, expires, revoked"

/* Deletes a job's input, questions and checkpoints: a job without a thread uses its own id as
 * thread id, and a temporary thread is deleted with its run. */
#define SQL_STRIP_JOB                                                                  \
    "WITH t AS (SELECT CASE WHEN j.thread = 0 THEN j.id ELSE (SELECT id FROM threads " \
    "WHERE key = j.thread AND is_temporary = 1) END AS name FROM jobs j WHERE j.key = ?1), " \
    "a AS (DELETE FROM inputs WHERE job = ?1), "                                       \
    "b AS (DELETE FROM questions WHERE job = ?1), "                                    \
    "c AS (DELETE FROM checkpoints WHERE thread = (SELECT name FROM t)), "             \
    "d AS (DELETE FROM channels WHERE thread = (SELECT name FROM t)), "                \
    "e AS (DELETE FROM run_writes WHERE thread = (SELECT name FROM t)), "              \
    "f AS (DELETE FROM run_states WHERE thread = (SELECT name FROM t)), "
#define SQL_LEAVE                                                                      \
    "ON CONFLICT (job) DO UPDATE SET upto = excluded.upto, due = excluded.due"
/* A time of 0 means none, and stays 0. */
#define SQL_MOVED(column) column " = CASE WHEN " column " = 0 THEN 0 ELSE " column " + ?1 END"

#define SQL_LARGE_MISSING(table)                                                        \
    " UNION ALL SELECT 'a row of " table " names large value ' || large || ', which is not there' FROM " \
    table " t WHERE large IS NOT NULL AND NOT EXISTS (SELECT 1 FROM large_values WHERE id = t.large)"
#define SQL_ORPHANS(table)                                                              \
    " UNION ALL SELECT 'a row of " table " belongs to job ' || job || ', which is not there' FROM " \
    table " t WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE key = t.job)"

/* Those that read large values; how a state and the bytes of a channel are read. */
#define SQL_READING_VALUES(X, state, data)                                             \
    X(STATE, SQL_SELECT_STATES(state) "AND thread = ? AND ns = ? AND id = ?")          \
    X(STATES_OF_NS, SQL_SELECT_STATES(state) "AND thread = ? AND ns = ? AND " SQL_OLDER) \
    X(STATES, SQL_SELECT_STATES(state) "AND thread = ? AND " SQL_OLDER)                \
    X(STATES_AFTER,                                                                    \
      SQL_SELECT_STATES(state) "AND thread = ? AND ns = ? AND parent = ? ORDER BY id") \
    X(STATE_NEWEST,                                                                    \
      SQL_SELECT_STATES(state) "AND thread = ? AND ns = '' ORDER BY id DESC LIMIT 1")  \
    X(CHANNELS, "SELECT k.channel, k.version, k.type, " data " "                       \
      "FROM json_each_text(json_of(?)) WITH ORDINALITY v(key, value, n) "              \
      "JOIN channels k ON k.thread = ? AND k.ns = ? AND k.channel = convert_to(v.key, 'UTF8') " \
      "AND k.version = convert_to(v.value, 'UTF8') ORDER BY v.n")
/* Those that write rows which may name a large value; its column, and what sets it to none. */
#define SQL_WRITING_VALUES(X, large, none)                                             \
    X(CHANNEL_PUT, "INSERT INTO channels(thread, " CHANNEL_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?) " \
      "ON CONFLICT (thread, ns, channel, version) DO UPDATE SET type = excluded.type, " \
      "data = excluded.data" none)                                                     \
    X(STATE_PUT, "INSERT INTO run_states(thread, " STATE_COLUMNS ") VALUES(?, ?, ?, ?, ?) " \
      "ON CONFLICT (thread, ns, id, run) DO UPDATE SET n = DEFAULT, state = excluded.state" none) \
    /* These four must be in this order. */                                            \
    X(CHECKPOINTS_COPY, SQL_COPY("checkpoints", CHECKPOINT_COLUMNS, ""))               \
    X(CHANNELS_COPY, SQL_COPY("channels", CHANNEL_COLUMNS large, ""))                  \
    X(WRITES_COPY, SQL_COPY("run_writes", WRITE_COLUMNS, " ORDER BY n"))               \
    X(STATES_COPY, SQL_COPY("run_states", STATE_COLUMNS large, " ORDER BY n"))
/* On a schema without large values. */
#define SQL_WITHOUT_LARGE(X)                                                           \
    SQL_READING_VALUES(X, "state", "k.data") SQL_WRITING_VALUES(X, "", "")

#define SQL_READING(X)                                                                 \
    X(JOB_BY_ID, SQL_SELECT_JOBS "WHERE j.id = ?")                                     \
    X(JOB_BY_IDEMPOTENCY, SQL_SELECT_JOBS "WHERE j.idempotency_key = ?")               \
    /* Parameters: an upper limit of the key, the limit, the filters. */               \
    X(JOBS, SQL_SELECT_JOBS "WHERE j.key < ?1 ORDER BY j.key DESC LIMIT ?2")           \
    X(JOBS_OF_STATE, SQL_SELECT_JOBS                                                   \
      "WHERE j.key < ?1 AND j.state = ?3 ORDER BY j.key DESC LIMIT ?2")                \
    X(JOBS_OF_AGENT, SQL_SELECT_JOBS                                                   \
      "WHERE j.key < ?1 AND j.agent = ?3 ORDER BY j.key DESC LIMIT ?2")                \
    X(JOBS_OF_AGENT_AND_STATE, SQL_SELECT_JOBS                                         \
      "WHERE j.key < ?1 AND j.state = ?3 AND j.agent = ?4 ORDER BY j.key DESC LIMIT ?2") \
    X(JOBS_OF_OWNER, SQL_SELECT_JOBS                                                   \
      "WHERE j.key < ?1 AND j.owner = ?3 AND j.state = coalesce(?4, j.state) "         \
      "AND j.agent = coalesce(?5, j.agent) ORDER BY j.key DESC LIMIT ?2")              \
    /* The same with several shards, whose keys are in no order: by time.  Parameters: the place \
     * (created, key) in the list, the limit, the filters. */                          \
    X(JOBS_BY_TIME, SQL_SELECT_JOBS SQL_BY_TIME(""))                                   \
    X(JOBS_BY_TIME_OF_STATE, SQL_SELECT_JOBS SQL_BY_TIME("AND j.state = ?4 "))         \
    X(JOBS_BY_TIME_OF_AGENT, SQL_SELECT_JOBS SQL_BY_TIME("AND j.agent = ?4 "))         \
    X(JOBS_BY_TIME_OF_AGENT_AND_STATE,                                                 \
      SQL_SELECT_JOBS SQL_BY_TIME("AND j.state = ?4 AND j.agent = ?5 "))               \
    X(JOBS_BY_TIME_OF_OWNER,                                                           \
      SQL_SELECT_JOBS SQL_BY_TIME("AND j.owner = ?4 AND j.state = coalesce(?5, j.state) " \
                                  "AND j.agent = coalesce(?6, j.agent) "))             \
    X(OPEN_JOBS, SQL_SELECT_JOBS "WHERE j." SQL_IS_OPEN "AND j.shard = ? ORDER BY j.key")              \
    X(UNPUBLISHED_JOBS, SQL_SELECT_JOBS "WHERE j.unpublished ORDER BY j.key")          \
    X(JOBS_SET_ASIDE, SQL_SELECT_JOBS "WHERE s.set_aside > 0 ORDER BY j.key")          \
    X(THREAD_JOBS, SQL_SELECT_JOBS                                                     \
      "WHERE j.thread = ? AND j.thread > 0 ORDER BY j.ordinal DESC")                   \
    X(THREAD_JOBS_BY_ID, SQL_SELECT_JOBS "WHERE j.thread = (SELECT key FROM threads WHERE id = ?) " \
      "AND j.thread > 0 ORDER BY j.ordinal DESC")                                      \
    /* Parameters: the thread, and a run's ordinal.  The last two columns: the chunk with the values. */ \
    X(VALUES_BEFORE, "SELECT x.*, c.last, c.stored FROM (" SQL_SELECT_JOBS              \
      "WHERE j.thread = ?1 AND j.thread > 0 AND j.ordinal < ?2 AND j.values_seq > 0 "   \
      "AND j.outcome IS DISTINCT FROM 'rollback' ORDER BY j.ordinal DESC LIMIT 1) x "   \
      "LEFT JOIN LATERAL (SELECT last, stored FROM " SQL_ALL_RECORDS " WHERE job = x.key " \
      "AND x.values_seq >= x.first_seq AND last >= x.values_seq ORDER BY last LIMIT 1) c ON true") \
    X(RECORDS, "SELECT last, stored FROM " SQL_ALL_RECORDS " WHERE job = ? AND last > ? ORDER BY last LIMIT ?") \
    X(COUNTS, "SELECT count(*), coalesce(sum(seq - first_seq + 1), 0)::int8, "         \
      "(SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 FROM pg_class "     \
      "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r') FROM jobs") \
    X(QUESTIONS, SQL_SELECT_QUESTIONS "WHERE q.job = ? ORDER BY q.seq")                \
    X(OPEN_QUESTIONS, SQL_SELECT_QUESTIONS                                             \
      "WHERE q.answered = 0 AND (q.job, q.seq) > (?, ?) "                              \
      "AND j.state IN ('running', 'waiting') ORDER BY q.job, q.seq")                   \
    /* By time; after a job that is gone, from the beginning. */                       \
    X(OPEN_QUESTIONS_BY_TIME, SQL_SELECT_QUESTIONS                                     \
      "WHERE q.answered = 0 AND (j.created, q.job, q.seq) > "                          \
      "(coalesce((SELECT created FROM jobs WHERE key = ?1), 0), ?1, ?2) "              \
      "AND j.state IN ('running', 'waiting') ORDER BY j.created, q.job, q.seq")        \
    /* checkpoints.c needs these three, and the next, in this order. */                \
    X(CHECKPOINT, SQL_SELECT_CHECKPOINTS "WHERE thread = ? AND ns = ? AND id = ?")     \
    X(CHECKPOINTS_OF_NS, SQL_SELECT_CHECKPOINTS "WHERE thread = ? AND ns = ? AND " SQL_OLDER) \
    X(CHECKPOINTS, SQL_SELECT_CHECKPOINTS "WHERE thread = ? AND " SQL_OLDER)           \
    SQL_READING_VALUES(X, SQL_VALUE("states", "state"), SQL_VALUE("k", "k.data"))      \
    X(WRITES, "SELECT task, idx, path, channel, type, data FROM run_writes w WHERE thread = ? " \
      "AND ns = ? AND checkpoint = ? AND " SQL_LAST_WRITE "ORDER BY task, idx")        \
    X(THREAD_BY_ID, SQL_SELECT_THREADS "WHERE id = ?")                                 \
    X(THREAD_BY_KEY, SQL_SELECT_THREADS "WHERE key = ?")                               \
    X(THREADS_EXPIRED, SQL_SELECT_THREADS                                              \
      "WHERE ttl_ms > 0 AND updated + ttl_ms <= ?1 AND status <> 'busy' "               \
      "AND shard = ?3 ORDER BY updated + ttl_ms LIMIT ?2")                                             \
    /* In the order of enum thread_order, each descending and ascending. */            \
    X(THREADS_BY_UPDATED_DOWN, SQL_LIST_THREADS("updated DESC, key DESC"))             \
    X(THREADS_BY_UPDATED_UP, SQL_LIST_THREADS("updated, key"))                         \
    X(THREADS_BY_CREATED_DOWN, SQL_LIST_THREADS("key DESC"))                           \
    X(THREADS_BY_CREATED_UP, SQL_LIST_THREADS("key"))                                  \
    X(THREADS_BY_ID_DOWN, SQL_LIST_THREADS("id DESC"))                                 \
    X(THREADS_BY_ID_UP, SQL_LIST_THREADS("id"))                                        \
    X(THREADS_BY_STATUS_DOWN, SQL_LIST_THREADS("status DESC, key DESC"))               \
    X(THREADS_BY_STATUS_UP, SQL_LIST_THREADS("status, key"))                           \
    X(THREADS_BY_TIME_DOWN, SQL_LIST_THREADS("created DESC, key DESC"))                \
    X(THREADS_BY_TIME_UP, SQL_LIST_THREADS("created, key"))                            \
    X(RUN, "SELECT r.job, r.assistant, r.metadata, r.kwargs, r.strategy, r.modes, r.subgraphs, " \
      "t.id FROM runs r JOIN jobs j ON j.key = r.job LEFT JOIN threads t ON t.key = j.thread " \
      "WHERE r.job = ?")                                                               \
    X(ITEM, SQL_SELECT_ITEMS "AND namespace = ? AND key = ? AND (expires = 0 OR expires > ?)") \
    /* '/' follows '.' in ASCII: matches everything below the prefix. */               \
    X(ITEMS, SQL_SELECT_ITEMS "AND namespace >= ? AND (?3::bytea IS NULL OR "          \
      "namespace < substring(?3::bytea FROM 1 FOR length(?3::bytea) - 1) || '/'::bytea) "            \
      "AND (expires = 0 OR expires > ?4) ORDER BY updated DESC, namespace, key LIMIT " STORE_ITEMS_MAX) \
    /* A plain join compares each item with all vectors of its owner until the tables were       \
     * analysed; OFFSET keeps it a look into the index for each. */                     \
    X(ITEMS_INDEXED, "SELECT namespace, key, value, created, updated, ttl_ms, expires, vectors " \
      "FROM items i JOIN LATERAL (SELECT vectors FROM item_vectors v WHERE v.owner = i.owner " \
      "AND v.namespace = i.namespace AND v.key = i.key OFFSET 0) v ON true WHERE owner = ? " \
      "AND namespace >= ? AND (?3::bytea IS NULL OR "                                  \
      "namespace < substring(?3::bytea FROM 1 FOR length(?3::bytea) - 1) || '/'::bytea) "            \
      "AND (expires = 0 OR expires > ?4) ORDER BY updated DESC, namespace, key LIMIT " STORE_ITEMS_MAX) \
    X(NAMESPACES, "SELECT DISTINCT namespace FROM items WHERE owner = ? "              \
      "AND (expires = 0 OR expires > ?) ORDER BY namespace")                           \
    X(ASSISTANT, SQL_SELECT_ASSISTANTS "WHERE id = ? AND counts")                      \
    X(ASSISTANTS, SQL_SELECT_ASSISTANTS "WHERE counts ORDER BY created DESC, id")      \
    X(ASSISTANT_VERSIONS, SQL_SELECT_ASSISTANTS "WHERE id = ? ORDER BY version DESC")  \
    X(CRON, SQL_SELECT_CRONS "WHERE id = ?")                                           \
    X(CRONS, SQL_SELECT_CRONS "ORDER BY created DESC, id DESC")                        \
    X(CRONS_DUE, SQL_SELECT_CRONS "WHERE enabled = 1 AND next > 0 AND next <= ? "      \
      "AND (end_time = 0 OR next <= end_time) ORDER BY next, id LIMIT ?")              \
    X(WEBHOOK, SQL_SELECT_WEBHOOKS "WHERE id = ?")                                     \
    X(WEBHOOK_HEAD, SQL_SELECT_WEBHOOK_HEADS "WHERE id = ?")                           \
    X(WEBHOOKS, SQL_SELECT_WEBHOOK_HEADS "WHERE n > 0 AND (?1::bytea IS NULL OR state = ?1) " \
      "AND (n, id) < (?2, ?3) ORDER BY n DESC, id DESC LIMIT ?4")                      \
    X(WEBHOOKS_DUE, SQL_SELECT_WEBHOOKS "WHERE state = 'pending' AND due <= ? AND NOT EXISTS " \
      "(SELECT 1 FROM webhooks o WHERE o.thread = w.thread AND o.state = 'pending' "   \
      "AND o.n < w.n) ORDER BY due, n LIMIT ?")                                        \
    X(WEBHOOKS_COUNT, "SELECT count(*) FILTER (WHERE state = 'waiting'), "             \
      "count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'sent'), " \
      "count(*) FILTER (WHERE state = 'dead') FROM webhooks")                          \
    X(ASSISTANT_VERSION, SQL_SELECT_ASSISTANTS                                         \
      "WHERE id = ?1 AND (?2::int8 = 0 OR version = ?2::int8) ORDER BY version DESC LIMIT 1") \
    X(TOKENS, "SELECT " TOKEN_COLUMNS " FROM tokens ORDER BY parent NULLS FIRST, created, id") \
    X(TOKEN_CHANGES, "SELECT coalesce(max(n), 0) FROM token_changes WHERE id = 0")     \
    X(TOKENS_SEEN, "SELECT coalesce(max(n), 0) FROM token_changes WHERE id = 1")       \
    /* Inconsistencies, each as a sentence.  pg_amcheck, a tool of PostgreSQL, checks pages. */  \
    X(CHECK, "SELECT 'the index ' || c.relname || ' is not valid: REINDEX it' FROM pg_index i " \
      "JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid "                \
      "AND c.relnamespace = current_schema()::regnamespace"                            \
      SQL_ORPHANS("inputs") SQL_ORPHANS("questions") SQL_ORPHANS("runs") SQL_ORPHANS("suspects") \
      " UNION ALL SELECT 'records of job ' || r.job || ' are there, and the job is not' "        \
      "FROM (SELECT DISTINCT job FROM records) r WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE key = r.job) " \
      "AND NOT EXISTS (SELECT 1 FROM leavings WHERE job = r.job)"                      \
      " UNION ALL SELECT 'job ' || j.key || ' has ' || j.seq || ' records, and the last is not there' " \
      "FROM jobs j WHERE j.seq > 0 AND NOT EXISTS (SELECT 1 FROM " SQL_ALL_RECORDS " WHERE job = j.key AND last >= j.seq)" \
      " UNION ALL SELECT 'the sequence job_keys is behind the keys of jobs' FROM job_keys "  \
      "WHERE last_value + 1024 <= (SELECT max(key) FROM jobs)"                         \
      " UNION ALL SELECT 'the sequence thread_keys is behind the keys of threads' FROM thread_keys " \
      "WHERE last_value + 1024 <= (SELECT max(key) FROM threads)")                     \
    X(CHECK_LARGE, "SELECT 'large value ' || id || ' is named by no row' FROM large_values v " \
      "WHERE NOT EXISTS (SELECT 1 FROM channels WHERE large = v.id) "                  \
      "AND NOT EXISTS (SELECT 1 FROM run_states WHERE large = v.id)"                   \
      SQL_LARGE_MISSING("channels") SQL_LARGE_MISSING("run_states")                    \
      " UNION ALL SELECT 'the sequence of large values is behind them' "               \
      "FROM large_values_id_seq WHERE last_value < (SELECT max(id) FROM large_values)") \
    X(IDENTITY, "SELECT identity::text FROM spoolwire")                                \
    X(OPERATION, "SELECT answer FROM operations WHERE id = ?")                         \
    X(SHARDS, "SELECT count(*) FROM shards")                                           \
    X(OWNER_LOCK, "SELECT pg_advisory_xact_lock(hashtextextended('spoolwire:' || current_schema() " \
      "|| encode(?::bytea, 'hex'), 0))")                                               \
    X(OTHERS, "SELECT count(*), count(*) FILTER (WHERE state = 'queued'), "            \
      "count(*) FILTER (WHERE state = 'running') FROM jobs "                           \
      "WHERE owner = ? AND shard <> ? AND " SQL_IS_OPEN)                               \
    X(SECRET, "SELECT value FROM secrets WHERE name = ?")                              \
    /* A job's row may be newer than the stored time. */                               \
    X(TIME_NOTED, "SELECT greatest((SELECT max(at) FROM clock WHERE id = ?1), "        \
      "(SELECT max(updated) FROM jobs WHERE shard = ?1 AND " SQL_IS_OPEN "), 0::int8)")

#define SQL_WRITING(X)                                                                 \
    X(BEGIN, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")                        \
    X(FENCE, "SELECT fence(?, ?, ?, ?)")                       \
    X(COMMIT, "COMMIT")                                                                \
    X(ROLLBACK, "ROLLBACK")                                                            \
    X(TURN, "SELECT turn FROM turns WHERE shard = ? AND epoch = ?")              \
    /* In the order of enum store_keys. */                                             \
    X(JOB_KEYS, "SELECT take_job_keys(?, ?)")                                          \
    X(THREAD_KEYS, "SELECT nextval('thread_keys')")                                    \
    X(TEND_RECORDS, "SELECT tend_records(?)")                                          \
    X(JOB_INSERT, "INSERT INTO jobs(key, shard, unpublished, seq, first_seq, producer_seq"    \
      SQL_JOB_COLUMNS(SQL_NAME) ") VALUES(?, ?, ?::int8 >= 0, ?, ?, ?"                    \
      SQL_JOB_COLUMNS(SQL_MARK) ") ON CONFLICT DO NOTHING")                            \
    X(INPUT_INSERT, "INSERT INTO inputs(job, input) VALUES(?, ?)")                     \
    X(JOB_UPDATE, "UPDATE jobs SET seq = ?, producer_seq = ?" JOB_INDEXED(SQL_SET, SQL_SET) \
      JOB_PLAIN(SQL_SET, SQL_SET) " WHERE key = ?")                                    \
    X(JOB_PUBLISHED, "UPDATE jobs SET published = ?2, unpublished = ?2::int8 >= 0 WHERE key = ?1") \
    X(JOB_DELETE, SQL_STRIP_JOB                                                        \
      "g AS (DELETE FROM threads WHERE is_temporary = 1 AND key = "                    \
      "(SELECT thread FROM jobs WHERE key = ?1)), "                                    \
      "h AS (DELETE FROM runs WHERE job = ?1), i AS (DELETE FROM suspects WHERE job = ?1), " \
      "k AS (DELETE FROM endings WHERE job = ?1), "                                    \
      "l AS (INSERT INTO leavings SELECT key, 1073741823, 0 FROM jobs WHERE key = ?1 " SQL_LEAVE ") " \
      "DELETE FROM jobs WHERE key = ?1")                                               \
    X(JOB_IS_THERE, "SELECT must((SELECT count(*) FROM jobs WHERE key = ?))")          \
    /* Parameters: the job, the first record that stays, and the time. */              \
    X(JOB_WITHDRAW, SQL_STRIP_JOB "h AS (UPDATE runs SET kwargs = '{}' WHERE job = ?1), " \
      "l AS (INSERT INTO leavings SELECT ?1, ?2::int8 - 1, CASE WHEN expiry_seconds < 86400 " \
      "THEN 0 ELSE ?3::int8 + (expiry_seconds + 86400) * 1000 END FROM jobs WHERE key = ?1 " SQL_LEAVE ") " \
      "UPDATE jobs SET first_seq = ?2 WHERE key = ?1")                                 \
    /* Parameters: the job, the first record that stays, its chunk, and what stays of the chunk. */ \
    X(ENDING_KEEP, "WITH moved AS (DELETE FROM records WHERE job = ?1 AND last >= ?2 "  \
      "RETURNING job, last, batch, stored) INSERT INTO endings SELECT job, last, batch, " \
      "CASE last WHEN ?3 THEN ?4 ELSE stored END FROM moved")                          \
    X(SUSPECT_PUT, "INSERT INTO suspects(job, crashed, set_aside) VALUES(?, ?, ?) "    \
      "ON CONFLICT (job) DO UPDATE SET crashed = excluded.crashed, set_aside = excluded.set_aside") \
    X(OPERATIONS_PUT, "INSERT INTO operations(id, answer) SELECT * FROM "              \
      "unnest(?::bytea[], ?::bytea[])")                                                \
    X(SUSPECT_DELETE, "DELETE FROM suspects WHERE job = ?")                            \
    X(APPEND, "INSERT INTO records(job, last, batch, stored) VALUES(?, ?, ?, ?) "      \
      "ON CONFLICT DO NOTHING")                                                        \
    X(APPEND_MANY, "INSERT INTO records(job, last, batch, stored) SELECT * FROM "      \
      "unnest(?::int8[], ?::int8[], ?::int8[], ?::bytea[])")                           \
    X(RECORDS_DELETE, "DELETE FROM records WHERE job = ?1 AND last IN (SELECT last FROM records " \
      "WHERE job = ?1 AND last <= ?2 ORDER BY last LIMIT ?3)")                         \
    /* The two jobs that expired first. */                                             \
    X(WHOLE_JOB, "SELECT key, greatest(2, seq - CASE state WHEN 'succeeded' THEN 0 ELSE 1 END) " \
      "FROM jobs WHERE " SQL_IS_FINAL "AND first_seq = 1 AND " SQL_KEPT_UNTIL " < ? AND shard = ? "  \
      "ORDER BY " SQL_KEPT_UNTIL " LIMIT 1")                                           \
    X(EXPIRED_JOB, "SELECT key, seq FROM jobs WHERE " SQL_IS_FINAL "AND first_seq > 1 AND " \
      SQL_KEPT_UNTIL " < ? AND shard = ? ORDER BY " SQL_KEPT_UNTIL " LIMIT 1")                       \
    X(LEAVING, "SELECT job, upto FROM leavings WHERE due <= ? ORDER BY due, job LIMIT 1") \
    X(LEAVING_DELETE, "DELETE FROM leavings WHERE job = ?")                            \
    X(QUESTION_INSERT, "INSERT INTO questions(job, seq, id, attempt, asked, expires, on_expiry, " \
      "fallback, schema, question, context, value) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " \
      "ON CONFLICT DO NOTHING")                                                        \
    X(QUESTION_ANSWER, "UPDATE questions SET answer = ?, answered_by = ?, answered = ? " \
      "WHERE job = ? AND seq = ? AND answered = 0")                                    \
    X(QUESTIONS_RESUMED, "UPDATE questions SET resumed = ? WHERE job = ? AND answered > 0 " \
      "AND resumed = 0")                                                               \
    X(CHECKPOINT_PUT, "INSERT INTO checkpoints(thread, " CHECKPOINT_COLUMNS ") "           \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thread, ns, id) DO UPDATE SET "  \
      "parent = excluded.parent, type = excluded.type, data = excluded.data, "         \
      "metadata = excluded.metadata, versions = excluded.versions, run = excluded.run") \
    X(WRITE_KEEP, "INSERT INTO run_writes(thread, " WRITE_COLUMNS ") "                     \
      "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS (SELECT 1 FROM run_writes " \
      "WHERE thread = ?1 AND ns = ?2 AND checkpoint = ?3 AND task = ?4 AND idx = ?5)") \
    X(WRITE_REPLACE, "INSERT INTO run_writes(thread, " WRITE_COLUMNS ") "                  \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "                                          \
      "ON CONFLICT (thread, ns, checkpoint, task, idx, run) DO UPDATE SET "            \
      "n = DEFAULT, path = excluded.path, channel = excluded.channel, type = excluded.type, " \
      "data = excluded.data")                                                          \
    SQL_WRITING_VALUES(X, SQL_LARGE, ", large = NULL")                                 \
    X(CHANNEL_PUT_LARGE, "WITH l AS (INSERT INTO large_values(data) VALUES(?6) RETURNING id) " \
      "INSERT INTO channels(thread, " CHANNEL_COLUMNS SQL_LARGE ") "                   \
      "SELECT ?1, ?2, ?3, ?4, ?5, ''::bytea, id FROM l "                               \
      "ON CONFLICT (thread, ns, channel, version) DO UPDATE SET type = excluded.type, " \
      "data = excluded.data, large = excluded.large")                                  \
    X(STATE_PUT_LARGE, "WITH l AS (INSERT INTO large_values(data) VALUES(?4) RETURNING id) " \
      "INSERT INTO run_states(thread, " STATE_COLUMNS SQL_LARGE ") "                   \
      "SELECT ?1, ?2, ?3, ''::bytea, ?5, id FROM l ON CONFLICT (thread, ns, id, run) " \
      "DO UPDATE SET n = DEFAULT, state = excluded.state, large = excluded.large")     \
    /* These four must be in this order. */                                            \
    X(CHECKPOINTS_DELETE, "DELETE FROM checkpoints WHERE thread = ?")                  \
    X(CHANNELS_DELETE, "DELETE FROM channels WHERE thread = ?")                        \
    X(WRITES_DELETE, "DELETE FROM run_writes WHERE thread = ?")                        \
    X(STATES_DELETE, "DELETE FROM run_states WHERE thread = ?")                        \
    X(CHECKPOINTS_OF_RUN_DELETE, "DELETE FROM checkpoints WHERE thread = ? AND run = ?") \
    X(WRITES_OF_RUN_DELETE, "DELETE FROM run_writes WHERE thread = ? AND run = ?")     \
    X(STATES_OF_RUN_DELETE, "DELETE FROM run_states WHERE thread = ? AND run = ?")     \
    X(CHECKPOINTS_OLD_DELETE, "DELETE FROM checkpoints c WHERE thread = ?1 AND EXISTS " \
      "(SELECT 1 FROM checkpoints WHERE thread = ?1 AND ns = c.ns AND id > c.id)")     \
    /* These three must be in this order. */                                           \
    X(CHANNELS_SWEEP, "DELETE FROM channels WHERE thread = ?1 AND (ns, channel, version) NOT IN " \
      "(SELECT c.ns, convert_to(v.key, 'UTF8'), convert_to(v.value, 'UTF8') "          \
      "FROM checkpoints c, " SQL_VERSIONS_OF "WHERE c.thread = ?1 AND v.value IS NOT NULL)") \
    X(WRITES_SWEEP, "DELETE FROM run_writes WHERE thread = ?1 AND (ns, checkpoint) NOT IN " \
      "(SELECT ns, id FROM checkpoints WHERE thread = ?1)")                            \
    X(STATES_SWEEP, "DELETE FROM run_states WHERE thread = ?1 AND (ns, id) NOT IN "    \
      "(SELECT ns, id FROM checkpoints WHERE thread = ?1)")                            \
    X(ITEM_PUT, "INSERT INTO items(owner, namespace, key, value, created, updated, ttl_ms, expires) " \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, namespace, key) DO UPDATE SET " \
      "value = excluded.value, updated = excluded.updated, ttl_ms = excluded.ttl_ms, " \
      "expires = excluded.expires")                                                    \
    X(ITEM_INDEX, "INSERT INTO item_vectors(owner, namespace, key, vectors) VALUES(?, ?, ?, ?) " \
      "ON CONFLICT (owner, namespace, key) DO UPDATE SET vectors = excluded.vectors")  \
    X(ITEM_UNINDEX, "DELETE FROM item_vectors WHERE owner = ? AND namespace = ? AND key = ?") \
    X(ITEM_DELETE, "DELETE FROM items WHERE owner = ? AND namespace = ? AND key = ?")  \
    X(ITEM_TOUCH, "UPDATE items SET expires = ?4 + ttl_ms WHERE owner = ?1 AND namespace = ?2 " \
      "AND key = ?3 AND ttl_ms > 0 AND expires > ?4")                                  \
    X(ITEMS_EXPIRE, "DELETE FROM items WHERE (owner, namespace, key) IN (SELECT owner, namespace, " \
      "key FROM items WHERE expires > 0 AND expires <= ? ORDER BY expires LIMIT ?)")   \
    X(ASSISTANT_INSERT, "INSERT INTO assistants(" ASSISTANT_COLUMNS ", counts) "           \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, false) ON CONFLICT DO NOTHING")         \
    X(ASSISTANT_CHOOSE, "UPDATE assistants SET counts = (version = ?2) WHERE id = ?1 " \
      "AND EXISTS (SELECT 1 FROM assistants WHERE id = ?1 AND version = ?2)")          \
    X(CRON_INSERT, "INSERT INTO crons(" CRON_COLUMNS ") "                              \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING") \
    X(CRON_UPDATE, "UPDATE crons SET schedule = ?2, timezone = ?3, on_completed = ?4, " \
      "payload = ?5, metadata = ?6, end_time = ?7, "                                   \
      "next = CASE WHEN ?8::int8 < 0 THEN next ELSE ?8 END, enabled = ?9, updated = ?10, " \
      "moved = CASE WHEN ?8 < 0 THEN moved ELSE ?10 END WHERE id = ?1")                                                                 \
    X(CRON_TICK, "WITH changed AS (UPDATE crons SET next = ?3, moved = ?4 WHERE id = ?1 AND next = ?2 " \
      "RETURNING 1) SELECT must_match(count(*)) FROM changed")                         \
    X(CRON_DELETE, "DELETE FROM crons WHERE id = ?")                                   \
    X(CRONS_FORGET, "DELETE FROM crons WHERE thread = ? OR assistant = ?")             \
    X(WEBHOOK_INSERT, "INSERT INTO webhooks(id, job, thread, owner, url, run, created, state) " \
      "VALUES(?, ?, ?, ?, ?, ?, ?, 'waiting') ON CONFLICT DO NOTHING")                 \
    X(WEBHOOK_END, "UPDATE webhooks SET state = 'pending', status = ?3, error = ?4, "  \
      "output = (SELECT state FROM threads WHERE key = ?2), started = ?5, ended = ?6, " \
      "since = ?6, due = ?6, n = (SELECT max(n) + 1 FROM webhooks) "                   \
      "WHERE job = ?1 AND state = 'waiting'")                                          \
    X(WEBHOOK_MOVE, "WITH changed AS (UPDATE webhooks SET state = ?3, reason = ?4, since = ?5, " \
      "due = ?6, tried = ?7, attempts = ?8, code = ?9, expires = ?10, version = version + 1 " \
      "WHERE id = ?1 AND version = ?2 RETURNING 1) SELECT must_match(count(*)) FROM changed") \
    X(WEBHOOK_FORGET, "DELETE FROM webhooks WHERE job = ? AND state <> 'pending'")     \
    X(WEBHOOKS_EXPIRE, "DELETE FROM webhooks WHERE id IN (SELECT id FROM webhooks "    \
      "WHERE expires > 0 AND expires <= ? LIMIT ?)")                                   \
    X(ASSISTANT_DELETE, "DELETE FROM assistants WHERE id = ?")                         \
    X(THREAD_INSERT, "INSERT INTO threads(" SQL_THREAD_COLUMNS ") "                    \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING") \
    X(THREAD_UPDATE, "UPDATE threads SET status = ?, metadata = ?, config = ?, interrupts = ?, " \
      "error = ?, updated = ?, state_updated = ?, n_runs = ?, ttl_ms = ? WHERE key = ?") \
    X(THREAD_VALUES, "UPDATE threads SET state = ?2, state_updated = ?3, updated = ?3 " \
      "WHERE key = ?1")                                                                \
    X(THREAD_DELETE, "DELETE FROM threads WHERE key = ?")                              \
    X(RUN_READ, "UPDATE runs SET modes = modes | ? WHERE job = ?")                     \
    X(RUN_INSERT, "INSERT INTO runs(job, assistant, metadata, kwargs, strategy, modes, subgraphs) " \
      "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")                            \
    X(TIME_NOTE, "INSERT INTO clock VALUES(?2, ?1) ON CONFLICT (id) DO UPDATE SET at = excluded.at") \
    /* clock.c needs these eight in this order. */                                     \
    X(MOVE_OPEN_JOBS, "UPDATE jobs SET updated = updated + ?1, " SQL_MOVED("lease_until") ", " \
      SQL_MOVED("queue_deadline") ", " SQL_MOVED("run_deadline") ", " SQL_MOVED("answer_by") ", " \
      SQL_MOVED("not_before") ", " SQL_MOVED("cancel_requested") ", "                  \
      SQL_MOVED("pause_requested") " WHERE shard = ?2 AND " SQL_IS_OPEN)                              \
    /* `finished` is shown to people and stays; how long the job is kept after it is changed. */ \
    X(MOVE_FINAL_JOBS, "UPDATE jobs SET expiry_seconds = expiry_seconds + ?1::int8 / 1000 " \
      "WHERE shard = ?2 AND " SQL_IS_FINAL)                                            \
    X(MOVE_QUESTIONS, "UPDATE questions SET asked = asked + ?1, " SQL_MOVED("expires") " " \
      "WHERE answered = 0 AND job IN (SELECT key FROM jobs WHERE shard = ?2)")         \
    X(MOVE_ITEMS, "UPDATE items SET expires = expires + ?1 WHERE expires > 0 AND ?2::int8 = 0") \
    X(MOVE_WEBHOOKS, "UPDATE webhooks SET since = since + ?1, " SQL_MOVED("due") ", "  \
      SQL_MOVED("expires") " WHERE n > 0 AND ?2::int8 = 0")                            \
    X(MOVE_LEAVINGS, "UPDATE leavings SET due = due + ?1 WHERE due > 0 AND ?2::int8 = 0") \
    X(MOVE_SUSPECTS, "UPDATE suspects SET " SQL_MOVED("crashed")                       \
      " WHERE job IN (SELECT key FROM jobs WHERE shard = ?2)")                         \
    X(MOVE_THREADS, "UPDATE threads SET updated = updated + ?1 WHERE ttl_ms > 0 AND shard = ?2")      \
    X(MOVE_TOKENS, "UPDATE tokens SET expires = expires + ?1 WHERE expires > 0 "       \
      "AND created NOT BETWEEN ?2 AND ?3")                                             \
    X(TOKEN_INSERT, "INSERT INTO tokens(" TOKEN_COLUMNS ") "                               \
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING") \
    X(TOKEN_REVOKE, "UPDATE tokens SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END " \
      "WHERE id = ? AND parent IS NULL")                                               \
    X(SESSIONS_OF, "DELETE FROM tokens WHERE parent = ?")                              \
    X(SESSION_DELETE, "DELETE FROM tokens WHERE id = ? AND parent IS NOT NULL")        \
    X(SESSIONS_EXPIRE, "DELETE FROM tokens WHERE parent IS NOT NULL AND expires <= ?") \
    X(TOKENS_CHANGED, "INSERT INTO token_changes VALUES(0, 1) ON CONFLICT (id) DO UPDATE " \
      "SET n = token_changes.n + 1")                                                   \
    X(TOKENS_SEE, "INSERT INTO token_changes VALUES(1, ?) ON CONFLICT (id) DO UPDATE " \
      "SET n = excluded.n")                                                            \
    X(SECRET_INSERT, "INSERT INTO secrets VALUES(?, ?) ON CONFLICT DO NOTHING")
/* clang-format on */

#define SQL_ENUM(name, sql) SQL_##name,
enum postgres_statement {
    SQL_READING(SQL_ENUM) SQL_WRITING(SQL_ENUM) SQL_STATEMENT_MAX,
    SQL_FIRST_WRITING = SQL_BEGIN
};
#undef SQL_ENUM

#endif
