"""Webhooks: real receivers, the stock library that verifies signatures, crashes, and what is refused."""

import base64
import json
import os
import subprocess
import sys
import threading
import time

from langgraph_sdk import get_sync_client
from standardwebhooks import Webhook, WebhookVerificationError

from gateway import WAIT, Worker, reserve, until
from graphs import serve
from harness import PROGRAM, case, check, contains, equal, spoolwire
from receivers import Receiver, finish, in_state, one, start

SECRETS = ["whsec_" + base64.b64encode(bytes([i]) * 32).decode() for i in (1, 2)]
LOCAL = ("--webhook-allow", "*,/", "--webhook-private", "127.0.0.1,localhost", "--webhook-retry", "50ms")


@case
def the_end_of_a_run_is_posted_and_signed():
    with Receiver() as r, serve(*LOCAL, "--webhook-secrets", ",".join(SECRETS)) as s:
        client = get_sync_client(url=s.url)
        thread = client.threads.create(metadata={"who": "me"})["thread_id"]
        run = client.runs.create(thread, "agent", input={"n": 1}, metadata={"k": "v"}, webhook=r.url + "?key=1")
        equal(run["kwargs"]["webhook"], r.url + "?key=1")
        equal(s.get("/v1/webhooks").json, {"webhooks": [], "next": None})
        equal(one(s, run["run_id"])["state"], "waiting")
        finish(s, values={"messages": [], "n": 2})
        sent = in_state(s, run["run_id"], "sent")
        equal((sent["attempts"], sent["http_status"], sent["reason"], sent["due_at"]), (1, 200, None, None))
        path, headers, body = r.got[0]
        equal(path, "/hook?key=1")
        equal(headers["webhook-id"], run["run_id"])
        for secret in SECRETS:
            Webhook(secret).verify(body, {k.lower(): v for k, v in headers.items()})
        try:
            Webhook(SECRETS[0]).verify(body + b" ", {k.lower(): v for k, v in headers.items()})
            check(False, "a changed body is verified")
        except WebhookVerificationError:
            pass
        said = json.loads(body)
        equal(said["values"], {"messages": [], "n": 2})
        equal((said["run_id"], said["thread_id"], said["status"], said["multitask_strategy"]), (run["run_id"], thread, "success", "enqueue"))
        equal((said["assistant_id"], said["kwargs"]["config"]["configurable"]["graph_id"]), (run["assistant_id"], "agent"))
        equal((said["metadata"]["k"], said["metadata"]["who"]), ("v", "me"))
        check("error" not in said, said)
        check(said["created_at"] <= said["run_started_at"] <= said["run_ended_at"] <= said["webhook_sent_at"], said)
        equal(sent["body"]["values"], said["values"])
        contains(s.get("/metrics").body.decode(), 'spoolwire_webhooks{state="sent"} 1')
        contains(s.get("/metrics").body.decode(), 'spoolwire_webhook_attempts_total{result="sent"} 1')


@case
def every_way_to_make_a_run_has_webhooks():
    with Receiver() as r, serve(*LOCAL) as s:
        client = get_sync_client(url=s.url)
        s.post("/threads", {"thread_id": "t"})
        waiting = threading.Thread(target=lambda: client.runs.wait("t", "agent", input={}, webhook=r.url + "/wait"))
        waiting.start()
        finish(s, "success", {"a": 1})
        waiting.join(WAIT)
        streaming = threading.Thread(target=lambda: list(client.runs.stream(None, "agent", input={}, webhook=r.url + "/stream")))
        streaming.start()
        finish(s, "success", {"a": 2})
        streaming.join(WAIT)
        client.runs.create_batch([{"assistant_id": "agent", "input": {}, "webhook": r.url + f"/batch{i}"} for i in range(2)])
        finish(s), finish(s)
        cron = client.crons.create("agent", schedule="* * * * * *", webhook=r.url + "/cron")
        finish(s)
        client.crons.delete(cron["cron_id"])
        until("all five", lambda: len(r.got) >= 5)
        equal({path for path, _, _ in r.got}, {"/hook/" + word for word in ("wait", "stream", "batch0", "batch1", "cron")})
        check(all("webhook-signature" not in h for _, h, _ in r.got), "signed without a secret")
        run = start(s, r.url + "/error", "u")
        Worker(s, "agent").lease().finish("failure", error="it broke", error_type="ValueError")
        until("the error", lambda: len(r.got) == 6 and r.got[5][0].endswith("/error"))
        said = r.bodies[5]
        equal((said["run_id"], said["status"], said["error"]), (run, "error", {"error": "ValueError", "message": "it broke"}))
        run = start(s, r.url + "/cancel", "u")
        s.post(f"/threads/u/runs/{run}/cancel")
        until("the cancelled one", lambda: len(r.got) == 7)
        equal(r.bodies[6]["status"], "interrupted")


