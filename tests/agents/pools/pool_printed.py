"""The example of docs/worker-protocol.md, as it is printed."""

import os
import re

from gateway import Server, until
from harness import TESTS, case, check, equal

PAGE = os.path.join(TESTS, "..", "docs", "worker-protocol.md")


def block(language, word):
    with open(PAGE) as f:
        found = [text for text in re.findall(rf"^```{language}\n(.*?)^```", f.read(), re.S | re.M) if word in text]
    equal(len(found), 1, f"blocks of {language} with {word!r}")
    return found[0]


def printed(s):
    with open(os.path.join(s.folder, "pool_worker.py"), "w") as f:
        f.write(block("python", '"ready"'))
    with open(os.path.join(s.folder, "spoolwire.yaml"), "w") as f:
        f.write(block("yaml", "pool:"))
    s.flags += ["--config", "spoolwire.yaml"]
    return s.start()


@case
def the_printed_worker():
    with Server(start=False) as s:
        printed(s)
        ids = [s.submit("mine", {"question": f"why {i}?"}) for i in range(10)]
        for i, id in enumerate(ids):
            s.until_state(id, "succeeded")
            said = [f.json["data"]["chunk"] for f in s.read(id, "aiq") if f.event == "llm.chunk"]
            check(len(said) > 2 and f"why {i}?" in "".join(said), said)
        bad = s.until_state(s.submit("mine", {}), "failed")
        equal(bad["error_type"], "KeyError")


@case
def the_printed_worker_is_cancelled_and_lives_on():
    with Server(start=False) as s:
        printed(s)
        id = s.submit("mine", {"question": "word " * 10_000})
        until("it speaks", lambda: s.job(id)["events"] > 3)
        s.post(f"/v1/jobs/{id}/cancel")
        s.until_state(id, "cancelled")
        check("did not stop" not in s.err(), "it obeyed")
        s.until_state(s.submit("mine", {"question": "why?"}), "succeeded")
