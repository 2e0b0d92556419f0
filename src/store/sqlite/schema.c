/* The schema and its versions.
 *
 * The header of a SQLite file has two numbers for applications: application_id marks the file
 * as ours, and user_version is the number of steps below that were applied.  A new file has
 * neither, and no tables.  All missing steps run in one transaction together with the new
 * version, so a file is never between two versions.
 *
 * A released step is never changed: it was applied to existing files. */
#include "store/sqlite/sqlite.h"

#define APPLICATION_ID 0x53705772 /* "SpWr" */

/* In a trigger: the row @old does not name its large value any more. */
#define LARGE_GO(table)                                             \
    "DELETE FROM large_values WHERE id = old.large AND NOT EXISTS " \
    "(SELECT 1 FROM " table " WHERE large = old.large); "

static const char *const steps[] = {
    /* 1: jobs and records. */
    "CREATE TABLE jobs ("
    "  key INTEGER PRIMARY KEY AUTOINCREMENT," /* never reused */
    "  id TEXT NOT NULL,"
    "  agent TEXT NOT NULL,"
    "  state TEXT NOT NULL,"
    "  worker TEXT,"
    "  error TEXT,"
    "  error_type TEXT,"
    "  outcome TEXT,"
    "  idempotency_key TEXT,"
    "  request_hash TEXT,"
    "  attempt INTEGER NOT NULL,"
    "  attempts_left INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  updated INTEGER NOT NULL,"
    "  started INTEGER NOT NULL,"
    "  finished INTEGER NOT NULL,"
    "  lease_until INTEGER NOT NULL,"
    "  queue_deadline INTEGER NOT NULL,"
    "  run_deadline INTEGER NOT NULL,"
    "  run_seconds INTEGER NOT NULL,"
    "  expiry_seconds INTEGER NOT NULL,"
    "  cancel_requested INTEGER NOT NULL,"
    "  producer_seq INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  first_seq INTEGER NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX jobs_id ON jobs(id);"
    "CREATE UNIQUE INDEX jobs_idempotency ON jobs(idempotency_key)"
    "  WHERE idempotency_key IS NOT NULL;"
    /* For lists; each ends with the key, so that rows are in order. */
    "CREATE INDEX jobs_state ON jobs(state);"
    "CREATE INDEX jobs_agent ON jobs(agent);"
    "CREATE INDEX jobs_agent_state ON jobs(agent, state);"
    "CREATE INDEX jobs_open ON jobs(key) WHERE state IN ('queued', 'running', 'waiting');"
    "CREATE INDEX jobs_expiry ON jobs(finished + expiry_seconds * 1000)"
    "  WHERE state IN ('succeeded', 'failed', 'cancelled');"
    /* A separate table, because a job's row is written with every batch and its input only
     * once. */
    "CREATE TABLE inputs (job INTEGER PRIMARY KEY, input TEXT NOT NULL) STRICT;"
    /* id: see record_id(). */
    "CREATE TABLE records (id INTEGER PRIMARY KEY, stored TEXT NOT NULL) STRICT;"
    /* For people with a sqlite3 shell. */
    "CREATE VIEW job_records(job, seq, stored) AS"
    "  SELECT id >> 30, id & 1073741823, stored FROM records;",
    /* 2: owners and tokens. */
    "ALTER TABLE jobs ADD COLUMN owner TEXT;"
    "ALTER TABLE jobs ADD COLUMN holder TEXT;"
    "CREATE INDEX jobs_owner ON jobs(owner) WHERE owner IS NOT NULL;"
    "CREATE TABLE tokens ("
    "  id TEXT PRIMARY KEY,"
    "  parent TEXT,"
    "  hash BLOB NOT NULL,"
    "  name TEXT,"
    "  scopes TEXT NOT NULL,"
    "  owner TEXT NOT NULL,"
    "  jobs TEXT,"
    "  agents TEXT,"
    "  max_jobs INTEGER NOT NULL,"
    "  max_streams INTEGER NOT NULL,"
    "  max_events INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL,"
    "  revoked INTEGER NOT NULL"
    ") STRICT;"
    /* One row with a counter, so that a server notices changes by other processes. */
    "CREATE TABLE token_changes (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;"
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;",
    /* 3: chunks of records, and the producer's batch with them. */
    "ALTER TABLE records ADD COLUMN batch INTEGER;"
    "DROP VIEW job_records;"
    "CREATE VIEW job_runs(job, last_seq, stored, batch) AS"
    "  SELECT id >> 30, id & 1073741823, stored, batch FROM records;",
    /* 4: request ids of leases. */
    "ALTER TABLE jobs ADD COLUMN request_id TEXT;",
    /* 5: retention keeps the ending of a job for a while, and deletes the rest in small steps.
     * Leavings: records up to `upto` are invisible and must be deleted. */
    "CREATE TABLE leavings (job INTEGER PRIMARY KEY, upto INTEGER NOT NULL) STRICT;"
    "INSERT INTO leavings SELECT key, 1073741823 FROM jobs"
    "  WHERE first_seq > seq AND first_seq > 1;"
    "DELETE FROM inputs WHERE job IN (SELECT job FROM leavings);"
    "DELETE FROM jobs WHERE key IN (SELECT job FROM leavings);"
    "DROP INDEX jobs_expiry;"
    "CREATE INDEX jobs_whole ON jobs(finished + expiry_seconds * 1000)"
    "  WHERE state IN ('succeeded', 'failed', 'cancelled') AND first_seq = 1;"
    "CREATE INDEX jobs_expired ON jobs(finished + expiry_seconds * 1000)"
    "  WHERE state IN ('succeeded', 'failed', 'cancelled') AND first_seq > 1;",
    /* 6: limits of an owner's queued and running jobs. */
    "ALTER TABLE jobs ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE tokens ADD COLUMN max_queued INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE tokens ADD COLUMN max_running INTEGER NOT NULL DEFAULT -1;",
    /* 7: questions to people. */
    "ALTER TABLE jobs ADD COLUMN pause_requested INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN answer_by INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE questions ("
    "  job INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  id TEXT NOT NULL,"
    "  attempt INTEGER NOT NULL,"
    "  asked INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL,"
    "  on_expiry TEXT NOT NULL,"
    "  fallback TEXT,"
    "  schema TEXT,"
    "  question TEXT,"
    "  context TEXT,"
    "  value TEXT,"
    "  answer TEXT,"
    "  answered_by TEXT,"
    "  answered INTEGER NOT NULL DEFAULT 0,"
    "  resumed INTEGER NOT NULL DEFAULT 0,"
    "  PRIMARY KEY (job, seq)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX questions_open ON questions(job, seq) WHERE answered = 0;",
    /* 8: checkpoints of graphs. */
    "CREATE TABLE checkpoints ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  id TEXT NOT NULL,"
    "  parent TEXT,"
    "  type TEXT NOT NULL,"
    "  data BLOB NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  versions TEXT NOT NULL,"
    "  PRIMARY KEY (thread, ns, id)"
    ") STRICT;"
    "CREATE TABLE channels ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  channel TEXT NOT NULL,"
    "  version TEXT NOT NULL,"
    "  type TEXT NOT NULL,"
    "  data BLOB NOT NULL,"
    "  PRIMARY KEY (thread, ns, channel, version)"
    ") STRICT;"
    "CREATE TABLE writes ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  checkpoint TEXT NOT NULL,"
    "  task TEXT NOT NULL,"
    "  idx INTEGER NOT NULL,"
    "  path TEXT NOT NULL,"
    "  channel TEXT NOT NULL,"
    "  type TEXT NOT NULL,"
    "  data BLOB NOT NULL,"
    "  PRIMARY KEY (thread, ns, checkpoint, task, idx)"
    ") STRICT;"
    "CREATE TABLE states ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  id TEXT NOT NULL,"
    "  state TEXT NOT NULL,"
    "  PRIMARY KEY (thread, ns, id)"
    ") STRICT;",
    /* 9: how far a job is published to Redis. */
    ("ALTER TABLE jobs ADD COLUMN published INTEGER NOT NULL DEFAULT -1;"
     "CREATE INDEX jobs_unpublished ON jobs(key) WHERE published >= 0;"),
    /* 10: threads and their runs. */
    "ALTER TABLE jobs ADD COLUMN thread INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN values_seq INTEGER NOT NULL DEFAULT 0;"
    "CREATE UNIQUE INDEX jobs_thread ON jobs(thread, ordinal) WHERE thread > 0;"
    "CREATE TABLE threads ("
    "  key INTEGER PRIMARY KEY AUTOINCREMENT," /* never reused */
    "  id TEXT NOT NULL,"
    "  owner TEXT,"
    "  status TEXT NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  config TEXT NOT NULL,"
    "  interrupts TEXT NOT NULL,"
    "  error TEXT,"
    "  created INTEGER NOT NULL,"
    "  updated INTEGER NOT NULL,"
    "  state_updated INTEGER NOT NULL,"
    "  n_runs INTEGER NOT NULL,"
    "  is_temporary INTEGER NOT NULL,"
    "  state TEXT" /* last: it may be long, and lists do not need it */
    ") STRICT;"
    "CREATE UNIQUE INDEX threads_id ON threads(id);"
    "CREATE INDEX threads_updated ON threads(updated) WHERE is_temporary = 0;"
    "CREATE TABLE runs ("
    "  job INTEGER PRIMARY KEY,"
    "  assistant TEXT NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  kwargs TEXT NOT NULL,"
    "  strategy TEXT NOT NULL,"
    "  modes INTEGER NOT NULL,"
    "  subgraphs INTEGER NOT NULL"
    ") STRICT;",
    /* 11: items that graphs keep across threads. */
    "CREATE TABLE items ("
    "  owner TEXT NOT NULL,"
    "  namespace TEXT NOT NULL,"
    "  key TEXT NOT NULL,"
    "  value TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  updated INTEGER NOT NULL,"
    "  ttl_ms INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL,"
    "  PRIMARY KEY (owner, namespace, key)"
    ") STRICT;"
    "CREATE INDEX items_expiry ON items(expires) WHERE expires > 0;",
    /* 12: assistants, a row for each version. */
    "CREATE TABLE assistants ("
    "  id TEXT NOT NULL,"
    "  version INTEGER NOT NULL,"
    "  owner TEXT NOT NULL,"
    "  graph TEXT NOT NULL,"
    "  name TEXT NOT NULL,"
    "  description TEXT,"
    "  config TEXT NOT NULL,"
    "  context TEXT NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  updated INTEGER NOT NULL,"
    "  counts INTEGER NOT NULL,"
    "  PRIMARY KEY (id, version)"
    ") STRICT;",
    /* 13: writes and states belong to the runs that saved them; the last row counts. */
    "CREATE TABLE run_writes ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  checkpoint TEXT NOT NULL,"
    "  task TEXT NOT NULL,"
    "  idx INTEGER NOT NULL,"
    "  path TEXT NOT NULL,"
    "  channel TEXT NOT NULL,"
    "  type TEXT NOT NULL,"
    "  data BLOB NOT NULL,"
    "  run TEXT NOT NULL,"
    "  PRIMARY KEY (thread, ns, checkpoint, task, idx, run)"
    ") STRICT;"
    "INSERT INTO run_writes SELECT thread, ns, checkpoint, task, idx, path, channel, type, data, '' "
    "FROM writes;"
    "DROP TABLE writes;"
    "CREATE TABLE run_states ("
    "  thread TEXT NOT NULL,"
    "  ns TEXT NOT NULL,"
    "  id TEXT NOT NULL,"
    "  state TEXT NOT NULL,"
    "  run TEXT NOT NULL,"
    "  PRIMARY KEY (thread, ns, id, run)"
    ") STRICT;"
    "INSERT INTO run_states SELECT thread, ns, id, state, '' FROM states;"
    "DROP TABLE states;",
    /* 14: threads that expire. */
    "ALTER TABLE threads ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX threads_expiry ON threads(updated + ttl_ms) WHERE ttl_ms > 0;",
    /* 15: signed leases; leases without a signature are marked and no longer valid. */
    "ALTER TABLE jobs ADD COLUMN unsigned_attempt INTEGER NOT NULL DEFAULT 0;"
    "UPDATE jobs SET unsigned_attempt = attempt WHERE state = 'running';",
    /* 16: jobs that the server was folding when it crashed. */
    "CREATE TABLE suspects ("
    "  job INTEGER PRIMARY KEY,"
    "  crashed INTEGER NOT NULL,"
    "  set_aside INTEGER NOT NULL"
    ") STRICT;",
    /* 17: when the server last wrote, to notice a clock that was set back since. */
    "CREATE TABLE clock (id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;",
    /* 18: crons. */
    "CREATE TABLE crons ("
    "  id TEXT PRIMARY KEY,"
    "  owner TEXT NOT NULL,"
    "  assistant TEXT NOT NULL,"
    "  thread TEXT,"
    "  schedule TEXT NOT NULL,"
    "  timezone TEXT,"
    "  on_completed TEXT,"
    "  payload TEXT NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  end_time INTEGER NOT NULL,"
    "  next INTEGER NOT NULL,"
    "  enabled INTEGER NOT NULL,"
    "  max_jobs INTEGER NOT NULL,"
    "  max_queued INTEGER NOT NULL,"
    "  max_running INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  updated INTEGER NOT NULL,"
    "  moved INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX crons_due ON crons(next) WHERE enabled = 1 AND next > 0;",
    /* 19: vectors of items, for searches by meaning. */
    "CREATE TABLE item_vectors ("
    "  owner TEXT NOT NULL,"
    "  namespace TEXT NOT NULL,"
    "  key TEXT NOT NULL,"
    "  vectors BLOB NOT NULL,"
    "  PRIMARY KEY (owner, namespace, key)"
    ") STRICT;"
    "CREATE TRIGGER item_vectors_go AFTER DELETE ON items BEGIN "
    "DELETE FROM item_vectors WHERE owner = old.owner AND namespace = old.namespace "
    "AND key = old.key; END;",
    /* 20: deliveries of webhooks. */
    "CREATE TABLE webhooks ("
    "  id TEXT PRIMARY KEY,"
    "  job INTEGER NOT NULL,"
    "  thread TEXT NOT NULL,"
    "  owner TEXT,"
    "  url TEXT NOT NULL,"
    "  run TEXT NOT NULL,"
    "  status TEXT,"
    "  error TEXT,"
    "  output TEXT,"
    "  state TEXT NOT NULL,"
    "  reason TEXT,"
    "  created INTEGER NOT NULL,"
    "  started INTEGER NOT NULL DEFAULT 0,"
    "  ended INTEGER NOT NULL DEFAULT 0,"
    "  since INTEGER NOT NULL DEFAULT 0,"
    "  due INTEGER NOT NULL DEFAULT 0,"
    "  tried INTEGER NOT NULL DEFAULT 0,"
    "  attempts INTEGER NOT NULL DEFAULT 0,"
    "  code INTEGER NOT NULL DEFAULT 0,"
    "  version INTEGER NOT NULL DEFAULT 0,"
    "  expires INTEGER NOT NULL DEFAULT 0,"
    "  n INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE INDEX webhooks_job ON webhooks(job);"
    "CREATE INDEX webhooks_n ON webhooks(n, id);"
    "CREATE INDEX webhooks_state ON webhooks(state);"
    "CREATE INDEX webhooks_due ON webhooks(due) WHERE state = 'pending';"
    "CREATE INDEX webhooks_thread ON webhooks(thread, n) WHERE state = 'pending';"
    "CREATE INDEX webhooks_expiry ON webhooks(expires) WHERE expires > 0;",
    /* 21: large values of channels and states, which the copies of a thread share: a value
     * goes with the last row that names it.  Values from before stay where they are. */
    "CREATE TABLE large_values (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "ALTER TABLE channels ADD COLUMN large INTEGER;"
    "ALTER TABLE run_states ADD COLUMN large INTEGER;"
    "CREATE INDEX channels_large ON channels(large) WHERE large IS NOT NULL;"
    "CREATE INDEX states_large ON run_states(large) WHERE large IS NOT NULL;"
    "CREATE TRIGGER channels_large_go AFTER DELETE ON channels WHEN old.large IS NOT NULL "
    "BEGIN " LARGE_GO(
        "channels") "END;"
                    "CREATE TRIGGER channels_large_change AFTER UPDATE OF large ON channels "
                    "WHEN old.large IS NOT NULL BEGIN " LARGE_GO(
                        "channels") "END;"
                                    "CREATE TRIGGER states_large_go AFTER DELETE ON run_states WHEN old.large IS NOT NULL "
                                    "BEGIN " LARGE_GO("run_states") "END;",
};

