"""--after, --agent, --agent-config, --modes, --subgraphs, --aiq-compat, --stored."""

import os
import tempfile

from events import tool_end, tool_start, types, whole_job
from harness import DIALECTS, case, cases, check, equal, frames, parse_sse, recording, translate

SHORT = recording("py-k-interrupts-2-two-parallel.server.ndjson")
WRITER = recording("py-a-supervisor-2-resumed.server.ndjson")
FIRST = recording("py-a-supervisor-1-until-interrupt.server.ndjson")


EVER = 10 ** 9


def cursor(id):
    """An id as (seq, k): `57` is past everything of record 57, `57.1` past its first frame."""
    seq, _, k = id.partition(".")
    return int(seq), int(k) if k else EVER


def positions(ids):
    """Frames as (seq, k).  The last one of a record has no k in its id: it is one more."""
    return [(seq, k if k != EVER else 1 + sum(i.startswith(f"{seq}.") for i in ids)) for seq, k in map(cursor, ids)]


def after(text, *args):
    return translate("--job", "j", "--after", text, *args).out


@cases(DIALECTS)
def after_every_id(dialect):
    """Also ids that no frame of this dialect has: a reader may change dialects."""
    for path in (SHORT, recording("c-tool-throws-handled.ndjson")):
        args = ("--to", dialect, "--modes", "all", path)
        full = translate("--job", "j", *args).out
        texts = [block + b"\n\n" for block in full.split(b"\n\n")[:-1]]
        ids = [f.id for f in parse_sse(full)]
        check(all(ids), "every frame of a stored record has an id")
        at = positions(ids)
        equal(at, sorted(set(at)), "ids go up, each is there once")
        last = at[-1][0]
        asked = set(ids) | {str(n) for n in range(last + 3)} | {f"{n}.{k}" for n in range(1, last + 1) for k in (1, 2, 5)}
        for id in asked:
            want = b"".join(t for t, p in zip(texts, at) if p > cursor(id))
            equal(after(id, *args), want, f"after {id}")


@cases(DIALECTS)
def after_in_json_lines(dialect):
    args = ("--to", dialect, SHORT)
    rows = translate("--job", "j", "--framing", "ndjson", *args).out.splitlines(keepends=True)
    ids = [f.id for f in parse_sse(translate("--job", "j", *args).out)]
    for i, id in enumerate(ids):
        equal(after(id, "--framing", "ndjson", *args), b"".join(rows[i + 1:]), id)


@case
def after_inside_a_record_with_two_frames():
    """A writer's token is agent.token and output.token: ids 12.1 and 12."""
    full = parse_sse(translate("--job", "j", WRITER).out)
    ids = [f.id for f in full]
    inner = [i for i in ids if "." in i]
    check(len(inner) > 5, "such records are there")
    for id in inner[:5]:
        rest = parse_sse(after(id, WRITER))
        equal(rest[0].id, id.split(".")[0])
        equal(rest[0].event, "output.token")
        equal([f.id for f in rest], [i for i, p in zip(ids, positions(ids)) if p > cursor(id)])


@case
def ids_do_not_depend_on_what_is_shown():
    """k counts before any filter, so a cursor means the same in every variant."""
    everything = {f.id: f.data for f in parse_sse(translate("--to", "messages", "--modes", "all", FIRST).out)}
    for mode in ("values", "updates", "messages", "custom", "events"):
        for f in parse_sse(translate("--to", "messages", "--modes", mode, FIRST).out):
            equal(everything.get(f.id), f.data, f"{mode} {f.id}")


# --- agents -----------------------------------------------------------------------------------


def cards(*args):
    return [f["node"] for f in frames(*args, FIRST) if f["type"] == "agent.spawned"]


def complete(*args):
    return [f["node"] for f in frames(*args, FIRST) if f["type"] == "graph.node_complete"]


WORKERS = ["investigator", "codebase_search", "web_search", "critic", "investigator"]


@case
def the_default_agent_has_cards_for_all_but_two():
    equal(cards(), WORKERS)
    equal(len(complete()), 11)


@cases(["triage", "demo"])
def agents_that_are_built_in(name):
    equal(cards("--agent", name), WORKERS)
    equal(len(complete("--agent", name)), 11)
    # Another graph has none of these nodes.
    got = frames("--agent", name, recording("b-react-nested.ndjson"))
    equal(types(got), ["job.done"])


def config(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".yaml")
    f.write(text)
    f.flush()
    return f


@case
def agent_config_changes_cards():
    with config("agents:\n  '*':\n    worker_nodes: [critic]\n    all_nodes: {all_but: [supervisor]}\n"
                "  other:\n    worker_nodes: [web_search, supervisor]\n") as f:
        equal(cards("--agent-config", f.name), ["critic"])
        equal(complete("--agent-config", f.name), WORKERS)
        equal(cards("--agent-config", f.name, "--agent", "other"), ["supervisor"] * 3 + ["web_search"] + ["supervisor"] * 3)
        got = frames("--agent-config", f.name, FIRST)
        ids = {g["agent_id"] for g in got if g["type"] == "agent.spawned"}
        check({g["agent_id"] for g in got if g["type"] in ("agent.token", "agent.done")} <= ids, "no token without a card")