@case
def it_is_sent_after_a_kill_and_retried_until_it_is_taken():
    answers = [500, 302, 404, 200]
    with reserve() as place, serve(*LOCAL) as s:
        port = place.getsockname()[1]
        run = start(s, f"http://localhost:{port}/hook")  # nobody listens
        Worker(s, "agent").lease().finish("success")
        s.kill()
        s.start()
        tried = until("it has failed", lambda: one(s, run)["attempts"] > 0 and one(s, run)["reason"] and one(s, run))
        equal((tried["state"], tried["http_status"]), ("pending", None))

        def answer(handler, n):
            handler.say(answers[n], [("Location", f"http://127.0.0.1:{port}/other")])
        with Receiver(answer, port=port) as r:
            in_state(s, run, "sent")
            equal([path for path, _, _ in r.got], ["/hook"] * 4, "a redirect was followed")
            equal({h["webhook-id"] for _, h, _ in r.got}, {run})
            equal({h["Host"] for _, h, _ in r.got}, {f"localhost:{port}"})
            delays = [json.loads(b)["webhook_sent_at"] for _, _, b in r.got]
            equal(delays, sorted(delays))
            s.kill()
            s.start()
            time.sleep(0.6)  # two looks: what was sent is not sent again
            equal(len(r.got), 4)


@case
def a_server_that_dies_while_it_sends_sends_again():
    with Receiver(lambda handler, n: time.sleep(60) if n == 0 else handler.say(204)) as r, serve(*LOCAL, "--webhook-timeout", "500ms") as s:
        run = start(s, r.url)
        finish(s)
        until("it is being sent", lambda: r.got)
        s.kill()
        s.start()
        in_state(s, run, "sent")
        equal({h["webhook-id"] for _, h, _ in r.got}, {run})


@case
def slow_and_endless_answers_are_cut():
    def endless(handler, n):
        handler.send_response(200 if n else 500)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 4096)

    with Receiver(lambda handler, n: time.sleep(30)) as slow, Receiver(endless) as big, serve(*LOCAL, "--webhook-timeout", "300ms", "--webhook-max-age", "2s") as s:
        late, much = start(s, slow.url, "a"), start(s, big.url, "b")
        finish(s), finish(s)
        in_state(s, much, "sent")
        equal(len(big.got), 2)
        dead = in_state(s, late, "dead")
        contains(dead["reason"].lower(), "timed out")
        check(dead["attempts"] > 1, dead)


@case
def a_thread_has_its_webhooks_in_order_and_others_do_not_wait():
    with Receiver(lambda handler, n: handler.say(200 if n > 4 else 503)) as r, Receiver() as other, serve(*LOCAL) as s:
        runs = []
        for i in range(5):
            runs.append(start(s, f"{r.url}/{i}"))
            finish(s)
        aside = start(s, other.url, "u")
        finish(s)
        in_state(s, aside, "sent")
        in_state(s, runs[-1], "sent")
        equal([path for path, _, _ in r.got][4:], ["/hook/0", "/hook/0"] + [f"/hook/{i}" for i in range(1, 5)])
        equal([w["id"] for w in s.get("/v1/webhooks").json["webhooks"]], [aside, *reversed(runs)])
        page = s.get("/v1/webhooks?limit=4").json
        rest = s.get(f"/v1/webhooks?limit=4&after={page['next']}").json
        equal([w["id"] for w in page["webhooks"] + rest["webhooks"]], [aside, *reversed(runs)])
        equal(rest["next"], None)


