"""A process of a pool that takes calls: what it does with one is in the call's name."""

import json
import os
import sys


def say(**line):
    print(json.dumps(line), flush=True)


def call(id, name, params, agent):
    if name == "echo":
        say(call=id, answer={"params": params, "agent": agent, "pid": os.getpid()})
    elif name == "fail":
        say(call=id, error="no such\nthing")
    elif name == "twice":
        say(call=id, answer=1)
        say(call=id, answer=2)
    elif name == "die" and not os.path.exists("died"):
        open("died", "w").close()
        os.abort()
    elif name == "die":
        say(call=id, answer="here")
    elif name == "environment":
        say(call=id, answer={k: os.environ.get(k) for k in params})


say(ready=True, calls="--no-calls" not in sys.argv)
for line in sys.stdin:
    order = json.loads(line)
    if "call" in order:
        call(**order["call"], agent=order["agent"])
    elif order.get("cancel"):
        say(job=order["job"], attempt=order["attempt"], finish={"status": "cancelled"})
    elif order["input"] != "wait":
        say(job=order["job"], attempt=order["attempt"], finish={"status": "success"})
