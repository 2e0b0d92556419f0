"""What a stream tells, seen through the dialects `agent` and `nodes`: which executions,
what each of them said, which tools it used, which questions were asked, how it all ended.

Ids, times and the cutting of text into tokens are not part of a story, so the stories of
two recordings of one graph can be compared.
"""

import os
import re

from harness import check, equal, frames, parse_ndjson, translate

# Every node has a card and counts, so that `agent` shows all executions.
ALL_CARDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "all-cards.yaml")


class Execution:
    def __init__(self, id, node):
        self.id, self.node = id, node
        self.status = None
        self.text = ""
        self.tools = []  # [name, input preview, result summary, status]
        self.open_tools = []

    def __repr__(self):
        return f"<{self.node} {self.status} {self.text!r} {self.tools}>"


class Story:
    def __init__(self, *args, **more):
        args = ("--agent-config", ALL_CARDS, "--job", "job-1") + args
        self.agent = frames("--to", "agent", *args, **more)
        run = translate("--framing", "ndjson", "--to", "nodes", "--stats", *args, **more)
        self.nodes = parse_ndjson(run.out)
        self.stats = run.err
        self._read_agent()
        self._read_nodes()
        self._agree()

    def stat(self, name):
        return int(re.search(rf"^ *{name} +(\d+)", self.stats, re.M).group(1))

    def _read_agent(self):
        self.executions = []  # in the order of their starts
        self.completed = []  # nodes
        self.ended = []  # executions, in the order of their ends
        self.questions = []
        self.resumed = self.paused = 0
        self.sections = {}
        self.sections_done = []
        self.end = None
        by_id = {}
        for f in self.agent:
            check(self.end is None, f"{f} after the end")
            kind = f["type"]
            if kind == "agent.spawned":
                check(f["agent_id"] not in by_id, f"{f['agent_id']} spawned twice")
                equal(f["agent_name"], f["node"])
                by_id[f["agent_id"]] = Execution(f["agent_id"], f["node"])
                self.executions.append(by_id[f["agent_id"]])
            elif kind == "agent.token":
                check(by_id[f["agent_id"]].status is None, f"{f} after agent.done")
                check(f["token"] != "", "an empty token")
                by_id[f["agent_id"]].text += f["token"]
            elif kind == "agent.tool_call":
                e = by_id[f["agent_id"]]
                tool = [f["tool_name"], f["input_preview"], None, None]
                e.tools.append(tool)
                e.open_tools.append(tool)
            elif kind == "agent.tool_result":
                e = by_id[f["agent_id"]]
                tool = next(t for t in e.open_tools if t[0] == f["tool_name"])
                e.open_tools.remove(tool)
                tool[2:] = [f["result_summary"], f.get("status", "ok")]
            elif kind == "agent.done":
                e = by_id[f["agent_id"]]
                check(e.status is None, f"two ends of {e}")
                equal(f["node"], e.node)
                equal(e.open_tools, [], f"tools open when {e.node} ends")
                e.status = f.get("status", "ok")
                self.ended.append(e)
            elif kind == "graph.node_complete":
                self.completed.append(f["node"])
            elif kind == "graph.interrupt":
                self.questions.append(f)
            elif kind == "graph.resumed":
                self.resumed += 1
            elif kind == "graph.paused":
                self.paused += 1
            elif kind == "output.token":
                self.sections[f["section"]] = self.sections.get(f["section"], "") + f["token"]
            elif kind == "output.section_done":
                self.sections_done.append(f["section"])
            else:
                check(kind in ("job.done", "job.failed"), f"an unknown frame {f}")
                self.end = f

    def _read_nodes(self):
        self.starts, self.ends, self.tool_starts, self.tool_ends = [], [], [], []
        self.run_end = None
        for i, f in enumerate(self.nodes):
            check(self.run_end is None, f"{f} after the end")
            kind = f["type"]
            if kind == "run.start":
                equal(i, 0, "run.start is the first frame")
            elif kind == "run.end":
                self.run_end = f
            else:
                {"node.start": self.starts, "node.end": self.ends,
                 "tool.start": self.tool_starts, "tool.end": self.tool_ends}[kind].append(f)

    def _agree(self):
        """The two dialects tell the same, and every start has exactly one end."""
        equal([(f["run_id"], f["node"]) for f in self.starts],
              [(e.id, e.node) for e in self.executions], "node.start against agent.spawned")
        equal([(f["run_id"], f["status"]) for f in self.ends],
              [(e.id, e.status) for e in self.ended], "node.end against agent.done")
        equal(sorted(f["run_id"] for f in self.starts), sorted(f["run_id"] for f in self.ends),
              "node.start against node.end")
        equal(sorted(f["run_id"] for f in self.tool_starts),
              sorted(f["run_id"] for f in self.tool_ends), "tool.start against tool.end")
        equal(self.completed, [e.node for e in self.ended if e.status == "ok"],
              "graph.node_complete against the ends that went well")
        equal(sorted([e.node, t[0]] for e in self.executions for t in e.tools),
              sorted([f["node"], f["tool"]] for f in self.tool_starts if f["node"] is not None),
              "agent.tool_call against tool.start")
        for f in self.starts + self.ends:
            check(re.fullmatch(r"(chain:.* > )?chain:" + re.escape(f["node"]), f["run_path"], re.S),
                  f"a run_path of {f}")
        if self.end is None:
            equal(self.run_end, None, "run.end without job.done or job.failed")
        else:
            want = {"job.done": "ok", "job.failed": self.end.get("status", "error")}
            equal(self.run_end["status"], want[self.end["type"]], "run.end against job.*")

    # What is compared.

    @property
    def ending(self):
        return self.run_end["status"] if self.run_end else "waiting"

    def said(self):
        return [[e.node, e.text] for e in self.executions if e.text]

    def used(self):
        """Tools, by execution; those of one execution in any order, for they run at once."""
        return [[e.node, sorted(e.tools)] for e in self.executions if e.tools]

    def ran(self):
        return [[e.node, e.status] for e in self.executions]
