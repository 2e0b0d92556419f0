/* The schema and its versions.
 *
 * Everything is in the first schema of the search path, so that `options=-csearch_path=…` in
 * the URL chooses another one.  The table `spoolwire` marks it as ours, and has the number of
 * steps below that were applied (migration.c applies them).
 *
 * A released step is never changed: it was applied to existing databases.  While gateways are
 * replaced by those of a newer version, the newer ones work on the older schema.  So a step
 * only adds, and what needs it looks at `postgres_store.version`; OLDEST rises when that is no
 * longer worth it.  What a step makes useless is dropped by a step of a later version: sessions
 * that read do not notice that there was a migration. */
#include "store/postgres/postgres.h"

#define QUOTED(n)  #n
#define TEXT_OF(n) QUOTED(n)
/* clang-format off */
#define COLUMN_TEXT(column) ", " #column " bytea"
#define COLUMN_INT(column)  ", " #column " bigint NOT NULL"

static const char *const steps[] = {
    /* 1: all of it. */
    "CREATE TABLE spoolwire (version bigint NOT NULL, identity uuid NOT NULL);"
    "INSERT INTO spoolwire VALUES(0, gen_random_uuid());"
    /* The writer of each shard.  `epoch` rises with every writer; turns lock the row FOR
     * SHARE. */
    "CREATE TABLE shards (shard bigint PRIMARY KEY, epoch bigint NOT NULL, holder text,"
    "  url text);"
    "INSERT INTO shards VALUES(0, 0);"
    /* The number of the last turn that is stored, by writer. */
    "CREATE TABLE turns (shard bigint, epoch bigint, turn bigint NOT NULL,"
    "  PRIMARY KEY (shard, epoch)) WITH (fillfactor = 50);"
    /* Blocks of keys: a sequence never gives a value twice, even after a rollback. */
    "CREATE SEQUENCE job_keys INCREMENT BY " TEXT_OF(POSTGRES_KEY_BLOCK) ";"
    "CREATE SEQUENCE thread_keys INCREMENT BY " TEXT_OF(POSTGRES_KEY_BLOCK) ";"
    /* The fence fails unless the writer is still the one: an empty SELECT would be no error,
     * and what follows it in the pipeline would be committed. */
    "CREATE FUNCTION fence(my_shard bigint, my_epoch bigint, my_turn bigint, my_version bigint)"
    " RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
    "  PERFORM 1 FROM shards JOIN spoolwire ON version = my_version"
    "   WHERE shard = my_shard AND epoch = my_epoch FOR SHARE OF shards;"
    "  IF NOT FOUND THEN RAISE EXCEPTION 'another gateway writes' USING ERRCODE = 'SW001';"
    "  END IF;"
    "  UPDATE turns SET turn = my_turn WHERE shard = my_shard AND epoch = my_epoch;"
    "  IF NOT FOUND THEN RAISE EXCEPTION 'the turn has no row' USING ERRCODE = 'SW001'; END IF;"
    " END $$;"
    "CREATE FUNCTION must(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
    "  IF n = 0 THEN RAISE EXCEPTION 'no row was changed' USING ERRCODE = 'SW002'; END IF;"
    "  RETURN n;"
    " END $$;"
    /* A NUL, which PostgreSQL has in no text, becomes U+FFFD. */
    "CREATE FUNCTION json_of(stored bytea) RETURNS json LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT replace(convert_from(stored, 'UTF8'), '\\u0000', '\\ufffd')::json $$;"

    /* Its row changes with every turn: room in the page, and no index on what changes. */
    "CREATE TABLE jobs (key bigint PRIMARY KEY, shard bigint NOT NULL DEFAULT 0"
    ", unpublished boolean NOT NULL, seq bigint NOT NULL, first_seq bigint NOT NULL"
    ", producer_seq bigint NOT NULL" JOB_FIXED(COLUMN_TEXT, COLUMN_INT)
    JOB_INDEXED(COLUMN_TEXT, COLUMN_INT) JOB_PLAIN(COLUMN_TEXT, COLUMN_INT)
    ") WITH (fillfactor = 70);"
    "CREATE UNIQUE INDEX jobs_id ON jobs(id);"
    "CREATE UNIQUE INDEX jobs_idempotency ON jobs(idempotency_key)"
    "  WHERE idempotency_key IS NOT NULL;"
    "CREATE INDEX jobs_state ON jobs(state, key);"
    "CREATE INDEX jobs_agent ON jobs(agent, key);"
    "CREATE INDEX jobs_agent_state ON jobs(agent, state, key);"
    "CREATE INDEX jobs_owner ON jobs(owner, key) WHERE owner IS NOT NULL;"
    "CREATE INDEX jobs_open ON jobs(key) WHERE " SQL_IS_OPEN ";"
    "CREATE INDEX jobs_whole ON jobs((" SQL_KEPT_UNTIL ")) WHERE " SQL_IS_FINAL "  AND first_seq = 1;"
    "CREATE INDEX jobs_expired ON jobs((" SQL_KEPT_UNTIL ")) WHERE " SQL_IS_FINAL "  AND first_seq > 1;"
    "CREATE INDEX jobs_unpublished ON jobs(key) WHERE unpublished;"
    "CREATE UNIQUE INDEX jobs_thread ON jobs(thread, ordinal) WHERE thread > 0;"
    "CREATE TABLE inputs (job bigint PRIMARY KEY, input bytea NOT NULL);"
    /* Chunks of records, by the seq of the last one.  One partition takes all for now. */
    "CREATE TABLE records (job bigint, last bigint, batch bigint, stored bytea NOT NULL,"
    "  PRIMARY KEY (job, last)) PARTITION BY RANGE (job);"
    "CREATE TABLE records_rest PARTITION OF records DEFAULT;"
    "ALTER TABLE records_rest ALTER COLUMN stored SET STORAGE EXTERNAL;"
    "CREATE TABLE leavings (job bigint PRIMARY KEY, upto bigint NOT NULL);"
    "CREATE TABLE suspects (job bigint PRIMARY KEY, crashed bigint NOT NULL,"
    "  set_aside bigint NOT NULL);"
    "CREATE TABLE questions (job bigint, seq bigint, id bytea NOT NULL, attempt bigint NOT NULL,"
    "  asked bigint NOT NULL, expires bigint NOT NULL, on_expiry bytea NOT NULL, fallback bytea,"
    "  schema bytea, question bytea, context bytea, value bytea, answer bytea, answered_by bytea,"
    "  answered bigint NOT NULL DEFAULT 0, resumed bigint NOT NULL DEFAULT 0,"
    "  PRIMARY KEY (job, seq));"
    "CREATE INDEX questions_open ON questions(job, seq) WHERE answered = 0;"
    "CREATE TABLE threads (key bigint PRIMARY KEY, shard bigint NOT NULL DEFAULT 0,"
    "  id bytea NOT NULL, owner bytea, status bytea NOT NULL, metadata bytea NOT NULL,"
    "  config bytea NOT NULL, interrupts bytea NOT NULL, error bytea, created bigint NOT NULL,"
    "  updated bigint NOT NULL, state_updated bigint NOT NULL, n_runs bigint NOT NULL,"
    "  is_temporary bigint NOT NULL, state bytea, ttl_ms bigint NOT NULL);"
    "CREATE UNIQUE INDEX threads_id ON threads(id);"
    "CREATE INDEX threads_updated ON threads(updated, key) WHERE is_temporary = 0;"
    "CREATE INDEX threads_expiry ON threads((updated + ttl_ms)) WHERE ttl_ms > 0;"
    "CREATE TABLE runs (job bigint PRIMARY KEY, assistant bytea NOT NULL,"
    "  metadata bytea NOT NULL, kwargs bytea NOT NULL, strategy bytea NOT NULL,"
    "  modes bigint NOT NULL, subgraphs bigint NOT NULL);"
    /* Of checkpoints, `run` is their metadata's run_id; of the others, who has written them:
     * the row with the greatest n counts. */
    "CREATE TABLE checkpoints (thread bytea, ns bytea, id bytea, parent bytea,"
    "  type bytea NOT NULL, data bytea NOT NULL, metadata bytea NOT NULL,"
    "  versions bytea NOT NULL, run bytea, PRIMARY KEY (thread, ns, id));"
    "CREATE TABLE channels (thread bytea, ns bytea, channel bytea, version bytea,"
    "  type bytea NOT NULL, data bytea NOT NULL, PRIMARY KEY (thread, ns, channel, version));"
    "CREATE TABLE run_writes (n bigint GENERATED ALWAYS AS IDENTITY, thread bytea, ns bytea,"
    "  checkpoint bytea, task bytea, idx bigint, path bytea NOT NULL, channel bytea NOT NULL,"
    "  type bytea NOT NULL, data bytea NOT NULL, run bytea,"
    "  PRIMARY KEY (thread, ns, checkpoint, task, idx, run));"
    "CREATE TABLE run_states (n bigint GENERATED ALWAYS AS IDENTITY, thread bytea, ns bytea,"
    "  id bytea, state bytea NOT NULL, run bytea, PRIMARY KEY (thread, ns, id, run));"
    "CREATE TABLE items (owner bytea, namespace bytea, key bytea, value bytea NOT NULL,"
    "  created bigint NOT NULL, updated bigint NOT NULL, ttl_ms bigint NOT NULL,"
    "  expires bigint NOT NULL, PRIMARY KEY (owner, namespace, key));"
    "CREATE INDEX items_expiry ON items(expires) WHERE expires > 0;"
    "CREATE TABLE assistants (id bytea, version bigint, owner bytea NOT NULL,"
    "  graph bytea NOT NULL, name bytea NOT NULL, description bytea, config bytea NOT NULL,"
    "  context bytea NOT NULL, metadata bytea NOT NULL, created bigint NOT NULL,"
    "  updated bigint NOT NULL, counts boolean NOT NULL, PRIMARY KEY (id, version));"
    "CREATE TABLE tokens (id bytea PRIMARY KEY, parent bytea, hash bytea NOT NULL, name bytea,"
    "  scopes bytea NOT NULL, owner bytea NOT NULL, jobs bytea, agents bytea,"
    "  max_jobs bigint NOT NULL, max_queued bigint NOT NULL, max_running bigint NOT NULL,"
    "  max_streams bigint NOT NULL, max_events bigint NOT NULL, created bigint NOT NULL,"
    "  expires bigint NOT NULL, revoked bigint NOT NULL);"
    "CREATE TABLE token_changes (id bigint PRIMARY KEY, n bigint NOT NULL);"
    "CREATE TABLE secrets (name bytea PRIMARY KEY, value bytea NOT NULL);"
    "CREATE TABLE clock (id bigint PRIMARY KEY, at bigint NOT NULL);"
    /* For people with psql. */
    "CREATE VIEW records_text AS SELECT j.key AS job, convert_from(j.id, 'UTF8') AS id, r.last,"
    "  r.batch, convert_from(r.stored, 'UTF8') AS stored"
    "  FROM records r LEFT JOIN jobs j ON j.key = r.job;"
    "CREATE VIEW jobs_text AS SELECT key, shard, convert_from(id, 'UTF8') AS id,"
    "  convert_from(agent, 'UTF8') AS agent, convert_from(state, 'UTF8') AS state,"
    "  convert_from(owner, 'UTF8') AS owner, convert_from(error, 'UTF8') AS error,"
    "  to_timestamp(created / 1000.0) AS created, to_timestamp(updated / 1000.0) AS updated,"
    "  attempt, seq FROM jobs;",
    /* 2: several gateways. */
    "CREATE TABLE gateways (id text PRIMARY KEY, url text NOT NULL, version text NOT NULL,"
    "  started bigint NOT NULL, beat bigint NOT NULL, seen timestamptz NOT NULL);"
    /* What other gateways have asked for, and were answered. */
    "CREATE TABLE operations (id bytea PRIMARY KEY, answer bytea NOT NULL,"
    "  at timestamptz NOT NULL DEFAULT now());"
    "CREATE INDEX operations_at ON operations(at);",
    /* 3: partitions of a day. */
    partitions_step,
    /* 4: which schema each gateway understands, for upgrades of one after the other. */
    "ALTER TABLE gateways ADD COLUMN newest_schema bigint NOT NULL DEFAULT 0;",
    /* 5: the job that the writer folds next, while it is cautious (journal/suspects.c). */
    "ALTER TABLE shards ADD COLUMN suspect bigint NOT NULL DEFAULT 0;",
    /* 6: crons.  A turn that takes a tick that was taken meanwhile is repeated. */
    "CREATE TABLE crons (id bytea PRIMARY KEY, owner bytea NOT NULL, assistant bytea NOT NULL,"
    "  thread bytea, schedule bytea NOT NULL, timezone bytea, on_completed bytea,"
    "  payload bytea NOT NULL, metadata bytea NOT NULL, end_time bigint NOT NULL,"
    "  next bigint NOT NULL, enabled bigint NOT NULL, max_jobs bigint NOT NULL,"
    "  max_queued bigint NOT NULL, max_running bigint NOT NULL, created bigint NOT NULL,"
    "  updated bigint NOT NULL, moved bigint NOT NULL);"
    "CREATE INDEX crons_due ON crons(next) WHERE enabled = 1 AND next > 0;"
    "CREATE INDEX crons_thread ON crons(thread) WHERE thread IS NOT NULL;"
    "CREATE FUNCTION must_match(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
    "  IF n = 0 THEN RAISE EXCEPTION 'the row has changed' USING ERRCODE = '40001'; END IF;"
    "  RETURN n;"
    " END $$;",
    /* 7: vectors of items, for searches by meaning. */
    "CREATE TABLE item_vectors (owner bytea, namespace bytea, key bytea, vectors bytea NOT NULL,"
    "  PRIMARY KEY (owner, namespace, key), FOREIGN KEY (owner, namespace, key)"
    "  REFERENCES items ON DELETE CASCADE);"
    "ALTER TABLE item_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL;",
    /* 8: deliveries of webhooks. */
    "CREATE TABLE webhooks (id bytea PRIMARY KEY, job bigint NOT NULL, thread bytea NOT NULL,"
    "  owner bytea, url bytea NOT NULL, run bytea NOT NULL, status bytea, error bytea,"
    "  output bytea, state bytea NOT NULL, reason bytea, created bigint NOT NULL,"
    "  started bigint NOT NULL DEFAULT 0, ended bigint NOT NULL DEFAULT 0,"
    "  since bigint NOT NULL DEFAULT 0, due bigint NOT NULL DEFAULT 0,"
    "  tried bigint NOT NULL DEFAULT 0, attempts bigint NOT NULL DEFAULT 0,"
    "  code bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0,"
    "  expires bigint NOT NULL DEFAULT 0, n bigint NOT NULL DEFAULT 0);"
    "CREATE INDEX webhooks_job ON webhooks(job);"
    "CREATE INDEX webhooks_n ON webhooks(n, id);"
    "CREATE INDEX webhooks_state ON webhooks(state);"
    "CREATE INDEX webhooks_due ON webhooks(due) WHERE state = 'pending';"
    "CREATE INDEX webhooks_thread ON webhooks(thread, n) WHERE state = 'pending';"
    "CREATE INDEX webhooks_expiry ON webhooks(expires) WHERE expires > 0;",
    /* 9: large values of channels and states, which the copies of a thread share: a value goes
     * with the last row that names it.  A copy that another shard is about to commit locks the
     * values which it names: the trigger waits for it, and then sees its rows.  Values from
     * before stay where they are. */
    "CREATE TABLE large_values (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
    "  data bytea NOT NULL);"
    "ALTER TABLE channels ADD COLUMN large bigint REFERENCES large_values;"
    "ALTER TABLE run_states ADD COLUMN large bigint REFERENCES large_values;"
    "CREATE INDEX channels_large ON channels(large) WHERE large IS NOT NULL;"
    "CREATE INDEX states_large ON run_states(large) WHERE large IS NOT NULL;"
    "CREATE FUNCTION large_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    "  PERFORM 1 FROM large_values WHERE id = OLD.large FOR UPDATE;"
    "  DELETE FROM large_values WHERE id = OLD.large"
    "  AND NOT EXISTS (SELECT 1 FROM channels WHERE large = OLD.large)"
    "  AND NOT EXISTS (SELECT 1 FROM run_states WHERE large = OLD.large);"
    "  RETURN NULL;"
    " END $$;"
    "CREATE TRIGGER channels_large_go AFTER DELETE ON channels FOR EACH ROW"
    "  WHEN (OLD.large IS NOT NULL) EXECUTE FUNCTION large_go();"
    "CREATE TRIGGER channels_large_change AFTER UPDATE OF large ON channels FOR EACH ROW"
    "  WHEN (OLD.large IS NOT NULL) EXECUTE FUNCTION large_go();"
    "CREATE TRIGGER states_large_go AFTER DELETE ON run_states FOR EACH ROW"
    "  WHEN (OLD.large IS NOT NULL) EXECUTE FUNCTION large_go();"
    "CREATE TRIGGER states_large_change AFTER UPDATE OF large ON run_states FOR EACH ROW"
    "  WHEN (OLD.large IS NOT NULL) EXECUTE FUNCTION large_go();",
#ifdef NEXT_SCHEMA
    /* Of no release: for the tests of upgrades (tests/cluster/upgrade.py). */
    "CREATE TABLE next_schema (at timestamptz NOT NULL DEFAULT now());"
    "INSERT INTO next_schema DEFAULT VALUES;",
#endif
};
/* clang-format on */

#ifndef OLDEST_SCHEMA /* tests have others */
#define OLDEST_SCHEMA 4
#endif

enum { NEWEST = sizeof(steps) / sizeof(steps[0]), OLDEST = OLDEST_SCHEMA };

long schema_newest(void)
{
    return NEWEST;
}

long schema_oldest(void)
{
    return OLDEST;
}

const char *schema_step(long i)
{
    return steps[i];
}
