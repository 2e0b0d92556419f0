"""An agent as a process: what it does is in its input, {"do": [[step, argument], ...]}."""

import json
import os
import sys
import time

order = json.loads(sys.stdin.readline())


def say(event):
    print(json.dumps(event), flush=True)


def main():
    with open(os.path.join(order["input"].get("folder", "."), "runs"), "a") as f:
        f.write(f"{order['job']} {order['attempt']}\n")
    if "resume" in order:
        say({"type": "job.done", "output": {"resumed": order["resume"]}})
        return
    for name, value in order["input"]["do"]:
        if name == "say":
            say(value)
        elif name == "until":
            while not os.path.exists(value):
                time.sleep(0.02)
        elif name == "fail":
            sys.exit(value)


main()
