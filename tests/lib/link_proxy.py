"""A TCP proxy before a gateway, for what other gateways send it: cuts, swallows and delays.

    with LinkProxy(port) as proxy:
        proxy.port          # connect here
        proxy.cut()         # ends all connections; new ones are taken
        proxy.refuses = True    # with cut(): as if nobody listened
        proxy.is_hole = True    # swallows everything, both ways; connections stay open
        proxy.delay = 0.2       # seconds, for every piece, each way
"""

import contextlib
import socket
import threading
import time


class LinkProxy:
    def __init__(self, port, tls=None):
        """@tls: an ssl.SSLContext with a certificate; others then speak TLS to it."""
        self.upstream, self.tls = port, tls
        self.refuses, self.is_hole, self.delay = False, False, 0
        self.n_connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def cut(self):
        sockets, self.sockets = self.sockets, []
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.refuses:
                    client.close()
                    continue
                self.n_connections += 1
                try:
                    if self.tls is not None:
                        client = self.tls.wrap_socket(client, server_side=True)
                    server = socket.create_connection(("127.0.0.1", self.upstream))
                except OSError:
                    client.close()
                    continue
                self.sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self.is_hole:
                    continue
                if self.delay:
                    time.sleep(self.delay)
                target.sendall(data)
        for s in (source, target):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
