"""/metrics: checked with Prometheus' own tool, and with numbers that the tests know."""

import os
import re
import subprocess

import gateway
from gateway import PULL, STORY, Server, Worker, until
from harness import ON_POSTGRES, case, check, contains, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="[^"\\]*",?)+)\})? ([0-9]+(?:\.[0-9]+)?)')


ONLY_WITH_TLS = {"spoolwire_tls_certificate_expiry_time_seconds"}
# The disk of PostgreSQL is not ours.
ONLY_WITH_SQLITE = {"spoolwire_store_bytes", "spoolwire_store_wal_bytes", "spoolwire_disk_free_bytes"}
ELSEWHERE = ONLY_WITH_TLS | (ONLY_WITH_SQLITE if ON_POSTGRES else set())
# Nobody listens there: what is counted is known all the same.
REDIS = "redis_url: 'unix:/nowhere/redis'\nredis_publish: agent\nredis_subscribe: true\narq_queue: q\n"


class Metrics:
    """One scrape, read strictly."""

    def __init__(self, server):
        answer = server.get("/metrics")
        equal(answer.status, 200, repr(answer))
        equal(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        self.text = answer.body.decode()
        self.values, self.types = {}, {}
        for line in self.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                check(name not in self.types, f"{name} twice")
                self.types[name] = kind
            elif not line.startswith("# HELP "):
                m = LINE.fullmatch(line)
                check(m, f"not a line of ours: {line!r}")
                key = (m[1], frozenset(re.findall(r'([a-z_]+)="([^"]*)"', m[2] or "")))
                check(key not in self.values, f"a series twice: {line!r}")
                self.values[key] = float(m[3])

    def get(self, name, **labels):
        return self.values["spoolwire_" + name, frozenset(labels.items())]

    def __sub__(self, before):
        """What has been counted since: {(name, labels): difference}, without times and sizes."""
        return {(name[len("spoolwire_"):], tuple(sorted(labels))): value - before.values[name, labels]
                for (name, labels), value in self.values.items()
                if value != before.values[name, labels] and name.startswith("spoolwire_")
                and not re.search(r"_bucket$|_sum$|_bytes(_total)?$|_(age|lag)_seconds$|^spoolwire_http_", name)}


def key(name, **labels):
    return name, tuple(sorted(labels.items()))


def promtool(*args, stdin=""):
    done = subprocess.run(["promtool", *args], input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


@case
def promtool_has_nothing_to_say():
    with Server(agents={"pull": PULL}) as s:
        equal(promtool("check", "metrics", stdin=Metrics(s).text), (0, ""))
        gateway.play(s)
        equal(promtool("check", "metrics", stdin=Metrics(s).text), (0, ""))
    code, _ = promtool("check", "metrics", stdin="spoolwire_x_total{ 1\n")
    check(code != 0, "the tool does not see an error")


@case
def every_label_is_explained():
    with open(os.path.join(ROOT, "docs", "operations.md")) as f:
        page = f.read()
    with Server() as s:
        labels = {label for _, pairs in Metrics(s).values for label in pairs}
    labels = {(k, v) for k, v in labels if k not in ("le", "route", "method", "code", "version", "wire", "agent")}
    check(len(labels) > 30, labels)
    equal([label for label in sorted(labels) if f"`{label[0]}`" not in page or f"`{label[1]}`" not in page], [])


@case
def the_shipped_alerts_are_rules_about_metrics_that_exist():
    path = os.path.join(ROOT, "examples", "prometheus-alerts.yaml")
    code, said = promtool("check", "rules", path)
    equal(code, 0, said)
    with open(path) as f:
        used = set(re.findall(r"\b(?:spoolwire|process)_[a-z_]+", f.read()))
    with Server() as s:
        names = {name for name, _ in Metrics(s).values} | ELSEWHERE
    check(len(used) > 5)
    equal(used - names, set(), "metrics that nobody exposes")


@case
def every_family_is_documented_and_no_other():
    with open(os.path.join(ROOT, "docs", "operations.md")) as f:
        documented = set(re.findall(r"^\| `((?:spoolwire|process)_[a-z_]+)", f.read(), re.M))
    with Server(agents={"pull": {**PULL, "serves": "f"}}, top=REDIS) as s:
        exposed = set(Metrics(s).types)
        check(not (exposed & ELSEWHERE), exposed & ELSEWHERE)
        there = exposed | ELSEWHERE
        equal((documented - there, there - documented), (set(), set()), "documented only, exposed only")


@case
def every_series_is_there_at_zero_from_the_start():
    """And no other ever appears: an alert on an increase sees the first one."""
    with Server(agents={"pull": PULL}) as s:
        before = Metrics(s)
        moving = re.compile(r"process_|spoolwire_(build_info|cluster_|http_|store_bytes|store_wal_bytes|disk_free_bytes)")
        equal({k: v for k, v in before.values.items() if v != 0 and not moving.match(k[0])}, {})
        gateway.play(s)
        s.get("/no/such/path")
        equal(set(Metrics(s).values), set(before.values))


@case
def a_job_is_counted_once_everywhere():
    with Server(agents={"pull": PULL}) as s:
        before = Metrics(s)
        id = s.submit()
        lease = Worker(s).lease()
        m = Metrics(s)
        equal((m.get("jobs", state="running"), m.get("leases_active"), m.get("jobs", state="queued")), (1, 1, 0))
        with s.stream(id, "agent") as st:
            until("the reader is seen", lambda: Metrics(s).get("streams_open", transport="sse", wire="agent") == 1)
            lease.send(*STORY[:4])
            lease.send(*STORY[4:])
            lease.append(*STORY[4:], seq=1)  # a repeat
            lease.append("this is no JSON")
            lease.finish()
            st.rest()
        until("the reader is gone", lambda: Metrics(s).get("streams_open", transport="sse", wire="agent") == 0)
        until("the agent's work is counted", lambda: Metrics(s).get("agent_jobs_leased", agent="pull") == 0)
        done = Metrics(s) - before
        records = s.job(id)["events"]
        appended = {k: done.pop(k) for k in list(done) if k[0] == "events_appended_total"}
        equal(sum(appended.values()), records, f"records: {appended}")
        check(appended[key("events_appended_total", type_class="llm")] == 5, appended)
        commits = done.pop(key("store_commit_duration_seconds_count"))
        check(5 <= commits <= 8, f"{commits} commits")
        check(done.pop(key("events_delivery_latency_seconds_count")) >= 2)
        equal(done, {
            key("jobs_submitted_total"): 1,
            key("jobs_finished_total", outcome="succeeded", reason="worker"): 1,
            key("job_queue_wait_seconds_count"): 1,
            key("job_duration_seconds_count"): 1,
            key("events_append_duration_seconds_count"): 4,
            key("events_batch_size_count"): 4,
            key("events_duplicate_total"): 1,
            key("events_rejected_total", reason="bad_line"): 1,
            key("streams_opened_total", transport="sse", wire="agent"): 1,
            key("streams_closed_total", reason="done"): 1,
            key("stream_first_event_seconds_count"): 1,
        })


@case
def processes_are_counted_by_kind():
    worker = ["python3", "-c", """import json, os, sys
print('{"ready":true}', flush=True)
for line in sys.stdin:
    job = json.loads(line)
    if job["input"] == "crash":
        os._exit(1)
    print(json.dumps({"job": job["job"], "attempt": job["attempt"], "finish": {"status": "success"}}), flush=True)"""]
    with Server(agents={"one": {"command": ["sh", "-c", "read job"]},
                        "many": {"command": worker, "pool": {"size": 2, "warm": 2}}}) as s:
        until("two are there", lambda: Metrics(s).get("worker_processes", kind="pool") == 2)
        s.until_state(s.submit("one"), "succeeded")
        s.until_state(s.submit("many"), "succeeded")
        s.until_state(s.submit("many", "crash"), "failed")
        until("the third is there", lambda: Metrics(s).get("worker_processes_started_total", kind="pool") == 3)
        m = Metrics(s)
        equal((m.get("worker_processes", kind="pool"), m.get("pool_crashes_total")), (2, 1))
        until("it is gone", lambda: Metrics(s).get("worker_processes", kind="job") == 0)
        equal(m.get("worker_processes_started_total", kind="job"), 1)


@case
def requests_are_counted_by_route_and_class():
    with Server(agents={"pull": PULL}) as s:
        id = gateway.play(s)
        before = Metrics(s)
        for path in ("/v1/jobs", "/v1/jobs?limit=1", f"/v1/jobs/{id}", "/v1/jobs/none", "/nothing"):
            s.get(path)
        s.request("HEAD", "/v1/jobs")
        s.request("PUT", "/v1/jobs")
        s.post("/v1/jobs", b"{}")
        s.read(id)
        after = Metrics(s)

        def more(route, method, code):
            labels = {"route": route, "method": method, "code": code}
            return after.get("http_requests_total", **labels) - before.get("http_requests_total", **labels)

        equal(more("/v1/jobs", "GET", "2xx"), 3, "with HEAD")
        equal(more("/v1/jobs", "POST", "4xx"), 1)
        equal(more("/v1/jobs/{id}", "GET", "2xx"), 1)
        equal(more("/v1/jobs/{id}", "GET", "4xx"), 1)
        equal(more("/v1/jobs/{id}/events", "GET", "2xx"), 1)
        equal(more("other", "other", "4xx"), 2)
        labels = {"route": "/v1/jobs/{id}/events", "method": "GET"}
        equal(after.get("http_request_duration_seconds_count", **labels), 0, "a stream has no duration")
        labels = {"route": "/v1/jobs/{id}", "method": "GET"}
        equal(after.get("http_request_duration_seconds_count", **labels), 2)
        check(0 < after.get("http_request_duration_seconds_sum", **labels) < 60)


@case
def buckets_rise_and_end_with_the_count():
    with Server(agents={"pull": PULL}) as s:
        gateway.play(s)
        m = Metrics(s)
        series = {}
        for (name, labels), value in m.values.items():
            if name.endswith("_bucket"):
                le = next(v for k, v in labels if k == "le")
                rest = frozenset(x for x in labels if x[0] != "le")
                series.setdefault((name[:-len("_bucket")], rest), []).append((float(le), value))
        check(len(series) > 20)
        for (name, labels), buckets in series.items():
            equal(buckets, sorted(buckets), name)
            equal([v for _, v in buckets], sorted(v for _, v in buckets), name)
            equal(buckets[-1], (float("inf"), m.values[name + "_count", labels]), name)


@case
def readers_are_counted_by_why_they_left():
    with Server(agents={"pull": PULL}) as s:
        id = gateway.play(s)
        last = s.job(id)["events"]
        before = Metrics(s)
        s.read(id)
        equal(Metrics(s).get("stream_replayed_events_total"), last)
        s.read(id, after=3)
        s.read(id, after=last)  # a person: the terminal frame again
        with s.stream(id, header=last) as st:
            equal(st.status, 204)
        with s.stream(id, after=last + 100) as st:
            st.rest()
        open_id = s.submit()
        with s.stream(open_id, "aiq") as st:
            st.until_event("job.status")
        with s.stream(open_id, "raw") as st:
            st.until_id(1)
            equal(s.request("DELETE", f"/v1/jobs/{open_id}").status, 204)
            st.rest()
        def counted():
            done = Metrics(s) - before
            return {k: v for k, v in done.items() if k[0] in ("streams_closed_total", "stream_resumes_total")}
        want = {
            key("streams_closed_total", reason="done"): 4,
            key("streams_closed_total", reason="peer"): 1,
            key("streams_closed_total", reason="deleted"): 1,
            key("stream_resumes_total", result="ok"): 1,
            key("stream_resumes_total", result="empty"): 2,
            key("stream_resumes_total", result="gap"): 1,
        }
        try:
            until("all are counted", lambda: counted() == want)
        except AssertionError:
            equal(counted(), want)


@case
def a_reader_that_takes_nothing_is_counted_as_slow():
    with Server("--write-timeout", "1s", agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        st = gateway.Stream(s, f"/v1/jobs/{id}/events?dialect=raw", receive_buffer=4096)
        for i in range(200):
            lease.send(*(gateway.token("x" * 20000) for _ in range(10)))
            if Metrics(s).get("streams_closed_total", reason="slow") == 1:
                break
        until("it is cut", lambda: Metrics(s).get("streams_closed_total", reason="slow") == 1)
        st.close()


@case
def lost_workers_and_deadlines_are_counted():
    short = {"pull": True, "lease": "200ms"}
    with Server(agents={"twice": {**short, "attempts": 2}, "once": short,
                        "late": {"pull": True, "queue_deadline": "100ms"},
                        "long": {"pull": True, "run_deadline": "100ms"},
                        "asks": {"pull": True, "answer_deadline": "100ms"}}) as s:
        ids = [s.submit(a) for a in ("twice", "once", "late", "long", "asks")]
        asks = Worker(s, "asks").lease()
        asks.send({"type": "graph.interrupt", "question": "Which?"})
        asks.finish("interrupted")
        leases = [Worker(s, agent).lease() for agent in ("twice", "once", "long")]
        for id in ids[1:]:
            s.until_state(id, "failed")
        s.until_state(ids[0], "queued")
        equal(leases[0].try_beat().status, 409)
        m = Metrics(s)
        equal(m.get("events_fenced_total"), 1)
        equal(m.get("reaper_recovered_total", outcome="retried"), 1)
        equal(m.get("reaper_recovered_total", outcome="failed"), 1)
        equal(m.get("lease_expired_total"), 2)
        for reason in ("lease_expired", "queue_deadline", "run_deadline", "answer_deadline"):
            equal(m.get("jobs_finished_total", outcome="failed", reason=reason), 1, reason)
        until("it has waited", lambda: Metrics(s).get("job_oldest_queued_seconds") > 0.1)


@case
def the_work_of_each_agent_is_shown():
    with Server(agents={"pull": PULL, "other": PULL}) as s:
        for _ in range(3):
            s.submit()
        Worker(s).lease()

        def work(agent):
            m = Metrics(s)
            return m.get("agent_jobs_queued", agent=agent), m.get("agent_jobs_leased", agent=agent)
        until("the counts are there", lambda: work("pull") == (2, 1))
        until("the oldest has waited", lambda: Metrics(s).get("agent_oldest_queued_seconds", agent="pull") > 0.1)
        equal(work("other"), (0, 0))
    with Server(agents={'it"s': PULL}) as s:
        equal(s.get("/metrics").body.count(b'spoolwire_agent_jobs_queued{agent="it\\"s"} 0\n'), 1, "an escaped name")


@case
def a_cancel_is_counted_with_its_time():
    with Server(agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        equal(s.post(f"/v1/jobs/{id}/cancel").status, 200)
        equal(Metrics(s).get("cancel_latency_seconds_count"), 0)
        equal(lease.finish(), "cancelled")
        m = Metrics(s)
        equal(m.get("cancel_latency_seconds_count"), 1)
        equal(m.get("jobs_finished_total", outcome="cancelled", reason="cancelled"), 1)


@case
def the_process_is_described():
    with Server() as s:
        m = Metrics(s)
        rss = m.values["process_resident_memory_bytes", frozenset()]
        check(abs(rss - gateway.rss_kb(s.pid) * 1024) < 64 << 20 and rss > 1 << 20, rss)
        with open(f"/proc/{s.pid}/stat") as f:
            start = int(f.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        with open("/proc/uptime") as f:
            age = float(f.read().split()[0]) - start
        import time
        check(abs(m.values["process_start_time_seconds", frozenset()] - (time.time() - age)) < 5)
        fds = len(os.listdir(f"/proc/{s.pid}/fd"))
        check(abs(m.values["process_open_fds", frozenset()] - fds) <= 3)
        contains(m.text, "# HELP spoolwire_jobs Jobs that are not final.\n# TYPE spoolwire_jobs gauge\n")