@case
def it_is_dead_after_its_time_and_can_be_sent_again():
    with Receiver(lambda handler, n: handler.say(500)) as r, serve(*LOCAL, "--webhook-max-age", "300ms", "--webhook-keep", "5s") as s:
        first, second, third = (start(s, r.url + f"/{i}") for i in range(3))
        equal(s.post(f"/v1/webhooks/{first}/resend").status, 409)
        finish(s)
        dead = in_state(s, first, "dead")
        contains(dead["reason"], "500")
        equal((dead["http_status"], dead["due_at"]), (500, None))
        finish(s)
        in_state(s, second, "dead")
        equal([w["id"] for w in s.get("/v1/webhooks?state=dead").json["webhooks"]], [second, first])
        equal(s.get("/v1/webhooks?state=sent").json["webhooks"], [])
        equal(s.get("/v1/webhooks?state=x").status, 422)
        equal(s.post("/v1/webhooks/none/resend").status, 404)
        equal(s.get("/v1/webhooks/none").status, 404)
        r.answer = lambda handler, n: handler.say(200)
        listed = spoolwire("webhooks", "--state", "dead", "--json", "--url", s.url).out
        equal([json.loads(row)["id"] for row in listed.splitlines()], [second, first])
        equal(spoolwire("webhooks", "list", "--ids", "--limit", "1", "--url", s.url).out.decode().split(), [second])
        contains(spoolwire("webhooks", "--url", s.url).out.decode(), "it was answered with 500")
        equal(json.loads(spoolwire("webhooks", "show", first, "--url", s.url).out)["body"]["run_id"], first)
        finish(s)
        in_state(s, third, "sent")
        done = spoolwire("webhooks", "resend", first, "--json", "--url", s.url)
        equal((done.code, json.loads(done.out)["id"]), (0, first), done.err)
        sent = in_state(s, first, "sent")
        equal((sent["attempts"], sent["reason"]), (1, None))
        until("the other is deleted", lambda: one(s, second) is None)


@case
def a_deleted_thread_keeps_what_is_pending_only():
    with reserve() as place, Receiver() as r, serve(*LOCAL) as s:
        port = place.getsockname()[1]
        sent, pending = start(s, r.url, "a"), start(s, f"http://127.0.0.1:{port}/hook", "b")
        finish(s, values={"secret": 1}), finish(s, values={"kept": 1})
        in_state(s, sent, "sent")
        running = start(s, r.url, "a")
        Worker(s, "agent").lease()
        for thread in "ab":
            equal(s.request("DELETE", f"/threads/{thread}").status, 204)
        equal(one(s, sent), None)
        in_state(s, running, "sent")
        equal(r.bodies[1]["status"], "interrupted")
        with Receiver(port=port) as late:
            in_state(s, pending, "sent")
            equal(late.bodies[0]["values"], {"kept": 1})


