/* The partitions of `records`, and the keys of jobs that go with them.
 *
 * A partition holds the records of jobs that were made within about a day: a range of job keys.
 * Deleting rows costs PostgreSQL as much as writing them, dropping a table next to nothing; so
 * the records of expired jobs stay, invisible, until all jobs of their partition have expired,
 * and then the partition is dropped.
 *
 *     keys      0 ........ 1048577 ........ 2097153 ........ 3145729
 *               closed     │ today          │ made ahead     │
 *               dropped when its jobs have expired
 *
 * When a day is over, the sequence of keys jumps to the next partition, which was made ahead,
 * and the rest of the keys of the last one is not used.  A gateway takes keys in blocks and
 * notes the lowest one that it may still give out (`key_blocks`); a partition with such keys is
 * not dropped.  A gateway's own rest is given up here, by the gateway itself.
 *
 * The ending of an expired job is kept for longer than its other records, so it is moved to
 * `endings` (retention.c).
 *
 * All of it is one function in the database, tend_records(), because it must do several things
 * under one lock, and go on when it does not get the lock: a dump or a long read of `records`
 * holds up the dropping, and must not hold up the gateway.  It is called every 10 seconds and
 * when a gateway connects, and is one short query when there is nothing to do. */
#include "store/postgres/postgres.h"

#include <inttypes.h>
#include <stdio.h>

#define QUOTED(n)  #n
#define TEXT_OF(n) QUOTED(n)

/* Keys of a partition: more jobs in a day begin the next one earlier.  All keys fit into 33
 * bits, as those of SQLite do: enough for 22 years of partitions. */
#define WIDTH 1048576

/* The endings of expired jobs, from `records`. */
#define MOVE_ENDINGS                                                                             \
    "WITH moved AS (DELETE FROM records r USING jobs j WHERE j.key = r.job AND j.first_seq > 1 " \
    "AND r.last >= j.first_seq RETURNING r.*) INSERT INTO endings SELECT * FROM moved"

