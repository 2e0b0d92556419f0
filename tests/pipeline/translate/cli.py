"""Help, options, exit statuses, files."""

import os
import re
import subprocess
import tempfile
import time

from events import token, types, whole_job
from harness import (DIALECTS, PROGRAM, TIMEOUT, case, cases, check, contains, equal, frames, parse_ndjson, parse_sse,
                     recording, spoolwire, translate)

SHORT = recording("c-tool-throws-handled.ndjson")
OTHER = recording("py-d-retriever.server.ndjson")
OPTIONS = ["--from", "--to", "--framing", "--after", "--modes", "--subgraphs", "--agent", "--agent-config", "--job",
           "--clock", "--stats", "--strict", "--follow", "--max-line", "--max-depth", "--max-field"]


@cases([["--help"], ["-h"], ["help"]], " ".join)
def help_of_the_program(args):
    done = spoolwire(*args)
    equal((done.code, done.err), (0, ""))
    contains(done.out.decode(), "Usage: spoolwire", "translate", "dialects", "--help", "--version")


@case
def help_of_translate():
    done = spoolwire("translate", "--help")
    equal((done.code, done.err), (0, ""))
    contains(done.out.decode(), "Usage: spoolwire translate", *OPTIONS, *DIALECTS, "sse", "ndjson", "Exit status")


@case
def help_of_dialects():
    done = spoolwire("dialects", "--help")
    equal((done.code, done.err), (0, ""))
    contains(done.out.decode(), "Usage: spoolwire dialects")


@case
def help_fits_a_terminal():
    for args in (["--help"], ["translate", "--help"], ["dialects", "--help"]):
        for line in spoolwire(*args).out.decode().splitlines():
            check(len(line) <= 90, f"{len(line)} columns: {line}")


@case
def version():
    done = spoolwire("--version")
    equal((done.code, done.err), (0, ""))
    check(re.fullmatch(rb"spoolwire \d+\.\d+\.\d+[-\w.]*\n", done.out), done.out)


@case
def dialects_lists_all_with_a_frame_each():
    text = spoolwire("dialects").out.decode()
    blocks = text.strip().split("\n\n")
    equal([b.split("\n")[0] for b in blocks], DIALECTS)
    for b in blocks:
        rows = b.split("\n")
        check(all(row.startswith("    ") for row in rows[1:]), b)
        sample = "\n".join(row[4:] for row in rows[2:]) + "\n\n"
        equal(len(parse_sse(sample.encode())), 1, b)


WRONG = {
    "": (["nothing"], "no command 'nothing'"),
    "an option": (["translate", "--frobnicate"], "--frobnicate"),
    "an option of dialects": (["dialects", "--all"], "--all"),
    "a dialect": (["translate", "--to", "klingon"], "klingon"),
    "a source": (["translate", "--from", "klingon"], "klingon"),
    "a framing": (["translate", "--framing", "morse"], "morse"),
    "a mode": (["translate", "--modes", "values,klingon"], "klingon"),
    "an empty mode": (["translate", "--modes", ""], "mode"),
    "a clock": (["translate", "--clock", "cuckoo"], "cuckoo"),
    "an id": (["translate", "--after", "x"], "'x'"),
    "an id 2": (["translate", "--after", "1.0"], "'1.0'"),
    "an id 3": (["translate", "--after", "-1"], "'-1'"),
    "an id 4": (["translate", "--after", ""], "''"),
    "a size": (["translate", "--max-line", "0"], "'0'"),
    "a size 2": (["translate", "--max-line", "12x"], "'12x'"),
    "a size 3": (["translate", "--max-field", "-1"], "'-1'"),
    "a size 4": (["translate", "--max-line", "99999999999999999999"], "9999"),
    "a size 5": (["translate", "--max-line", "20000G"], "20000G"),
    "a size 6": (["translate", "--max-line", "16KB"], "16KB"),
    "a depth": (["translate", "--max-depth", "257"], "257"),
    "a missing value": (["translate", "--to"], "--to"),
    "an empty job": (["translate", "--job", ""], "job"),
}