@case
def agent_config_changes_output_nodes_and_sections():
    with config("agents:\n  '*':\n    output_nodes: [supervisor]\n") as f:
        got = frames("--agent-config", f.name, WRITER)
        equal("".join(g["token"] for g in got if g["type"] == "output.token"), '{"next": "writer"}')
        check("output.section_done" not in types(got), "the writer writes no section any more")
    with config("agents:\n  '*':\n    sections: [report]\n") as f:
        got = frames("--agent-config", f.name, WRITER)
        equal([g["section"] for g in got if g["type"] == "output.section_done"], ["report"])
        equal({g["section"] for g in got if g["type"] == "output.token"}, {"report", None})


@case
def agent_config_changes_previews():
    with config("agents:\n  '*':\n    input_preview: 7\n    result_preview: 3\n") as f:
        got = frames("--agent-config", f.name, FIRST)
        equal({len(g["input_preview"]) for g in got if g["type"] == "agent.tool_call"}, {7})
        equal({len(g["result_summary"]) for g in got if g["type"] == "agent.tool_result"}, {3})
    got = frames(FIRST)
    equal(max(len(g["input_preview"]) for g in got if g["type"] == "agent.tool_call"), 60)
    equal(max(len(g["result_summary"]) for g in got if g["type"] == "agent.tool_result"), 120)


@case
def previews_count_characters_and_cut_none():
    text = "\U0001F600é" * 100
    got = frames(stdin=whole_job(tool_start("t", text), tool_end("t", text)))
    equal(got[1]["input_preview"], '"' + text[:59])
    equal(got[2]["result_summary"], text[:120])


@case
def agent_config_state_keys():
    with config("agents:\n  '*':\n    state_keys: [no_such_key]\n") as f:
        equal(cards("--agent-config", f.name), [])
    with config("agents:\n  '*':\n    state_keys: [issue]\n") as f:
        equal(cards("--agent-config", f.name), WORKERS)


@case
def the_example_in_the_tree_is_valid():
    path = os.path.join(os.path.dirname(recording("")), "..", "..", "examples", "agents.yaml")
    translate("--agent-config", path, SHORT)


# --- messages ---------------------------------------------------------------------------------


def names(*args, path=None):
    return [f.event for f in parse_sse(translate("--to", "messages", *args, path or FIRST).out)]


@cases(["values", "updates", "messages", "custom", "events"])
def modes_choose(mode):
    got = names("--modes", mode)
    equal(got[0], "metadata", "metadata comes first, whatever was asked for")
    equal(set(got[1:]), {mode})


@cases(["tasks", "checkpoints", "debug"])
def modes_choose_of_parts(mode):
    path = recording("captures/js-worker-stream-modes.ndjson")
    equal(set(names("--modes", mode, path=path)[1:]), {mode})


@case
def the_default_modes():
    equal(set(names()), {"metadata", "values", "updates", "messages", "custom"})
    equal(names("--modes", "values,updates,messages,custom"), names())
    equal(names("--modes", "messages-tuple"), names("--modes", "messages"))


@case
def all_modes():
    everything = names("--modes", "all")
    check(set(everything) >= {"metadata", "values", "updates", "messages", "events"}, set(everything))
    two = names("--modes", "values,events")
    equal(sorted(set(two)), ["events", "metadata", "values"])


@case
def an_error_is_said_in_every_mode():
    for mode in ("values", "messages", "custom", "all"):
        got = parse_sse(translate("--to", "messages", "--modes", mode, recording("c-node-throws.ndjson")).out)
        equal(got[-1].event, "error", mode)
        check(set(got[-1].json) >= {"error", "message"}, got[-1].data)


@case
def subgraphs_name_their_namespaces():
    path = recording("captures/js-server-03-all-modes-subgraphs-until-interrupt.sse")
    plain, named = names(path=path), names("--subgraphs", path=path)
    check(not any("|" in n for n in plain), "no suffix without --subgraphs, even for tokens of a subgraph")
    inner = [n for n in named if n.startswith("messages|")]
    check(inner and all(n.startswith("messages|researcher:") for n in inner), set(named))
    check("messages" in named, "top-level tokens have none")
    tokens = [f.json[0]["content"] for f in parse_sse(translate("--to", "messages", "--subgraphs", path).out)
              if f.event.startswith("messages|researcher:") and f.json[0]["type"] == "AIMessageChunk"]
    equal("".join(tokens), "Subgraph note")


@case
def aiq_compat_has_lower_case_statuses():
    short = recording("c-tool-throws-handled.ndjson")
    equal(parse_sse(translate("--to", "aiq", short).out)[-1].json["status"], "SUCCESS")
    equal(parse_sse(translate("--to", "aiq", "--aiq-compat", short).out)[-1].json["status"], "success")


@case
def stored_records_are_smaller_and_say_the_same():
    whole, stored = frames("--to", "raw", FIRST), frames("--to", "raw", "--stored", FIRST)
    equal(len(stored), len(whole))
    heads = {}
    for a, b in zip(whole, stored):
        equal((a["seq"], a["kind"]), (b["seq"], b["kind"]))
        heads[b["seq"]] = a
        for key, value in b.items():
            if key != "head":
                equal(a[key], value, key)
        if "head" in b:
            check(b["head"] < b["seq"], "a head comes before")
            for key in ("run", "exec", "node", "path", "meta"):
                equal(a.get(key), heads[b["head"]].get(key), f"{key} of {b['seq']}")
    check(len(str(stored)) < len(str(whole)) / 2, "most of it is constant")