enum { VERSION = sizeof(steps) / sizeof(steps[0]) };

int schema_version(void)
{
    return VERSION;
}

static int number(struct sqlite_store *s, const char *sql, int *ret, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int(stmt, 0);
    else
        (void)fault(&s->base, rc, err); /* before finalize, which gives less detail */
    (void)sqlite3_finalize(stmt);       /* repeats the error */
    return rc == SQLITE_ROW ? 0 : fault(&s->base, rc, NULL);
}

int schema_check(struct sqlite_store *s, int *ret_version, struct error *err)
{
    int application = 0;
    int version = 0;
    int objects = 0;
    int code = number(s, "PRAGMA application_id", &application, err);

    if (code == 0)
        code = number(s, "PRAGMA user_version", &version, err);
    if (code == 0)
        code = number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
    if (code != 0)
        return code;
    if (application == 0 && version == 0 && objects == 0) {
        *ret_version = 0;
        return 0;
    }
    if (application != APPLICATION_ID)
        return error_set(err, ERR_REFUSED,
                         "%s is the SQLite file of another program: give another path, or move "
                         "the file away",
                         s->name);
    if (version > VERSION)
        return error_set(
            err, ERR_REFUSED,
            "%s was written by a newer spoolwire (schema %d, this one knows %d): use "
            "that version, or give another path",
            s->name, version, VERSION);
    if (version < 1)
        return fault(&s->base, SQLITE_CORRUPT, err);
    *ret_version = version;
    return 0;
}

int schema_fault(struct sqlite_store *s, int rc, struct error *err)
{
    if (rc != SQLITE_ERROR)
        return fault(&s->base, rc, err);
    return error_set(err, ERR_IO,
                     "%s does not have the tables of a spoolwire file (%s): restore a backup, "
                     "or give another path",
                     s->name, sqlite3_errmsg(s->db));
}

int schema_migrate(struct sqlite_store *s, int version, struct error *err)
{
    if (version == VERSION)
        return 0;
    /* PRAGMA takes no parameters. */
    char *stamp = sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
                                  APPLICATION_ID, VERSION);
    int rc =
        stamp != NULL ? sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) : SQLITE_NOMEM;

    for (int i = version; rc == SQLITE_OK && i < VERSION; i++)
        rc = sqlite3_exec(s->db, steps[i], NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, stamp, NULL, NULL, NULL);
    sqlite3_free(stamp);
    if (rc == SQLITE_OK)
        return 0;
    int code = schema_fault(s, rc, err);
    (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have rolled back
                                                                already */
    return code;
}
