"""The systemd unit: systemd's own opinion of it."""

import os
import re
import shutil
import tempfile

from harness import case, check, contains, equal
from made import build, run, ROOT

MOST_EXPOSED = 20  # tenths, by systemd's count: 2.0 is "OK", and an ordinary service has 9.6


def unit():
    build()
    return os.path.join(ROOT, "build", "package", "spoolwire.service")


@case
def systemd_has_nothing_against_it():
    with tempfile.TemporaryDirectory(prefix="spoolwire-unit-") as folder:
        path = os.path.join(folder, "spoolwire.service")
        with open(unit()) as f:
            text = f.read()
        contains(text, "ExecStart=/usr/bin/spoolwire serve --config /etc/spoolwire/spoolwire.yaml\n", "Type=notify\n")
        program = shutil.which("true")
        with open(path, "w") as f:
            f.write(text.replace("/usr/bin/spoolwire", program))
        said = run("systemd-analyze", "verify", "--man=no", path)
        equal([line for line in said.splitlines() if "spoolwire.service" in line], [])
        with open(path, "a") as f:
            f.write("[Service]\nNoSuchThing=yes\n")
        contains(run("systemd-analyze", "verify", "--man=no", path), "NoSuchThing")


@case
def it_is_well_walled_in():
    said = run("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", unit())
    score = re.search(r"Overall exposure level for spoolwire\.service: ([0-9.]+)", said)
    check(float(score[1]) * 10 <= MOST_EXPOSED, said[-300:])


@case
def it_has_more_time_to_stop_than_the_server_takes():
    with open(unit()) as f:
        stop = int(re.search(r"TimeoutStopSec=(\d+)", f.read())[1])
    with open(os.path.join(ROOT, "src", "config", "options", "options.c")) as f:
        window = int(re.search(r'"shutdown_window".*?"(\d+)s"', f.read(), re.S)[1])
    check(stop > window)
