"""Reads a page of the documents as steps for its reader: files to write, commands to type.

A fenced block whose first line is a comment with a name (`# hello.py`, `// socket.mjs`, `<!-- page.html -->`)
is a file of that name.  A block of `sh` that calls curl, python3, node or spoolwire is typed as it
stands; comments in it that look like output (`# {`, `# id:`, `# event:`, `# data:`) say what
it prints, in this order, among other things.  In a block of `console`, which is always
typed, each command stands behind a `$ `, and below it all that it prints.  `…` is anything, alone on a line any lines.

A block behind `<!-- not run: why -->` is left alone.
"""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^(?P<skip><!-- not run: .+? -->\n+)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
FILE = re.compile(r"(?:(?:#|//) (\S+\.\w+)|<!-- (\S+\.\w+) -->)\n")
OUTPUT = re.compile(r"# (?=\{|id: |event: |data: )")
TYPED = re.compile(r"\b(curl|spoolwire|python3|node) ")


class Document:
    def __init__(self, path):
        self.path = path
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        self.blocks = [Block(m, text) for m in BLOCK.finditer(text)]
        self.files = {b.file: b.text for b in self.blocks if b.file}
        self.steps = [s for b in self.blocks if b.typed for s in b.steps()]


class Block:
    def __init__(self, match, text):
        self.kind, self.text, self.skip = match["kind"], match["text"], match["skip"]
        self.line = text.count("\n", 0, match.start("text")) + 1
        file = FILE.match(self.text)
        self.file = file and (file[1] or file[2])

    @property
    def typed(self):
        if self.skip:
            return False
        return self.kind == "console" or (self.kind == "sh" and bool(TYPED.search(self.text)))

    def steps(self):
        if self.kind == "console":
            for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield Step(self.line, command, output and whole(output))
        else:
            rows = self.text.splitlines()
            said = [OUTPUT.sub("", row) for row in rows if OUTPUT.match(row)]
            yield Step(self.line, "\n".join(r for r in rows if not OUTPUT.match(r)), among(said))


class Step:
    """A command, or several, and a pattern for what they print."""

    def __init__(self, line, command, output):
        self.line, self.command, self.output = line, command, output

    def prints(self, output):
        """Blank lines at the end do not count."""
        return not self.output or re.fullmatch(self.output, output.rstrip("\n") + "\n") is not None


def row_pattern(row):
    return ".*".join(map(re.escape, row.split("…")))


def whole(output):
    return "".join(r"(?:.*\n)*?" if row == "…" else row_pattern(row) + r"\n" for row in output.splitlines())


def among(rows):
    """A pattern that finds @rows anywhere in lines: answers need not end with a line end."""
    return rows and r"[\s\S]*?" + r"[\s\S]*?".join(map(row_pattern, rows)) + r"[\s\S]*"
