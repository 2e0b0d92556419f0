"""`make install`."""

import os
import tempfile

from harness import case, check, contains, equal
from made import ROOT, run


def files(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


@case
def make_install_puts_everything_below_its_prefix():
    with tempfile.TemporaryDirectory(prefix="spoolwire-install-") as root:
        run("make", "install", f"DESTDIR={root}", "PREFIX=/opt/spoolwire")
        there = files(root)
        check(all(path.startswith("opt/spoolwire/") for path in there), there)
        for path in ("bin/spoolwire", "include/spoolwire.h", "share/man/man1/spoolwire.1", "lib/systemd/system/spoolwire.service",
                     "etc/spoolwire/spoolwire.yaml", "share/doc/spoolwire/examples/spoolwire.yaml"):
            check(f"opt/spoolwire/{path}" in there, path)
        with open(f"{root}/opt/spoolwire/lib/systemd/system/spoolwire.service") as f:
            contains(f.read(), "ExecStart=/opt/spoolwire/bin/spoolwire serve --config /opt/spoolwire/etc/spoolwire/spoolwire.yaml")
        contains(run(f"{root}/opt/spoolwire/bin/spoolwire", "--version"), "spoolwire ")
        with open(f"{root}/opt/spoolwire/etc/spoolwire/spoolwire.yaml", "a") as f:
            f.write("# mine\n")
        run("make", "install", f"DESTDIR={root}", "PREFIX=/opt/spoolwire")
        with open(f"{root}/opt/spoolwire/etc/spoolwire/spoolwire.yaml") as f:
            contains(f.read(), "# mine")  # settings are not overwritten
    run("meson", "configure", os.path.join(ROOT, "build/release"), "--prefix", "/usr/local")


@case
def the_example_settings_are_good():
    for path in ("packaging/spoolwire.yaml", "examples/spoolwire.yaml"):
        equal(run("build/release/spoolwire", "config", "check", "--config", path).count("error"), 0, path)