/* clang-format off */
const char partitions_step[] =
    "CREATE TABLE partitions (first bigint PRIMARY KEY, until bigint NOT NULL,"
    "  opened timestamptz, closed timestamptz);"
    "CREATE TABLE key_blocks (shard bigint PRIMARY KEY, first bigint NOT NULL);"
    "CREATE TABLE endings (job bigint, last bigint, batch bigint, stored bytea NOT NULL,"
    "  PRIMARY KEY (job, last));"
    "CREATE INDEX jobs_held ON jobs(key) WHERE first_seq = 1;"
    /* The records of expired jobs are deleted at this time (milliseconds), if their partition is
     * still there then. */
    "ALTER TABLE leavings ADD COLUMN due bigint NOT NULL DEFAULT 0;"
    "CREATE INDEX leavings_due ON leavings(due, job);"
    /* The partition that had everything becomes the first one, and ends after the last key. */
    "ALTER TABLE records DETACH PARTITION records_rest;"
    "ALTER TABLE records_rest RENAME TO records_0;"
    "ALTER TABLE records ALTER COLUMN stored SET STORAGE EXTERNAL;"
    "INSERT INTO partitions SELECT 0, last_value + " TEXT_OF(WIDTH) ", now() FROM job_keys;"
    "DO $$ BEGIN EXECUTE format('ALTER TABLE records ATTACH PARTITION records_0 FOR VALUES "
    "FROM (0) TO (%s)', (SELECT until FROM partitions)); END $$;"
    MOVE_ENDINGS ";"
    "CREATE OR REPLACE VIEW records_text AS SELECT j.key AS job, convert_from(j.id, 'UTF8') AS id,"
    "  r.last, r.batch, convert_from(r.stored, 'UTF8') AS stored"
    "  FROM (SELECT * FROM records UNION ALL SELECT * FROM endings) r"
    "  LEFT JOIN jobs j ON j.key = r.job;"

    /* ATTACH, unlike CREATE TABLE … PARTITION OF, does not lock out readers. */
    "CREATE FUNCTION make_partition(my_first bigint, my_until bigint) RETURNS void"
    " LANGUAGE plpgsql AS $$ BEGIN"
    "  EXECUTE format('CREATE TABLE records_%s (LIKE records INCLUDING STORAGE)', my_first);"
    "  EXECUTE format('ALTER TABLE records ATTACH PARTITION records_%s FOR VALUES FROM (%s) TO (%s)',"
    "    my_first, my_first, my_until);"
    "  INSERT INTO partitions VALUES(my_first, my_until);"
    " END $$;"

    /* Makes partitions up to the one after that of @my_key. */
    "CREATE FUNCTION reach_partition(my_key bigint) RETURNS void LANGUAGE plpgsql AS $$"
    " DECLARE top bigint; BEGIN"
    "  LOOP"
    "    SELECT max(until) INTO top FROM partitions;"
    "    EXIT WHEN (SELECT count(*) FROM partitions WHERE until > my_key) > 1;"
    "    PERFORM make_partition(top, greatest(top, my_key) + " TEXT_OF(WIDTH) ");"
    "  END LOOP;"
    " END $$;"

    /* A block of keys.  @my_rest is the lowest key that the gateway still has, or 0. */
    "CREATE FUNCTION take_job_keys(my_shard bigint, my_rest bigint) RETURNS bigint"
    " LANGUAGE plpgsql AS $$ DECLARE taken bigint; lowest bigint; BEGIN"
    "  LOCK TABLE key_blocks IN ROW EXCLUSIVE MODE;" /* waits while a partition is closed */
    "  taken := nextval('job_keys');"
    "  lowest := CASE WHEN my_rest > 0 THEN least(my_rest, taken) ELSE taken END;"
    "  INSERT INTO key_blocks VALUES(my_shard, lowest)"
    "    ON CONFLICT (shard) DO UPDATE SET first = excluded.first;"
    "  RETURN taken;"
    " END $$;"

    /* The partitions without jobs that have not expired, and without keys that may be given
     * out. */
    "CREATE VIEW partitions_expired AS SELECT p.first, p.until FROM partitions p"
    "  WHERE p.closed IS NOT NULL"
    "  AND NOT EXISTS (SELECT 1 FROM key_blocks b WHERE b.first < p.until)"
    "  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.first_seq = 1 AND j.key >= p.first"
    "    AND j.key < p.until);"

    "CREATE FUNCTION drop_partition(my_first bigint, my_until bigint) RETURNS void"
    " LANGUAGE plpgsql AS $$ BEGIN"
    "  DELETE FROM partitions WHERE first = my_first;"
    "  DELETE FROM leavings WHERE job >= my_first AND job < my_until;"
    "  EXECUTE format('DROP TABLE records_%s', my_first);" /* last: it locks out readers */
    " END $$;"

    /* Returns the first key of the current partition: lower ones must not be given out. */
    "CREATE FUNCTION tend_records(my_shard bigint) RETURNS bigint LANGUAGE plpgsql AS $$"
    " DECLARE p record; old record; is_over boolean; BEGIN"
    "  SELECT q.*, k.last_value, k.is_called, (SELECT count(*) FROM partitions"
    "      WHERE until > k.last_value) AS n_ahead INTO p FROM job_keys k"
    "    LEFT JOIN partitions q ON q.first <= k.last_value AND q.until > k.last_value;"
    "  is_over := p.is_called AND p.opened < now() - interval '1 day';"
    "  IF p.opened IS NOT NULL AND NOT is_over AND p.n_ahead > 1"
    "    AND NOT EXISTS (SELECT 1 FROM partitions WHERE closed IS NULL AND until <= p.last_value)"
    "    AND NOT EXISTS (SELECT 1 FROM key_blocks WHERE shard = my_shard AND first < p.first)"
    "    AND NOT EXISTS (SELECT 1 FROM partitions_expired) THEN"
    "    RETURN p.first;"
    "  END IF;"
    "  PERFORM set_config('lock_timeout', '200ms', true);"
    "  BEGIN"
    "    LOCK TABLE key_blocks IN SHARE ROW EXCLUSIVE MODE;"
    "    PERFORM reach_partition((SELECT last_value FROM job_keys));"
    /* Again, under the lock: another gateway may have done it meanwhile. */
    "    SELECT q.*, k.last_value, k.is_called INTO p FROM job_keys k"
    "      JOIN partitions q ON q.first <= k.last_value AND q.until > k.last_value;"
    "    IF p.is_called AND p.opened < now() - interval '1 day' THEN"
    "      PERFORM setval('job_keys', p.until, false);"
    "      SELECT * INTO p FROM partitions WHERE first = p.until;"
    "      PERFORM reach_partition(p.first);"
    "    END IF;"
    "    UPDATE partitions SET opened = now() WHERE first = p.first AND opened IS NULL;"
    "    UPDATE partitions SET closed = now() WHERE until <= p.first AND closed IS NULL;"
    "    DELETE FROM key_blocks WHERE shard = my_shard AND first < p.first;"
    "    BEGIN"
    "      FOR old IN SELECT * FROM partitions_expired ORDER BY first LIMIT 1 LOOP"
    "        PERFORM drop_partition(old.first, old.until);"
    "      END LOOP;"
    "    EXCEPTION WHEN lock_not_available THEN NULL; END;"
    "  EXCEPTION WHEN lock_not_available THEN NULL; END;"
    "  PERFORM set_config('lock_timeout', '0', true);"
    "  RETURN p.first;"
    " END $$;";
/* clang-format on */

/* --- in a transaction -------------------------------------------------------------------- */

int partitions_tend(struct postgres_store *s, struct error *err)
{
    struct postgres_params p;
    struct postgres_keys *keys = &s->keys[STORE_JOB_KEYS];
    PGresult *r = NULL;

    params_init(&p, &s->base, SQL_TEND_RECORDS);
    params_int(&p, s->shard);
    int code = rows_get(&p, &r, err);
    if (code == 0 && keys->next < cell_int(r, 0, 0))
        *keys = (struct postgres_keys){ 0 };
    PQclear(r);
    return code;
}

int partitions_reach(struct postgres_store *s, int64_t key, struct error *err)
{
    char sql[80];

    if (key < s->reached)
        return 0;
    (void)snprintf(sql, sizeof(sql), "SELECT reach_partition(%" PRId64 ")", key);
    int code = run_text(s, sql, NULL, err);
    if (code == 0)
        s->reached = key + WIDTH;
    return code;
}

int partitions_keep_endings(struct postgres_store *s, struct error *err)
{
    return run_text(s, MOVE_ENDINGS, NULL, err);
}
