"""A terminal for tests: a pty with a program on it, and a screen that knows exactly what our
programs may send.  Anything else is an error, and so is a control character."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

from gateway import WAIT

SEQUENCE = re.compile(r"\x1b\[(\d*)([AJm])")


def width_of(c):
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Screen:
    """Rows of cells; what scrolls away is kept in .rows all the same."""

    def __init__(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.rows, self.x, self.y = [""], 0, 0
        self.styles = set()
        self.bold = False
        self.rest = ""

    def top(self):
        return max(0, len(self.rows) - self.lines)

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        i = 0
        while i < len(text):
            c = text[i]
            if c == "\x1b":
                m = SEQUENCE.match(text, i)
                if not m:
                    if re.fullmatch(r"\x1b(\[\d*)?", text[i:]):
                        self.rest = text[i:]
                        return
                    raise AssertionError(f"not a sequence of ours: {text[i:i + 20]!r}")
                self.sequence(m[2], m[1])
                i = m.end()
                continue
            i += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.newline()
            elif ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2028\u200e":
                raise AssertionError(f"a control character: {c!r} in {text[max(0, i - 30):i + 30]!r}")
            else:
                self.put(c)

    def newline(self):
        self.y += 1
        if self.y == len(self.rows):
            self.rows.append("")

    def put(self, c):
        if self.x + width_of(c) > self.columns:
            self.x = 0
            self.newline()
        row = self.rows[self.y].ljust(self.x)
        self.rows[self.y] = row[:self.x] + c + row[self.x + 1:]
        self.x += 1

    def sequence(self, kind, number):
        if kind == "A":
            self.y = max(self.top(), self.y - int(number or 1))
        elif kind == "J":
            assert number == "", number
            self.rows[self.y] = self.rows[self.y][:self.x]
            del self.rows[self.y + 1:]
        else:
            self.styles.add(number)
            self.bold = number != "0"

    @property
    def text(self):
        return "\n".join(self.rows)


class Terminal:
    """A program on a pty of its own."""

    def __init__(self, *command, columns=80, lines=24, env=None):
        self.screen = Screen(columns, lines)
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
            os.environ.pop("NO_COLOR", None)
            os.environ.update(env or {})
            # Before anything is drawn.
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(command[0], command)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def resize(self, columns, lines):
        self.screen.columns, self.screen.lines = columns, lines
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.05):
        """What has come; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # Linux's way of saying that nobody is at the other end
            data = b""
        self.raw += data
        try:
            text = (self.left + data if hasattr(self, "left") else data)
            self.screen.feed(text.decode())
            self.left = b""
        except UnicodeDecodeError as e:
            self.screen.feed(text[:e.start].decode())
            self.left = text[e.start:]
        return bool(data)

    def until(self, *words, seconds=WAIT, gone=()):
        """Reads until all @words are on the screen, and none of @gone."""
        end = time.monotonic() + seconds
        while True:
            text = self.screen.text
            if all(w in text for w in words) and not any(w in text for w in gone):
                return text
            if not self.read() or time.monotonic() > end:
                text = self.screen.text
                if all(w in text for w in words) and not any(w in text for w in gone):
                    return text
                raise AssertionError(f"not on the screen: {words} (gone: {gone})\n{text}")

    def press(self, keys):
        os.write(self.fd, keys)

    def wait(self, seconds=WAIT):
        """The exit status; negative for a signal."""
        end = time.monotonic() + seconds
        while self.read() and time.monotonic() < end:
            pass
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            time.sleep(0.01)
        raise AssertionError("it does not end")
