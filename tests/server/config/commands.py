"""config show, check and reference themselves."""

import os
import tempfile

from harness import TESTS, case, check, contains, equal
from settings import AGENT, SERVER, config

FULL = """
listen: 127.0.0.1:9000
hosts: [a.example, "*"]
data: "@@at ${HOME_LIKE}"
agents:
  "*": {lease: 2m}
  "odd name: #":
    description: "with \\"quotes\\", ünï and a $${literal}"
    command: [sh, -c, "echo @x $${HOME}"]
    worker_nodes: {all_but: [router]}
    pool: {size: 3, warm: 2}
  remote: {pull: true, sections: []}
"""


@case
def what_is_shown_means_the_same():
    """The file that `show` writes is read again, and shows the same."""
    env = {"HOME_LIKE": "$${x}"}
    first = config("show", file=FULL, env=env)
    again = config("show", file=first.out, env=env)
    rest = lambda text: [line.split("  # ")[0] for line in text.splitlines() if not line.startswith("#")]  # noqa: E731
    equal(rest(again.out), rest(first.out))
    one, two = (config("show", "--json", file=text, env=env).json for text in (FULL, first.out))
    equal(two["agents"], one["agents"])
    equal({k: v["value"] for k, v in two["options"].items() if k != "config"},
          {k: v["value"] for k, v in one["options"].items() if k != "config"})
    equal(one["options"]["data"]["value"], "@at $${x}")
    equal(one["agents"]["odd name: #"]["command"], ["sh", "-c", "echo @x ${HOME}"])


@case
def secrets_are_masked():
    yaml = ("agents:\n  a:\n    command: [x]\n    env: {KEY: s3cr3t-1}\n"
            "  b:\n    http: {url: 'http://h/{job}?key=s3cr3t-4&s3cr3t-5&plain=', headers: {X: s3cr3t-6}}\n")
    env = {"SPOOLWIRE_TOKEN_ADMIN": "s3cr3t-2", "SPOOLWIRE_AUTH_TOKENS": "admin:s3cr3t-3"}
    for flags in ([], ["--json"]):
        out = config("show", *flags, file=yaml, env=env).out
        check("s3cr3t" not in out, out)
        contains(out, "***", "KEY", "http://h/{job}?key=***&***&plain=***")


@case
def the_file_of_the_examples_is_good():
    path = os.path.join(TESTS, "..", "examples", "spoolwire.yaml")
    with open(path) as f:
        yaml = f.read()
    done = config("show", "--json", file=yaml, env={"OPENAI_API_KEY": "x", "HOME": "/"})
    check(len(done.json["agents"]) > 1, done.out)


@case
def check_looks_for_programs_and_folders():
    equal(config("check").out, "good: 1 agent\n")
    equal(config("check", file="agents: {a: {command: [sh]}}").out, "good: 2 agents\n")
    err = config("check", file="agents: {a: {command: [no-such-program]}}", want=1).err
    equal(err, "the agent a: there is no program no-such-program")
    err = config("check", file="agents: {a: {command: [sh], cwd: /no/such/folder}}", want=1).err
    equal(err, "the agent a: there is no folder /no/such/folder")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "p")
        open(program, "w").close()
        config("check", file=f"agents: {{a: {{command: [{program}]}}}}", want=1)
        os.chmod(program, 0o755)
        config("check", file=f"agents: {{a: {{command: [{program}]}}}}")
        config("check", file="agents: {a: {command: [p]}}", env={"PATH": f"/nowhere:{folder}"})
    equal(config("check", "--json").json, {"good": True, "agents": 1})


@case
def the_reference_has_every_option():
    out = config("reference").out
    for option in SERVER + AGENT:
        contains(out, f"| `{option['name']}` |")
    contains(out, "## Options", "## Agents", "| `worker_nodes` |")
    contains(config("reference", "server").out, "| `listen` |")
    check("| `lease` |" not in config("reference", "server").out)
    config("reference", "nonsense", want=2)


@case
def help_and_slips():
    for part in ("show", "check", "reference"):
        contains(config(part, "--help").out, f"Usage: spoolwire config {part}", "Exit status:")
    err = config("shwo", want=2).err
    contains(err, "it has no command 'shwo': did you mean 'show'?")
