"""The commands, with tokens; and stock clients."""

import os
import subprocess

from callers import Locked, cli
from gateway import PROGRAM, SECRET, WAIT, running, until
from harness import case, cases, check, contains, equal


def env_of(s, caller=None):
    return {"SPOOLWIRE_URL": s.url, **({"SPOOLWIRE_TOKEN": caller.token} if caller else {})}


@case
def commands_send_their_token():
    with Locked() as s:
        client = s.caller("client")
        env = env_of(s, client)
        equal(cli("submit", "pull", "--job-id", "j", env=env)[0], "j\n")
        contains(cli("show", "j", env=env)[0], "queued")
        contains(cli("jobs", env=env)[0], "j")
        cli("cancel", "j", env=env)
        equal(client.state("j"), "cancelled")
        out, _ = cli("tail", "j", "--dialect", "raw", env=env, want=1)
        contains(out, "cancelled")
        cli("delete", "j", env=env)
        equal(client.get("/v1/jobs/j").status, 404)


@cases(["show", "cancel", "tail", "submit", "jobs", "agents"])
def without_one_they_say_so(command):
    with Locked() as s:
        words = {"submit": ["submit", "pull"], "jobs": ["jobs"], "agents": ["agents"]}.get(command, [command, "j"])
        _, err = cli(*words, env=env_of(s), want=3)
        contains(err, "token is needed", "spoolwire token create")
        _, err = cli(*words, env={**env_of(s), "SPOOLWIRE_TOKEN": "spw_x"}, want=3)
        contains(err, "no token that the server knows")


@case
def a_token_from_a_file_and_from_a_flag():
    with Locked() as s:
        client = s.caller("client")
        path = os.path.join(s.folder, "token")
        with open(path, "w") as f:
            f.write(client.token + "\n")
        cli("submit", "pull", "--job-id", "a", "--token-file", path, env=env_of(s))
        cli("submit", "pull", "--job-id", "b", "--token", client.token, env=env_of(s))
        cli("submit", "pull", "--job-id", "c", "--token", client.token, env={**env_of(s), "SPOOLWIRE_TOKEN": "x"})
        equal(len(client.get("/v1/jobs").json["jobs"]), 3)


@case
def the_demo_worker_sends_its_token():
    with Locked() as s:
        client, worker = s.caller("client"), s.caller("worker")
        client.submit(job_id="j", input={"issue": "x", "speed": 0})
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")}
        with running(PROGRAM, "demo-agent", "--pull", s.url, "--agent", "pull", "--jobs", "1",
                     env={**clean, "SPOOLWIRE_TOKEN": worker.token}) as p:
            equal(p.wait(WAIT), 0)
            check(not SECRET.search(p.stderr.read().decode()))
        check(client.state("j") in ("succeeded", "waiting"), client.job("j"))
        with running(PROGRAM, "demo-agent", "--pull", s.url, "--agent", "pull", "--jobs", "1",
                     env={**clean, "SPOOLWIRE_TOKEN": client.token}) as p:
            equal(p.wait(WAIT), 3)
            contains(p.stderr.read().decode(), "scope worker")


@case
def curl_with_a_token():
    with Locked() as s:
        client = s.caller("client")
        client.submit(job_id="j")
        for header in (f"Authorization: Bearer {client.token}", f"authorization: bearer  {client.token}",
                       f"X-Api-Key: {client.token}"):
            p = subprocess.run(["curl", "-sS", "-f", "-H", header, s.url + "/v1/jobs/j"], stdout=subprocess.PIPE, timeout=WAIT)
            equal(p.returncode, 0)
            contains(p.stdout.decode(), '"queued"')


@case
def agents_on_this_machine_get_no_token_of_the_servers():
    """But the one that is made for them."""
    token = cli("token", "create", "--no-store", "--scope", "admin")[0].strip()
    agents = {"nosy": {"command": ["sh", "-c", "env | grep -v SPOOLWIRE_TOKEN= >&2; exit 1"]}}
    with Locked(agents=agents, env={"SPOOLWIRE_TOKEN_ADMIN": token}) as s:
        s.admin.submit("nosy", job_id="j")
        until("it has ended", lambda: s.admin.state("j") == "failed")
        until("it is logged", lambda: "SPOOLWIRE_JOB=j" in s.err())
        check(token not in s.err() and "TOKEN" not in s.err())


@case
def nothing_secret_is_logged():
    """Whatever a caller does wrong.  (Every server of every case is looked at in the same way.)"""
    for log in ("json", "text"):
        with Locked("--access-log", log) as s:
            t = s.admin.token
            s.admin.submit(job_id="j")
            ticket = s.admin.post("/v1/tickets", {"job_id": "j"}).json["ticket"]
            for path in (f"/v1/jobs?token={t}", f"/nowhere?{t}", f"/v1/jobs/j?#{t}",
                         f"/v1/jobs/j/events?ticket={ticket}x", f"/?{t}", f"/v1/jobs/{t}", f"/v1/jobs/{ticket}/events"):
                s.stranger().get(path)
            s.admin.request("DELETE", f"/v1/tokens/{t}")
            with s.connect() as c:
                c.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {t}\r\nbroken\r\n\r\n".encode())
                c.recv(1000)
            with s.connect() as c:
                c.sendall(f"GET /x?{t}".encode())
            with s.connect() as c:  # a stream without an end
                c.sendall(f"GET /v1/jobs/j/events?ticket={ticket}&x={t} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n\r\n".encode())
                check(b" 200 " in c.recv(1000))
            with s.admin.stream("j", ticket=ticket) as st:
                st.until_id(1)
            until("the stream is logged", lambda: "stream" in s.err())
            check(not SECRET.search(s.err()))