@cases(WRONG)
def wrong_use_is_2_and_says_what(key):
    args, word = WRONG[key]
    done = spoolwire(*args, stdin=whole_job())
    equal((done.code, done.out), (2, b""), repr(done))
    contains(done.err, word, "--help", "spoolwire")


@case
def no_command_is_2_with_help():
    done = spoolwire()
    equal(done.code, 2)
    contains((done.out.decode() + done.err), "Usage: spoolwire")


@case
def an_option_may_come_after_the_files_and_with_an_equals_sign():
    want = translate("--to", "nodes", "--framing", "ndjson", SHORT).out
    equal(translate(SHORT, "--to=nodes", "--framing=ndjson").out, want)


@case
def standard_input_is_read_without_files_and_as_a_dash():
    with open(SHORT, "rb") as f:
        stdin = f.read()
    want = translate("--job", "j", SHORT).out
    equal(translate("--job", "j", stdin=stdin).out, want)
    equal(translate("--job", "j", "-", stdin=stdin).out, want)


@case
def agent_and_sse_are_the_defaults():
    equal(translate("--job", "j", SHORT).out,
          translate("--job", "j", "--to", "agent", "--framing", "sse", "--from", "auto", SHORT).out)


def by_job(*args, want=0, stdin=b""):
    """The lines of several jobs, each of which says whose it is: {job: payloads}."""
    jobs = {}
    for row in parse_ndjson(translate("--framing", "ndjson", *args, want=want, stdin=stdin).out):
        equal(list(row), ["job", "id", "event", "data"])
        jobs.setdefault(row["job"], []).append(row["data"])
    return jobs


@case
def each_file_is_a_job():
    jobs = by_job("--to", "raw", SHORT, OTHER, SHORT)
    equal(len(jobs), 3, "a job id of its own for each, also for the same file again")
    for id, records in jobs.items():
        equal((records[0]["kind"], records[0]["job"], records[-1]["kind"]), ("job.start", id, "job.end"))
        equal([r["seq"] for r in records], list(range(1, len(records) + 1)), "ids are dense and begin anew")
    equal(by_job("--to", "raw", SHORT, OTHER, SHORT), jobs, "ids come from the files' names, so they stay the same")


@case
def a_file_among_others_gives_what_it_gives_alone():
    for dialect in DIALECTS:
        args = ("--to", dialect, "--job", "j")
        both, alone = translate(*args, SHORT, OTHER).out, translate(*args, SHORT).out
        check(both.startswith(alone), dialect)
        equal(both[len(alone):], translate("--to", dialect, "--job", "j-2", OTHER).out, dialect)
        jobs = by_job(*args, SHORT, OTHER)
        equal(list(jobs), ["j", "j-2"])
        equal(jobs["j"], [f.json for f in parse_sse(alone)], dialect)


@case
def job_names_the_jobs():
    equal(list(by_job("--to", "raw", "--job", "mine", SHORT, OTHER)), ["mine", "mine-2"])


@case
def a_long_job_id_is_refused_rather_than_cut():
    for n in (50, 100, 200, 4000):
        done = spoolwire("translate", "--to", "raw", "--framing", "ndjson", "--job", "j" * n, SHORT, OTHER)
        if done.code == 2:
            check(n > 50, "a short one")
            contains(done.err, "--help")
            continue
        ids = list(dict.fromkeys(row["job"] for row in parse_ndjson(done.out)))
        equal(ids, ["j" * n, "j" * n + "-2"])


@case
def standard_input_between_files():
    jobs = by_job("--to", "raw", SHORT, "-", OTHER, stdin=whole_job(token("hi")))
    equal([records[-1]["kind"] for records in jobs.values()], ["job.end"] * 3)
    equal([r["text"] for r in list(jobs.values())[1] if r["kind"] == "llm.delta"], ["hi"])


@case
def an_empty_input_gives_nothing():
    for dialect in DIALECTS:
        equal(translate("--to", dialect, stdin=b"").out, b"", dialect)
        equal(translate("--to", dialect, stdin=b"\n\n: a comment\n\n").out, b"", dialect)


