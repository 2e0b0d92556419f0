"""The pages themselves: links, and the man page."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from document import ROOT
from harness import PROGRAM, case, cases, check, equal, spoolwire

PAGES = sorted(glob.glob("*.md", root_dir=ROOT) + glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def anchors(text):
    """As GitHub names headings: lower case, spaces become hyphens, other signs go."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", read(path), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(ROOT, to)):
            yield target
        elif anchor and anchor not in anchors(read(to)):
            yield target


@cases(PAGES)
def the_links_lead_somewhere(path):
    equal(list(broken_links(path)), [])


@case
def a_broken_link_is_noticed():
    equal(list(broken_links("tests/docs/bad.md")), ["nowhere.md", "../../README.md#nowhere"])


@case
def what_the_program_says_about_itself_is_in_the_documents():
    done = subprocess.run([os.path.join(ROOT, "scripts", "docs"), "--check", os.path.dirname(PROGRAM)], cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    equal(done.returncode, 0, f"make docs: {done.stdout}")


@case
def what_pip_leaves_behind_is_ignored_and_not_embedded():
    """`pip install ./clients/python`, as the documents say, builds in the tree."""
    left = ["clients/python/build/lib/spoolwire/job.py", "clients/python/src/spoolwire.egg-info/PKG-INFO"]
    if os.path.exists(os.path.join(ROOT, ".git")):
        done = subprocess.run(["git", "check-ignore", *left], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        equal(done.stdout.split(), left)
    with tempfile.TemporaryDirectory(prefix="spoolwire-docs-") as folder:
        for path in ("src/spoolwire/job.py", "src/spoolwire.egg-info/PKG-INFO"):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w") as f:
                f.write("x\n")
        out, deps = os.path.join(folder, "out.c"), os.path.join(folder, "out.d")
        subprocess.run([os.path.join(ROOT, "scripts", "embed-tree"), out, deps, folder, "python=src"], check=True)
        with open(out) as f:
            equal(re.findall(r'"(python/[^"]+)"', f.read()), ["python/spoolwire/job.py"])


@case
def the_runbook_explains_what_the_log_and_failed_jobs_say():
    page, said = read("docs/runbook.md"), set()
    for path in glob.glob("src/**/*.c", root_dir=ROOT, recursive=True):
        text = read(path)
        said.update(re.findall(r'\blog_begin\(&out, "(\w+)"|\[ACCESS_\w+\] = "(\w+)"|"event\\":\\"(log_lines_lost)|'
                               r'\bconn_(?:close|cut)\([\w()]+, "([^"%]+)|\b(?:leave|stream_cut)\(s, \w+, "([^"]+)"', text))
        if path.startswith(("src/agents/", "src/journal/")):
            said.update(re.findall(r'\bSTR\("([A-Z][a-z]+(?:[A-Z][a-z]+)*)"\)()()()()', text))
    words = {word for match in said for word in match if word}
    check(len(words) > 25, words)
    equal([word for word in sorted(words) if word not in page], [])


@case
def the_man_page_has_every_option():
    page = read("docs/spoolwire.1").replace("\\-", "-")
    rows = spoolwire("--help").out.decode().splitlines()
    names = [row.split()[0] for row in rows if re.match(r"  [a-z]", row)]
    check("serve" in names and "translate" in names, names)
    for name in names:
        shown = spoolwire(name, "--help").out.decode()
        check(shown, name)
        equal([o for o in sorted(set(re.findall(r"--[a-z][a-z-]+", shown))) if o not in page], [], name)


@case
def the_man_page_is_good_roff():
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "docs/spoolwire.1"], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        equal(done.stderr, "")
