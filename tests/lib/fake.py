"""A fake server whose answers a test chooses, for tests of clients."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CUT = object()  # an answer that never comes: the connection is cut


class Request:
    def __init__(self, handler, body):
        parts = urlsplit(handler.path)
        self.method, self.path, self.query = handler.command, parts.path, parse_qs(parts.query)
        self.raw_path = handler.path
        self.headers, self.body = handler.headers, body

    def __repr__(self):
        return f"{self.method} {self.raw_path}"

    @property
    def json(self):
        return json.loads(self.body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self, body)
        with self.server.lock:
            self.server.requests.append(request)
        self.answer(self.server.respond(request))

    do_POST = do_GET

    def answer(self, reply):
        """CUT, (status, JSON) or (status, JSON, headers), or a generator of stream pieces."""
        if reply is CUT:
            return self.cut()
        if not isinstance(reply, tuple):
            return self.stream(reply)
        status, value, *headers = reply
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers[0] if headers else {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if piece is CUT:
                return self.cut()
            if isinstance(piece, str):
                piece = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def cut(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *args):
        pass

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    """with Server(respond) as s: … s.url, s.requests"""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, respond, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.respond, self.requests, self.lock = respond, [], threading.Lock()
        self.connections = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # the program has disconnected: the test checks that elsewhere

    def get_request(self):
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is gone already

    def paths(self, *without):
        return [f"{r.method} {r.path}" for r in self.requests
                if not any(w in r.path for w in without)]
