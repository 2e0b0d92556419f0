"""The package as it is installed."""

import os
import shutil
import subprocess
import sys
import tarfile

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def test_what_is_built_has_all_modules_and_the_mark_of_types(tmp_path):
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=copied(tmp_path), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as t:
        names = {os.path.basename(n) for n in t.getnames() if "/src/spoolwire/" in n}
    assert names == {n for n in os.listdir(os.path.join(PACKAGE, "src", "spoolwire")) if n != "__pycache__"}


def copied(folder):
    """Setuptools leaves things where it builds."""
    to = os.path.join(folder, "source")
    shutil.copytree(PACKAGE, to, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    return to


def test_nothing_of_langchain_is_imported_before_it_is_used():
    code = ("import sys, spoolwire, spoolwire.pool, spoolwire.runner\n"
            "print([m for m in sys.modules if m.startswith('lang')])")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.path.join(PACKAGE, "src")})
    assert done.stdout == "[]\n"


def test_every_name_is_there():
    import spoolwire

    for name in spoolwire.__all__:
        assert getattr(spoolwire, name) is not None
