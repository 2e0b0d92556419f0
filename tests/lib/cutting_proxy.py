"""A TCP proxy before PostgreSQL that cuts connections just before or after a commit.

    with CuttingProxy(port) as proxy:
        proxy.port              # connect here
        proxy.cut = "after"     # the next commit arrives, its answer does not
        proxy.cut = "before"    # the next commit does not arrive
        proxy.upstream = port   # where new connections go to
"""

import contextlib
import re
import socket
import threading


class CuttingProxy:
    def __init__(self, port):
        self.upstream = port
        self.cut = None
        self.n_cut = 0
        self.n_syncs = 0  # messages that clients wait for
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        self.deaf = set()  # sockets of servers whose next answer is dropped
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for s in self.sockets:
            with contextlib.suppress(OSError):
                s.close()

    def drop(self):
        """Cuts all connections that are there."""
        for s in list(self.sockets):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.upstream))
                except OSError:  # nobody is there: nor are we
                    client.close()
                    continue
                self.sockets += [client, server]
                threading.Thread(target=self._forward, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._forward, args=(server, client, False), daemon=True).start()

    def _forward(self, source, target, is_client):
        """Statements are prepared once by name: Parse says which one is the commit, and Bind uses it."""
        commit = None
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_client:
                    self.n_syncs += data.count(b"S\0\0\0\4")
                if is_client and (m := re.search(rb"(s\d+)\0COMMIT\0", data)):
                    commit = re.compile(rb"\0" + m[1] + rb"\0")
                if is_client and self.cut is not None and commit is not None and commit.search(data):
                    cut, self.cut = self.cut, None
                    if cut == "before":
                        break
                    self.deaf.add(target)
                if not is_client and source in self.deaf:
                    break  # the answer to the commit
                target.sendall(data)
            else:
                return self._end(source, target)
            self.n_cut += 1
        return self._end(source, target)

    @staticmethod
    def _end(*sockets):
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
