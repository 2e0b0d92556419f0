"""Lines on their way to the server, oldest first.

They wait in memory, and beyond `memory` bytes in a file, if there is a folder for one.  Without
one, or beyond `disk`, put() waits for room: while the server cannot be reached, the graph slows
down, and no event is lost.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from typing import IO

MEMORY = 32 << 20
DISK = 4 << 30


class Spool:
    def __init__(self, memory: int = MEMORY, folder: str | None = None, disk: int = DISK) -> None:
        self._memory, self._disk = memory, disk if folder is not None else 0
        self._folder = folder
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # of _lines
        self._file: IO[bytes] | None = None  # lines that are newer than those in _lines
        self._read = self._written = 0  # places in _file
        self._changed = asyncio.Event()
        self.count_put = 0  # of lines, ever

    async def put(self, line: bytes) -> None:
        while not self._has_room(line):
            self._changed.clear()
            await self._changed.wait()
        self.put_now(line)

    def put_now(self, line: bytes) -> None:
        """For callers that cannot wait."""
        if self._written == self._read and (self._fits_memory(line) or not self._disk):
            self._lines.append(line)
            self._bytes += len(line)
        else:
            self._append(line)
        self.count_put += 1
        self._changed.set()

    def empty(self) -> bool:
        return not self._lines and self._read == self._written

    async def wait(self) -> None:
        """Until there is something to take."""
        while self.empty():
            self._changed.clear()
            await self._changed.wait()

    def take(self, max_bytes: int, max_lines: int) -> list[bytes]:
        """Lines for one batch: at least one, if there is one."""
        batch: list[bytes] = []
        size = 0
        while len(batch) < max_lines:
            line = self._peek()
            if line is None or (batch and size + len(line) + 1 > max_bytes):
                break
            self._drop(line)
            batch.append(line)
            size += len(line) + 1
        self._changed.set()
        return batch

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _fits_memory(self, line: bytes) -> bool:
        return not self._lines or self._bytes + len(line) <= self._memory

    def _has_room(self, line: bytes) -> bool:
        in_file = self._written - self._read
        return (in_file == 0 and self._fits_memory(line)) or in_file + len(line) <= self._disk

    def _append(self, line: bytes) -> None:
        """Appends to the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="spoolwire-")
        self._file.seek(self._written)
        self._file.write(line + b"\n")
        self._written = self._file.tell()

    def _peek(self) -> bytes | None:
        if not self._lines and self._file is not None and self._read < self._written:
            self._file.seek(self._read)
            line = self._file.readline()[:-1]
            self._read += len(line) + 1
            self._lines.append(line)
            self._bytes += len(line)
            if self._read == self._written:
                self._file.truncate(0)
                self._read = self._written = 0
        return self._lines[0] if self._lines else None

    def _drop(self, line: bytes) -> None:
        self._lines.popleft()
        self._bytes -= len(line)
