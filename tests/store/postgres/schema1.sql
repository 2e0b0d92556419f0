-- A database of schema version 1, as pg_dump gives it: three jobs with 16 records each, of which one (b) has expired.
SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION spoolwire.fence(my_shard bigint, my_epoch bigint, my_turn bigint, my_version bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$ BEGIN  PERFORM 1 FROM shards JOIN spoolwire ON version = my_version   WHERE shard = my_shard AND epoch = my_epoch FOR SHARE OF shards;  IF NOT FOUND THEN RAISE EXCEPTION 'another gateway writes' USING ERRCODE = 'SW001';  END IF;  UPDATE turns SET turn = my_turn WHERE shard = my_shard AND epoch = my_epoch;  IF NOT FOUND THEN RAISE EXCEPTION 'the turn has no row' USING ERRCODE = 'SW001'; END IF; END $$;
CREATE FUNCTION spoolwire.json_of(stored bytea) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT replace(convert_from(stored, 'UTF8'), '\u0000', '\ufffd')::json $$;
CREATE FUNCTION spoolwire.must(n bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$ BEGIN  IF n = 0 THEN RAISE EXCEPTION 'no row was changed' USING ERRCODE = 'SW002'; END IF;  RETURN n; END $$;
CREATE TABLE spoolwire.assistants (
    id bytea NOT NULL,
    version bigint NOT NULL,
    owner bytea NOT NULL,
    graph bytea NOT NULL,
    name bytea NOT NULL,
    description bytea,
    config bytea NOT NULL,
    context bytea NOT NULL,
    metadata bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    counts boolean NOT NULL
);
CREATE TABLE spoolwire.channels (
    thread bytea NOT NULL,
    ns bytea NOT NULL,
    channel bytea NOT NULL,
    version bytea NOT NULL,
    type bytea NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE spoolwire.checkpoints (
    thread bytea NOT NULL,
    ns bytea NOT NULL,
    id bytea NOT NULL,
    parent bytea,
    type bytea NOT NULL,
    data bytea NOT NULL,
    metadata bytea NOT NULL,
    versions bytea NOT NULL,
    run bytea
);
CREATE TABLE spoolwire.clock (
    id bigint NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE spoolwire.inputs (
    job bigint NOT NULL,
    input bytea NOT NULL
);
CREATE TABLE spoolwire.items (
    owner bytea NOT NULL,
    namespace bytea NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    ttl_ms bigint NOT NULL,
    expires bigint NOT NULL
);
CREATE SEQUENCE spoolwire.job_keys
    START WITH 1
    INCREMENT BY 1024
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE spoolwire.jobs (
    key bigint NOT NULL,
    shard bigint DEFAULT 0 NOT NULL,
    unpublished boolean NOT NULL,
    seq bigint NOT NULL,
    first_seq bigint NOT NULL,
    producer_seq bigint NOT NULL,
    id bytea,
    agent bytea,
    owner bytea,
    idempotency_key bytea,
    created bigint NOT NULL,
    max_running bigint NOT NULL,
    published bigint NOT NULL,
    thread bigint NOT NULL,
    ordinal bigint NOT NULL,
    unsigned_attempt bigint NOT NULL,
    state bytea,
    finished bigint NOT NULL,
    expiry_seconds bigint NOT NULL,
    worker bytea,
    holder bytea,
    error bytea,
    error_type bytea,
    outcome bytea,
    request_hash bytea,
    request_id bytea,
    attempt bigint NOT NULL,
    attempts_left bigint NOT NULL,
    updated bigint NOT NULL,
    started bigint NOT NULL,
    lease_until bigint NOT NULL,
    queue_deadline bigint NOT NULL,
    run_deadline bigint NOT NULL,
    run_seconds bigint NOT NULL,
    cancel_requested bigint NOT NULL,
    pause_requested bigint NOT NULL,
    resumed bigint NOT NULL,
    answer_by bigint NOT NULL,
    not_before bigint NOT NULL,
    values_seq bigint NOT NULL
)
WITH (fillfactor='70');
CREATE VIEW spoolwire.jobs_text AS
 SELECT jobs.key,
    jobs.shard,
    convert_from(jobs.id, 'UTF8'::name) AS id,
    convert_from(jobs.agent, 'UTF8'::name) AS agent,
    convert_from(jobs.state, 'UTF8'::name) AS state,
    convert_from(jobs.owner, 'UTF8'::name) AS owner,
    convert_from(jobs.error, 'UTF8'::name) AS error,
    to_timestamp((((jobs.created)::numeric / 1000.0))::double precision) AS created,
    to_timestamp((((jobs.updated)::numeric / 1000.0))::double precision) AS updated,
    jobs.attempt,
    jobs.seq
   FROM spoolwire.jobs;
CREATE TABLE spoolwire.leavings (
    job bigint NOT NULL,
    upto bigint NOT NULL
);
CREATE TABLE spoolwire.questions (
    job bigint NOT NULL,
    seq bigint NOT NULL,
    id bytea NOT NULL,
    attempt bigint NOT NULL,
    asked bigint NOT NULL,
    expires bigint NOT NULL,
    on_expiry bytea NOT NULL,
    fallback bytea,
    schema bytea,
    question bytea,
    context bytea,
    value bytea,
    answer bytea,
    answered_by bytea,
    answered bigint DEFAULT 0 NOT NULL,
    resumed bigint DEFAULT 0 NOT NULL
);
CREATE TABLE spoolwire.records (
    job bigint NOT NULL,
    last bigint NOT NULL,
    batch bigint,
    stored bytea NOT NULL
)
PARTITION BY RANGE (job);
CREATE TABLE spoolwire.records_rest (
    job bigint NOT NULL,
    last bigint NOT NULL,
    batch bigint,
    stored bytea NOT NULL
);
ALTER TABLE ONLY spoolwire.records_rest ALTER COLUMN stored SET STORAGE EXTERNAL;
CREATE VIEW spoolwire.records_text AS
 SELECT j.key AS job,
    convert_from(j.id, 'UTF8'::name) AS id,
    r.last,
    r.batch,
    convert_from(r.stored, 'UTF8'::name) AS stored
   FROM (spoolwire.records r
     LEFT JOIN spoolwire.jobs j ON ((j.key = r.job)));
CREATE TABLE spoolwire.run_states (
    n bigint NOT NULL,
    thread bytea NOT NULL,
    ns bytea NOT NULL,
    id bytea NOT NULL,
    state bytea NOT NULL,
    run bytea NOT NULL
);
ALTER TABLE spoolwire.run_states ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME spoolwire.run_states_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE spoolwire.run_writes (
    n bigint NOT NULL,
    thread bytea NOT NULL,
    ns bytea NOT NULL,
    checkpoint bytea NOT NULL,
    task bytea NOT NULL,
    idx bigint NOT NULL,
    path bytea NOT NULL,
    channel bytea NOT NULL,
    type bytea NOT NULL,
    data bytea NOT NULL,
    run bytea NOT NULL
);
ALTER TABLE spoolwire.run_writes ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME spoolwire.run_writes_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE spoolwire.runs (
    job bigint NOT NULL,
    assistant bytea NOT NULL,
    metadata bytea NOT NULL,
    kwargs bytea NOT NULL,
    strategy bytea NOT NULL,
    modes bigint NOT NULL,
    subgraphs bigint NOT NULL
);
CREATE TABLE spoolwire.secrets (
    name bytea NOT NULL,
    value bytea NOT NULL
);
CREATE TABLE spoolwire.shards (
    shard bigint NOT NULL,
    epoch bigint NOT NULL,
    holder text,
    url text
);
CREATE TABLE spoolwire.spoolwire (
    version bigint NOT NULL,
    identity uuid NOT NULL
);
CREATE TABLE spoolwire.suspects (
    job bigint NOT NULL,
    crashed bigint NOT NULL,
    set_aside bigint NOT NULL
);
CREATE SEQUENCE spoolwire.thread_keys
    START WITH 1
    INCREMENT BY 1024
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE spoolwire.threads (
    key bigint NOT NULL,
    shard bigint DEFAULT 0 NOT NULL,
    id bytea NOT NULL,
    owner bytea,
    status bytea NOT NULL,
    metadata bytea NOT NULL,
    config bytea NOT NULL,
    interrupts bytea NOT NULL,
    error bytea,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    state_updated bigint NOT NULL,
    n_runs bigint NOT NULL,
    is_temporary bigint NOT NULL,
    state bytea,
    ttl_ms bigint NOT NULL
);
CREATE TABLE spoolwire.token_changes (
    id bigint NOT NULL,
    n bigint NOT NULL
);
CREATE TABLE spoolwire.tokens (
    id bytea NOT NULL,
    parent bytea,
    hash bytea NOT NULL,
    name bytea,
    scopes bytea NOT NULL,
    owner bytea NOT NULL,
    jobs bytea,
    agents bytea,
    max_jobs bigint NOT NULL,
    max_queued bigint NOT NULL,
    max_running bigint NOT NULL,
    max_streams bigint NOT NULL,
    max_events bigint NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL,
    revoked bigint NOT NULL
);
CREATE TABLE spoolwire.turns (
    shard bigint NOT NULL,
    epoch bigint NOT NULL,
    turn bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY spoolwire.records ATTACH PARTITION spoolwire.records_rest DEFAULT;
INSERT INTO spoolwire.jobs VALUES (1, 0, true, 16, 1, 0, '\x61', '\x61', NULL, NULL, 0, 0, 0, 0, 0, 0, '\x72756e6e696e67', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO spoolwire.jobs VALUES (3, 0, true, 16, 1, 0, '\x63', '\x61', NULL, NULL, 0, 0, 0, 0, 0, 0, '\x72756e6e696e67', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO spoolwire.jobs VALUES (2, 0, true, 16, 16, 0, '\x62', '\x61', NULL, NULL, 0, 0, 0, 0, 0, 0, '\x737563636565646564', 1000, 86400, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO spoolwire.leavings VALUES (2, 15);
INSERT INTO spoolwire.records_rest VALUES (1, 1, NULL, '\x312f312f626262626262626262626262626262626262626262626262626262626262626262626262');
INSERT INTO spoolwire.records_rest VALUES (1, 2, NULL, '\x312f322f636363636363636363636363636363636363636363636363636363636363636363636363');
INSERT INTO spoolwire.records_rest VALUES (1, 3, NULL, '\x312f332f646464646464646464646464646464646464646464646464646464646464646464646464');
INSERT INTO spoolwire.records_rest VALUES (1, 4, NULL, '\x312f342f656565656565656565656565656565656565656565656565656565656565656565656565');
INSERT INTO spoolwire.records_rest VALUES (2, 1, NULL, '\x322f312f626262626262626262626262626262626262626262626262626262626262626262626262');
INSERT INTO spoolwire.records_rest VALUES (2, 2, NULL, '\x322f322f636363636363636363636363636363636363636363636363636363636363636363636363');
INSERT INTO spoolwire.records_rest VALUES (2, 3, NULL, '\x322f332f646464646464646464646464646464646464646464646464646464646464646464646464');
INSERT INTO spoolwire.records_rest VALUES (2, 4, NULL, '\x322f342f656565656565656565656565656565656565656565656565656565656565656565656565');
INSERT INTO spoolwire.records_rest VALUES (3, 1, NULL, '\x332f312f626262626262626262626262626262626262626262626262626262626262626262626262');
INSERT INTO spoolwire.records_rest VALUES (3, 2, NULL, '\x332f322f636363636363636363636363636363636363636363636363636363636363636363636363');
INSERT INTO spoolwire.records_rest VALUES (3, 3, NULL, '\x332f332f646464646464646464646464646464646464646464646464646464646464646464646464');
INSERT INTO spoolwire.records_rest VALUES (3, 4, NULL, '\x332f342f656565656565656565656565656565656565656565656565656565656565656565656565');
INSERT INTO spoolwire.records_rest VALUES (1, 5, NULL, '\x312f352f666666666666666666666666666666666666666666666666666666666666666666666666');
INSERT INTO spoolwire.records_rest VALUES (1, 6, NULL, '\x312f362f676767676767676767676767676767676767676767676767676767676767676767676767');
INSERT INTO spoolwire.records_rest VALUES (1, 7, NULL, '\x312f372f686868686868686868686868686868686868686868686868686868686868686868686868');
INSERT INTO spoolwire.records_rest VALUES (1, 8, NULL, '\x312f382f696969696969696969696969696969696969696969696969696969696969696969696969');
INSERT INTO spoolwire.records_rest VALUES (2, 5, NULL, '\x322f352f666666666666666666666666666666666666666666666666666666666666666666666666');
INSERT INTO spoolwire.records_rest VALUES (2, 6, NULL, '\x322f362f676767676767676767676767676767676767676767676767676767676767676767676767');
INSERT INTO spoolwire.records_rest VALUES (2, 7, NULL, '\x322f372f686868686868686868686868686868686868686868686868686868686868686868686868');
INSERT INTO spoolwire.records_rest VALUES (2, 8, NULL, '\x322f382f696969696969696969696969696969696969696969696969696969696969696969696969');
INSERT INTO spoolwire.records_rest VALUES (3, 5, NULL, '\x332f352f666666666666666666666666666666666666666666666666666666666666666666666666');
INSERT INTO spoolwire.records_rest VALUES (3, 6, NULL, '\x332f362f676767676767676767676767676767676767676767676767676767676767676767676767');
INSERT INTO spoolwire.records_rest VALUES (3, 7, NULL, '\x332f372f686868686868686868686868686868686868686868686868686868686868686868686868');
INSERT INTO spoolwire.records_rest VALUES (3, 8, NULL, '\x332f382f696969696969696969696969696969696969696969696969696969696969696969696969');
INSERT INTO spoolwire.records_rest VALUES (1, 9, NULL, '\x312f392f6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a');
INSERT INTO spoolwire.records_rest VALUES (1, 10, NULL, '\x312f31302f6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b');
INSERT INTO spoolwire.records_rest VALUES (1, 11, NULL, '\x312f31312f6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c');
INSERT INTO spoolwire.records_rest VALUES (1, 12, NULL, '\x312f31322f6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d');
INSERT INTO spoolwire.records_rest VALUES (2, 9, NULL, '\x322f392f6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a');
INSERT INTO spoolwire.records_rest VALUES (2, 10, NULL, '\x322f31302f6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b');
INSERT INTO spoolwire.records_rest VALUES (2, 11, NULL, '\x322f31312f6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c');
INSERT INTO spoolwire.records_rest VALUES (2, 12, NULL, '\x322f31322f6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d');
INSERT INTO spoolwire.records_rest VALUES (3, 9, NULL, '\x332f392f6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a');
INSERT INTO spoolwire.records_rest VALUES (3, 10, NULL, '\x332f31302f6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b');
INSERT INTO spoolwire.records_rest VALUES (3, 11, NULL, '\x332f31312f6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c');
INSERT INTO spoolwire.records_rest VALUES (3, 12, NULL, '\x332f31322f6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d');
INSERT INTO spoolwire.records_rest VALUES (1, 13, NULL, '\x312f31332f6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e');
INSERT INTO spoolwire.records_rest VALUES (1, 14, NULL, '\x312f31342f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f');
INSERT INTO spoolwire.records_rest VALUES (1, 15, NULL, '\x312f31352f7070707070707070707070707070707070707070707070707070707070707070707070');
INSERT INTO spoolwire.records_rest VALUES (1, 16, NULL, '\x312f31362f7171717171717171717171717171717171717171717171717171717171717171717171');
INSERT INTO spoolwire.records_rest VALUES (2, 13, NULL, '\x322f31332f6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e');
INSERT INTO spoolwire.records_rest VALUES (2, 14, NULL, '\x322f31342f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f');
INSERT INTO spoolwire.records_rest VALUES (2, 15, NULL, '\x322f31352f7070707070707070707070707070707070707070707070707070707070707070707070');
INSERT INTO spoolwire.records_rest VALUES (2, 16, NULL, '\x322f31362f7171717171717171717171717171717171717171717171717171717171717171717171');
INSERT INTO spoolwire.records_rest VALUES (3, 13, NULL, '\x332f31332f6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e');
INSERT INTO spoolwire.records_rest VALUES (3, 14, NULL, '\x332f31342f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f');
INSERT INTO spoolwire.records_rest VALUES (3, 15, NULL, '\x332f31352f7070707070707070707070707070707070707070707070707070707070707070707070');
INSERT INTO spoolwire.records_rest VALUES (3, 16, NULL, '\x332f31362f7171717171717171717171717171717171717171717171717171717171717171717171');
INSERT INTO spoolwire.shards VALUES (0, 1, 'c3915e71-209f-4132-bfc8-fd2dc65494ad', NULL);
INSERT INTO spoolwire.spoolwire VALUES (1, 'ef3484cf-9b7e-4f04-992e-0e3c4fde437c');
INSERT INTO spoolwire.turns VALUES (0, 1, 5);
SELECT pg_catalog.setval('spoolwire.job_keys', 1, true);
SELECT pg_catalog.setval('spoolwire.run_states_n_seq', 1, false);
SELECT pg_catalog.setval('spoolwire.run_writes_n_seq', 1, false);
SELECT pg_catalog.setval('spoolwire.thread_keys', 1, false);
ALTER TABLE ONLY spoolwire.assistants
    ADD CONSTRAINT assistants_pkey PRIMARY KEY (id, version);
ALTER TABLE ONLY spoolwire.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (thread, ns, channel, version);
ALTER TABLE ONLY spoolwire.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (thread, ns, id);
ALTER TABLE ONLY spoolwire.clock
    ADD CONSTRAINT clock_pkey PRIMARY KEY (id);
ALTER TABLE ONLY spoolwire.inputs
    ADD CONSTRAINT inputs_pkey PRIMARY KEY (job);
ALTER TABLE ONLY spoolwire.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (owner, namespace, key);
ALTER TABLE ONLY spoolwire.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (key);
ALTER TABLE ONLY spoolwire.leavings
    ADD CONSTRAINT leavings_pkey PRIMARY KEY (job);
ALTER TABLE ONLY spoolwire.questions
    ADD CONSTRAINT questions_pkey PRIMARY KEY (job, seq);
ALTER TABLE ONLY spoolwire.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (job, last);
ALTER TABLE ONLY spoolwire.records_rest
    ADD CONSTRAINT records_rest_pkey PRIMARY KEY (job, last);
ALTER TABLE ONLY spoolwire.run_states
    ADD CONSTRAINT run_states_pkey PRIMARY KEY (thread, ns, id, run);
ALTER TABLE ONLY spoolwire.run_writes
    ADD CONSTRAINT run_writes_pkey PRIMARY KEY (thread, ns, checkpoint, task, idx, run);
ALTER TABLE ONLY spoolwire.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (job);
ALTER TABLE ONLY spoolwire.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY spoolwire.shards
    ADD CONSTRAINT shards_pkey PRIMARY KEY (shard);
ALTER TABLE ONLY spoolwire.suspects
    ADD CONSTRAINT suspects_pkey PRIMARY KEY (job);
ALTER TABLE ONLY spoolwire.threads
    ADD CONSTRAINT threads_pkey PRIMARY KEY (key);
ALTER TABLE ONLY spoolwire.token_changes
    ADD CONSTRAINT token_changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY spoolwire.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY spoolwire.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (shard, epoch);
CREATE INDEX items_expiry ON spoolwire.items USING btree (expires) WHERE (expires > 0);
CREATE INDEX jobs_agent ON spoolwire.jobs USING btree (agent, key);
CREATE INDEX jobs_agent_state ON spoolwire.jobs USING btree (agent, state, key);
CREATE INDEX jobs_expired ON spoolwire.jobs USING btree (((finished + (expiry_seconds * 1000)))) WHERE ((state = ANY (ARRAY['\x737563636565646564'::bytea, '\x6661696c6564'::bytea, '\x63616e63656c6c6564'::bytea])) AND (first_seq > 1));
CREATE UNIQUE INDEX jobs_id ON spoolwire.jobs USING btree (id);
CREATE UNIQUE INDEX jobs_idempotency ON spoolwire.jobs USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX jobs_open ON spoolwire.jobs USING btree (key) WHERE (state = ANY (ARRAY['\x717565756564'::bytea, '\x72756e6e696e67'::bytea, '\x77616974696e67'::bytea]));
CREATE INDEX jobs_owner ON spoolwire.jobs USING btree (owner, key) WHERE (owner IS NOT NULL);
CREATE INDEX jobs_state ON spoolwire.jobs USING btree (state, key);
CREATE UNIQUE INDEX jobs_thread ON spoolwire.jobs USING btree (thread, ordinal) WHERE (thread > 0);
CREATE INDEX jobs_unpublished ON spoolwire.jobs USING btree (key) WHERE unpublished;
CREATE INDEX jobs_whole ON spoolwire.jobs USING btree (((finished + (expiry_seconds * 1000)))) WHERE ((state = ANY (ARRAY['\x737563636565646564'::bytea, '\x6661696c6564'::bytea, '\x63616e63656c6c6564'::bytea])) AND (first_seq = 1));
CREATE INDEX questions_open ON spoolwire.questions USING btree (job, seq) WHERE (answered = 0);
CREATE INDEX threads_expiry ON spoolwire.threads USING btree (((updated + ttl_ms))) WHERE (ttl_ms > 0);
CREATE UNIQUE INDEX threads_id ON spoolwire.threads USING btree (id);
CREATE INDEX threads_updated ON spoolwire.threads USING btree (updated, key) WHERE (is_temporary = 0);
ALTER INDEX spoolwire.records_pkey ATTACH PARTITION spoolwire.records_rest_pkey;
