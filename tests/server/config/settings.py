"""Running `spoolwire config` with a file, an environment and flags of one's own."""

import json
import os
import subprocess
import tempfile

from harness import PROGRAM, equal


class Done:
    def __init__(self, p):
        self.code, self.out, self.err = p.returncode, p.stdout.decode(), p.stderr.decode()

    @property
    def json(self):
        return json.loads(self.out)


def config(*args, file=None, env=None, want=0):
    """`spoolwire config ARGS`; @file is YAML for --config, and FILE in its errors."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_") and k != "PORT"}
    with tempfile.TemporaryDirectory(prefix="spoolwire-config-") as folder:
        args = list(args)
        path = os.path.join(folder, "spoolwire.yaml")
        if file is not None:
            with open(path, "w") as f:
                f.write(file)
            args += ["--config", path]
        done = Done(subprocess.run([PROGRAM, "config", *args], env={**clean, **(env or {})}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60))
    done.err = done.err.replace(path, "FILE").removeprefix(f"spoolwire config {args[0]}: ").rstrip("\n")
    equal(done.code, want, f"{args} {done.out} {done.err}")
    return done


def table(of):
    """The options of the server, or of agents, as the program itself lists them."""
    rows = [json.loads(row) for row in config("reference", "--json").out.splitlines()]
    return [row for row in rows if row["of"] == of]


SERVER, AGENT = table("server"), table("agent")

UNITS = {"duration": [("d", 86400000), ("h", 3600000), ("m", 60000), ("s", 1000), ("ms", 1)],
         "size": [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1024), ("", 1)]}


def amount(kind, n):
    if n == 0:
        return "0"
    return next(f"{n // factor}{unit}" for unit, factor in UNITS[kind] if n % factor == 0)


# Texts that are more than that.
TEXTS = {"socket_mode": "0600", "redis_url": "redis://127.0.0.1:1", "redis_publish_channel": "x:{job_id}",
         "redis_subscribe_channel": "x:{job_id}", "http.url": "http://127.0.0.1:1",
         "store_read_url": "postgres://u@h/d", "mount_prefix": "/here", "disabled_routes": "store,meta"}
# Texts that are JSON, which YAML would take for its own.
OBJECTS = ("assistant.config", "assistant.context")


# What agents with such an option need besides.
QUEUE = "redis_url: redis://x\narq_queue: q\n"
TOPS = {"arq.function": QUEUE, "serves.function": QUEUE, "serves.resume_function": QUEUE}


def words(option):
    """The items of a list in a file."""
    return ["agent", "input.x"] if option["name"].endswith("args") else ["prog", "an arg"]


def another(option):
    """A value that is not the default: as written, and as `config show --json` has it."""
    kind, initial = option["type"], option["default"]
    if kind in UNITS:
        n = next(n for n in (1000 * 60 * 7, 1024 * 3, option["max"]) if option["min"] <= n <= option["max"]
                 and amount(kind, n) != initial)
        return amount(kind, n), amount(kind, n)
    if kind == "number":
        n = next(n for n in (option["min"] + 3, option["max"]) if n <= option["max"] and str(n) != initial)
        return str(n), n
    if kind == "bool":
        return ("false", False) if initial == "true" else ("true", True)
    if kind == "choice":
        word = next(w for w in option["choices"].split("|") if w != initial)
        return word, word
    if kind == "address":
        return "127.0.0.1:9123", "127.0.0.1:9123"
    if kind == "list":
        text = TEXTS.get(option["name"], "https://a.example,https://b.example")
        return text, text.split(",")
    if option["name"] in OBJECTS:
        return """'{"a":1}'""", '{"a":1}'
    text = TEXTS.get(option["name"], "some-text")
    return text, text


def wrong(option):
    """A value that the option refuses, whatever its bounds are."""
    return {"text": "", "list": ",".join(["x"] * 300)}.get(option["type"], "no such value")