@case
def a_missing_file_is_3_and_says_which():
    done = spoolwire("translate", "/no/such/file.ndjson")
    equal((done.code, done.out), (3, b""))
    contains(done.err, "/no/such/file.ndjson", "No such file")


@case
def what_came_before_a_missing_file_is_written():
    done = translate(SHORT, "/no/such/file.ndjson", want=3)
    equal(parse_sse(done.out)[-1].event, "job.done")
    contains(done.err, "/no/such/file.ndjson")


@case
def a_folder_is_3():
    done = spoolwire("translate", "/")
    equal((done.code, done.out), (3, b""))
    contains(done.err, "/: ", "directory")


@case
def a_full_disk_is_3():
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "translate", SHORT], stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
    equal(done.returncode, 3)
    contains(done.stderr.decode(), "No space left")


@case
def a_missing_agent_config_is_trouble_and_a_wrong_one_usage():
    done = spoolwire("translate", "--agent-config", "/no/such.yaml", SHORT)
    equal((done.code, done.out), (3, b""))
    contains(done.err, "/no/such.yaml")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("agents:\n  triage:\n    worker_node: [a]\n")
        f.flush()
        done = spoolwire("translate", "--agent-config", f.name, SHORT)
        equal((done.code, done.out), (2, b""))
        contains(done.err, f.name, "worker_node", "line 3", "worker_nodes")


@case
def stats_go_to_stderr_and_change_nothing():
    plain, stats = translate("--job", "j", SHORT), translate("--job", "j", "--stats", SHORT)
    equal(stats.out, plain.out)
    equal(plain.err, "")
    rows = dict(re.findall(r"^ *([a-z][a-z. ]*?) +(\d+)\b", stats.err, re.M))
    equal(rows["jobs"], "1")
    equal(rows["lines"], str(sum(1 for _ in open(SHORT))))
    equal(rows["bad lines"], "0")
    equal(rows["frames"], str(len(parse_sse(plain.out))))
    equal(rows["bytes out"], str(len(plain.out)))
    equal((rows["node.start"], rows["node.end"], rows["tool.start"], rows["tool.end"]), ("1", "1", "1", "1"))
    equal(rows["open runs"], "0")
    contains(stats.err, "/s)")


@case
def the_real_clock_is_the_default():
    before = time.time() * 1000
    done = spoolwire("translate", "--to", "raw", "--framing", "ndjson", SHORT)
    stamps = [r["ts"] for r in parse_ndjson(done.out)]
    check(before - 2000 <= stamps[0] <= stamps[-1] <= time.time() * 1000 + 2000, (before, stamps[0], stamps[-1]))
    equal(set(r["ts"] for r in frames("--to", "raw", SHORT)), {1767225600000})


@case
def envelope_wraps_json_lines():
    for dialect in DIALECTS:
        args = ("--to", dialect, "--job", "j", SHORT)
        wrapped = parse_ndjson(translate("--framing", "ndjson", "--envelope", *args).out)
        sse = parse_sse(translate(*args).out)
        equal([(w["id"], w["event"], w["data"]) for w in wrapped], [(f.id, f.event, f.json) for f in sse], dialect)


@case
def a_stray_print_of_the_worker_is_reported_and_the_rest_goes_on():
    done = translate("--framing", "ndjson", stdin=b"Loading model...\n" + whole_job(token("hi")), want=1)
    contains(done.err, "(standard input):1: ")
    equal(types(parse_ndjson(done.out))[-1], "job.done")


@case
def a_python_worker_works_the_first_time():
    """The line of the help text: print(json.dumps(event, default=str))."""
    worker = ("import json, sys\n"
              "for line in open(sys.argv[1]): print(json.dumps(json.loads(line), default=str))\n")
    python = subprocess.Popen(["python3", "-c", worker, recording("py-a-supervisor-2-resumed.server.ndjson")],
                              stdout=subprocess.PIPE)
    done = subprocess.run([PROGRAM, "translate", "--to", "messages"], stdin=python.stdout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
    equal((done.returncode, done.stderr), (0, b""))
    equal(python.wait(TIMEOUT), 0)
    equal(parse_sse(done.stdout)[0].event, "metadata")
