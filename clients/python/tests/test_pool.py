"""`python -m spoolwire run` as a process of a pool."""

import os
import signal
import subprocess
import sys

import graphs
from gateway import WAIT, until
from support import COMMAND, checkpoints, kinds, noted, text_of, until_in, until_kept

ASK = {"messages": [{"role": "user", "content": "hi"}]}


def test_many_jobs_share_one_process(server, tmp_path):
    gate = tmp_path / "gate"
    jobs = [server.submit("pool", {**ASK, "gate": str(gate)}) for _ in range(5)]
    for job in jobs:
        until_in(server, job, "slow")
    gate.touch()
    for job in jobs:
        ended = server.until_state(job, "succeeded", "failed")
        assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]
        assert text_of(server, job) == graphs.ANSWER
    assert len(set(noted("think")) - {os.getpid()}) >= 1


def test_a_process_that_is_killed_is_followed_by_one_that_goes_on(server, tmp_path):
    """From the checkpoint, which is the server's."""
    gate, before, slow = tmp_path / "gate", len(noted("think")), len(noted("slow"))
    job = server.submit("pool", {**ASK, "gate": str(gate)})
    until("it is in its slow node", lambda: len(noted("slow")) > slow)
    until_kept(server, job, 1)
    os.kill(noted("slow")[-1], signal.SIGKILL)
    gate.touch()
    ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]
    assert ended["attempt"] == 2
    assert len(noted("think")) == before + 1


def test_a_lost_run_of_an_older_checkpoint_goes_on_where_it_was(server, tmp_path):
    """Not where it began."""
    gate = tmp_path / "gate"
    gate.touch()
    thread = server.post("/threads", {}).json["thread_id"]
    server.post(f"/threads/{thread}/runs/wait", {"assistant_id": "pool", "input": {**ASK, "gate": str(gate)}})
    first = next(c["id"] for c in checkpoints(server, thread) if c["metadata"]["step"] == 0)
    gate.unlink()
    before, slow = len(noted("think")), len(noted("slow"))
    run = server.post(f"/threads/{thread}/runs", {"assistant_id": "pool", "input": None, "checkpoint_id": first}).json
    until("it is in its slow node", lambda: len(noted("slow")) > slow)
    until("its first step is kept", lambda: len(
        [c for c in checkpoints(server, thread) if c["metadata"]["step"] == 1]) == 2)
    os.kill(noted("slow")[-1], signal.SIGKILL)
    gate.touch()
    ended = server.until_state(run["run_id"], "succeeded", "failed")
    assert (ended["attempt"], ended["output"]["log"]) == (2, ["think found pool", "slow", "ask", "write"])
    assert len(noted("think")) == before + 1


def test_questions_cancels_and_failures(server, tmp_path):
    asks, fails = server.submit("pool", {**ASK, "ask": True}), server.submit("pool", {**ASK, "fail": True})
    slow = server.submit("pool", {**ASK, "gate": str(tmp_path / "never")})
    assert server.until_state(fails, "failed")["error_type"] == "ValueError"
    until_in(server, slow, "slow")
    server.post(f"/v1/jobs/{slow}/cancel")
    server.until_state(slow, "cancelled")
    server.until_state(asks, "waiting", "failed")
    server.post(f"/v1/jobs/{asks}/answer", {"value": "here"})
    assert "ask here" in server.until_state(asks, "succeeded", "failed")["output"]["log"]


def test_what_is_printed_harms_nothing(tmp_path):
    """Not even while the graph is loaded: standard output is the protocol's."""
    (tmp_path / "loud.py").write_text("print('loading')\nfrom graphs import graph\n")
    done = subprocess.run([*COMMAND, str(tmp_path / "loud.py:graph")], input="", timeout=WAIT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.returncode, done.stdout) == (0, '{"ready":true,"calls":true}\n'), done.stderr
    assert "loading" in done.stderr


def test_no_graph_is_one_line_of_error():
    done = subprocess.run([*COMMAND, "nowhere.py:graph"], input="", timeout=WAIT, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "nowhere.py does not exist" in done.stderr


def test_without_a_pool_it_says_what_is_missing():
    done = subprocess.run([*COMMAND, "nowhere.py:graph"], input="{}", timeout=WAIT, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPOOLWIRE_JOB": "j"})
    assert done.returncode == 1 and "pool: {size: 1}" in done.stderr, done.stderr


def test_stream_modes_give_the_same_frames_as_events(server):
    """Tokens, states, nodes and tools of both; only the graph's own run is known to events alone."""
    jobs = {agent: server.submit(agent, ASK) for agent in ("modes", "outer")}
    for job in jobs.values():
        server.until_state(job, "succeeded", "failed")
    counts = {}
    for agent, job in jobs.items():
        frames = server.read(job, "messages", modes="updates,messages,custom,tasks,checkpoints", subgraphs=1)
        counts[agent] = sorted(f.event.split(":")[0] for f in frames)
        said = kinds(server.read(job, "raw"))
        assert ("run.start" in said) == (agent == "outer")
        counts[agent] += [kind for kind in said if kind.startswith("tool.")]
    assert counts["modes"] == counts["outer"]
    until("both have said the same", lambda: text_of(server, jobs["modes"]) == text_of(server, jobs["outer"]))
