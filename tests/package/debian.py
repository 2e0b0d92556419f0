"""The Debian package: on a bare system, with apt, run as its own user, and removed again."""

import os
import re
import stat

import gateway
from chroot import Inside, do, install, plays_a_job, system
from harness import case, cases, check, contains, equal
from made import make, run


@case
def it_has_what_a_package_should_have():
    deb = make("deb")
    fields = dict(re.findall(r"^(\S+): (.*)", run("dpkg-deb", "-f", deb), re.M))
    equal(fields["Package"], "spoolwire")
    contains(fields["Depends"], "libc6 (>= 2.", "libssl3", "libuv1", "libsqlite3-0")
    listing = run("dpkg-deb", "-c", deb)
    for path in ("./usr/bin/spoolwire", "./usr/lib/systemd/system/spoolwire.service", "./etc/spoolwire/spoolwire.yaml",
                 "./usr/share/man/man1/spoolwire.1.gz", "./usr/share/doc/spoolwire/copyright",
                 "./usr/share/bash-completion/completions/spoolwire", "./usr/lib/spoolwire/libyyjson.so.0"):
        check(f" {path}\n" in listing, path)
    check("/usr/include" not in listing and " ./home" not in listing and " ./root" not in listing, listing)
    equal({tuple(line.split()[1:2]) for line in listing.splitlines()}, {("root/root",)})


@case
def the_same_sources_give_the_same_package():
    deb = make("deb")
    with open(deb, "rb") as f:
        before = f.read()
    run("scripts/package", "deb")
    with open(deb, "rb") as f:
        equal(f.read() == before, True, "the bytes differ")


def serve(root):
    port = gateway.fixed_port()
    return Inside(root, ["/usr/bin/spoolwire", "serve", "--config", "/etc/spoolwire/spoolwire.yaml", "--listen", f"127.0.0.1:{port}"],
                  "spoolwire:spoolwire", {"PATH": "/usr/bin:/bin", "HOME": "/var/lib/spoolwire"}).ready(port)


@cases(["bookworm", "trixie"])
def it_installs_and_runs_on_a_bare(suite):
    with system(suite) as root:
        check(not os.path.exists(f"{root}/usr/lib/x86_64-linux-gnu/libuv.so.1"), "it is not bare")
        install(root, suite, make("deb"))
        contains(do(root, "spoolwire", "--version"), "spoolwire ")
        contains(do(root, "ldd", "/usr/bin/spoolwire"), "=> /usr/bin/../lib/spoolwire/libyyjson.so.0")
        # The settings may hold secrets, and so may the data.
        for path in ("etc/spoolwire/spoolwire.yaml", "etc/spoolwire", "var/lib/spoolwire"):
            equal(os.stat(f"{root}/{path}").st_mode & stat.S_IRWXO, 0, path)
        with serve(root) as s:
            id = plays_a_job(s)
            s.terminate()
        equal(os.stat(f"{root}/var/lib/spoolwire/spoolwire.db").st_mode & 0o777, 0o600)
        with serve(root) as s:
            equal(s.state(id), "succeeded")
        # Settings that were changed survive an upgrade, and the package goes without a trace of itself.
        with open(f"{root}/etc/spoolwire/spoolwire.yaml", "a") as f:
            f.write("# mine\n")
        do(root, "apt-get", "install", "-q", "-y", "--reinstall", "/tmp/spoolwire.deb")
        with open(f"{root}/etc/spoolwire/spoolwire.yaml") as f:
            contains(f.read(), "# mine")
        do(root, "apt-get", "remove", "-q", "-y", "spoolwire")
        check(os.path.exists(f"{root}/var/lib/spoolwire/spoolwire.db"), "the data goes with purge only")
        do(root, "apt-get", "purge", "-q", "-y", "spoolwire")
        left = [p for p in ("usr/bin/spoolwire", "usr/lib/spoolwire", "etc/spoolwire", "var/lib/spoolwire") if os.path.exists(f"{root}/{p}")]
        equal(left, [])