@case
def what_the_settings_do_not_allow_is_refused():
    def refused(s, hook, *words):
        a = s.post("/runs", {"assistant_id": "agent", "input": {}, "webhook": hook})
        equal(a.status, 422, (hook, a))
        for word in words:
            contains(a.detail, word)

    with serve() as s:
        refused(s, "https://example.com/x", "webhook_allow", "example.com")
        refused(s, "/x", "webhook_allow")
        refused(s, 7, "must be a URL")
    flags = ("--webhook-allow", "*.example.com,https://hooks.test:8443/in,10.0.0.7,127.0.0.1,one.test/a,/app/", "--webhook-private", "10.0.0.7")
    with serve(*flags) as s:
        for hook in ("https://example.com/", "https://evil-example.com/", "http://hooks.test:8443/in", "https://hooks.test/in", "https://hooks.test:8443/inside",
                     "https://hooks.test:8443/in/../out", "https://hooks.test:8443/in/%2e%2e/out", "http://one.test/b", "http://example.com.evil.test/"):
            refused(s, hook, "webhook_allow")
        refused(s, "http://127.0.0.1/", "webhook_private", "127.0.0.1")
        refused(s, "/app/x", "no HTTP app")
        for hook in ("ftp://a.example.com/", "http://user@a.example.com/", "http://a.example.com\\@b/", "http://a.example.com:0/", "http://a b/", "//a.example.com/",
                     "http:///", "http://[::1/", "", "http://a.example.com/#x", "javascript:1"):
            refused(s, hook, "not valid")
        equal(s.post("/runs/crons", {"assistant_id": "agent", "schedule": "0 0 1 1 *", "webhook": "http://example.org/"}).status, 422)
        for hook in ("https://a.example.com/x?y=1", "https://A.Example.COM", "https://hooks.test:8443/in?x", "https://hooks.test:8443/in/side", "http://10.0.0.7:1/", "http://one.test/a"):
            a = s.post("/runs", {"assistant_id": "agent", "input": {}, "webhook": hook})
            equal(a.status, 200, (hook, a))
    with serve("--webhook-allow", "*") as s:
        for host in ("127.0.0.1", "127.1", "0x7f000001", "2130706433", "0.0.0.0", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
                     "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "[ff02::1]"):
            refused(s, f"http://{host}/", "private address", "webhook_private")
    with serve("--webhooks=false") as s:
        run = start(s, "http://example.com/")
        finish(s)
        equal(one(s, run), None)


@case
def a_name_that_means_a_private_address_is_not_connected_to():
    with Receiver() as r, serve("--webhook-allow", "*") as s:
        run = start(s, f"http://localhost:{r.port}/hook")  # what it means is known when it is sent
        finish(s)
        dead = in_state(s, run, "dead")
        contains(dead["reason"], "'localhost' has private addresses only")
        contains(dead["reason"], "webhook_private")
        equal((dead["attempts"], dead["http_status"], r.got), (1, None, []))


@case
def the_dns_is_asked_once_and_nothing_else_is_connected_to():
    apart = ["unshare", "--mount", "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        check("CI" not in os.environ, "this must be tried there")
        print("    skipped: this user may not have a network of its own")
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rebinding.py")
    env = {k: v for k, v in os.environ.items() if k != "TEST_STORE"}  # a database is in the other network
    done = subprocess.run([*apart, sys.executable, script, os.path.dirname(PROGRAM)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    equal(done.returncode, 0, done.stdout.decode())
    contains(done.stdout.decode(), "3 passed, 0 failed")


@case
def headers_are_added_and_only_the_fields_that_are_listed_are_sent():
    top = "webhook_headers: ['Authorization: Bearer a, b', 'X-Team: blue']\nwebhook_fields: [run_id, status, values]\n"
    with Receiver() as r, serve(*LOCAL, "--webhook-secrets", SECRETS[0], top=top) as s:
        run = start(s, r.url)
        finish(s, values={"n": 1})
        in_state(s, run, "sent")
        _, headers, body = r.got[0]
        equal((headers["Authorization"], headers["X-Team"]), ("Bearer a, b", "blue"))
        equal(json.loads(body), {"run_id": run, "status": "success", "values": {"n": 1}})
        Webhook(SECRETS[0]).verify(body, {k.lower(): v for k, v in headers.items()})
        equal(set(one(s, run)["body"]), {"run_id", "status", "values"})


@case
def a_host_that_is_slow_keeps_no_other_waiting():
    done = threading.Event()
    with Receiver(lambda handler, n: done.wait(WAIT) and handler.say(200)) as slow, Receiver() as fast, serve(*LOCAL, "--webhook-per-host", "3", "--webhook-timeout", "60s") as s:
        late = []
        for i in range(40):  # more than are sent at a time
            late.append(start(s, slow.url.replace("127.0.0.1", "LOCALHOST" if i % 2 else "localhost"), f"slow-{i}"))
            finish(s)
        until("its places are taken", lambda: len(slow.got) == 3)
        aside = start(s, fast.url, "fast")
        finish(s)
        in_state(s, aside, "sent", 20)
        equal(len(slow.got), 3)
        equal(s.get("/v1/webhooks?state=pending&limit=100").json["next"], None)
        equal(len(s.get("/v1/webhooks?state=pending&limit=100").json["webhooks"]), 40)
        done.set()
        for run in late:
            in_state(s, run, "sent")
        equal(len(slow.got), 40, "each once")


@case
def wrong_settings_are_refused_at_the_start():
    for flag, value, word in (("--webhook-allow", "ftp://x", "webhook_allow"), ("--webhook-allow", "*x", "webhook_allow"),
                              ("--webhook-secrets", "whsec_short", "webhook_secrets"), ("--webhook-headers", "X-Key", "webhook_headers"),
                              ("--webhook-headers", "webhook-id:1", "'webhook-id' is set by the server itself"), ("--webhook-headers", "Host:a", "webhook_headers"),
                              ("--webhook-headers", "X-Key:", "'X-Key' has no value"), ("--webhook-secrets", "!", "webhook_secrets")):
        with serve(flag, value, start=False) as s:
            try:
                s.start()
                check(False, f"{value} was taken")
            except AssertionError as e:
                contains(str(e), word)
            s.process = None
