"""What a WebSocket client may send and what not, frame by frame: each fault has its close code
and a reason, and whatever is allowed changes nothing for the events that come."""

import contextlib
import socket
import struct
import time

import gateway
from gateway import STORY, Server, Worker, play
from harness import case, cases, check, contains, equal
from wires import PULL
from websocket import BINARY, CLOSE, MORE, PING, PONG, TEXT, Socket, events_socket, frame, handshake, is_open

ANSWER = '{"type":"stream.error","message":"this socket has the events of one job and takes no messages"}'


@contextlib.contextmanager
def open_socket(*flags, **more):
    """A socket on a job that waits for its worker: nothing comes by itself."""
    with Server(*flags, agents={"pull": PULL}) as server:
        job = server.submit()
        with events_socket(server, job, **more) as ws:
            equal(ws.status, 101)
            ws.server, ws.job = server, job
            yield ws


def goes_on(ws):
    """The socket still delivers events, up to the end of the job."""
    lease = Worker(ws.server).lease()
    lease.send(*STORY)
    lease.finish()
    n = len(ws.messages)
    ws.until_closed(1000, "the job has ended")
    check(any('"job.done"' in m for m in ws.messages[n:]), "the job's events come")


# --- faults -------------------------------------------------------------------------------

PROTOCOL = 1002
BAD = {
    "not masked": ([frame(TEXT, "x", mask=None)], PROTOCOL, "frames of a client are masked"),
    "ping not masked": ([frame(PING, "", mask=None)], PROTOCOL, "frames of a client are masked"),
    **{f"reserved bit {r}": ([frame(TEXT, "x", rsv=r)], PROTOCOL, "a reserved bit is set") for r in (1, 2, 4, 7)},
    "reserved bit on a ping": ([frame(PING, "x", rsv=4)], PROTOCOL, "a reserved bit is set"),
    **{f"opcode {o}": ([frame(o, "x")], PROTOCOL, "there is no such opcode") for o in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "binary": ([frame(BINARY, "x")], 1003, "messages are text here"),
    "empty binary": ([frame(BINARY)], 1003, "messages are text here"),
    "ping of 126 bytes": ([frame(PING, "x" * 126)], PROTOCOL, "the frame is malformed"),
    "close of 126 bytes": ([frame(CLOSE, b"\x03\xe8" + b"x" * 124)], PROTOCOL, "the frame is malformed"),
    "ping in pieces": ([frame(PING, "x", fin=False)], PROTOCOL, "the frame is malformed"),
    "close in pieces": ([frame(CLOSE, "", fin=False)], PROTOCOL, "the frame is malformed"),
    "a piece of nothing": ([frame(MORE, "x")], PROTOCOL, "there is no message to go on with"),
    "a last piece after the end": ([frame(TEXT, "a", fin=False), frame(MORE, "b"), frame(MORE, "c")], PROTOCOL,
                                   "there is no message to go on with"),
    "text inside text": ([frame(TEXT, "a", fin=False), frame(TEXT, "b")], PROTOCOL, "a message begins inside another one"),
    "binary inside text": ([frame(TEXT, "a", fin=False), frame(BINARY, "b")], PROTOCOL, "a message begins inside another one"),
    "a short length in 2 bytes": ([frame(TEXT, "x" * 125, size=2)], PROTOCOL, "the frame is malformed"),
    "a short length in 8 bytes": ([frame(TEXT, "x" * 300, size=8)], PROTOCOL, "the frame is malformed"),
    "a negative length": ([frame(TEXT, "x", length=1 << 63 | 70000, size=8)], PROTOCOL, "the frame is malformed"),
    "frame too long": ([frame(TEXT, "x" * 10, length=65537)], 1009, "the frame is too long"),
    "frame of 2^62 bytes": ([frame(TEXT, "x" * 10, length=1 << 62)], 1009, "the frame is too long"),
    "message too long": ([frame(TEXT, "x" * 65536, fin=False), frame(MORE, "y")], 1009, "the message is too long"),
    "too many pieces": ([frame(TEXT, "x" * 1000, fin=False)] + [frame(MORE, "x" * 1000, fin=False)] * 70, 1009,
                        "the message is too long"),
    "close with one byte": ([frame(CLOSE, b"\x03")], PROTOCOL, "a close code has two bytes"),
    **{f"close code {c}": ([frame(CLOSE, struct.pack(">H", c))], PROTOCOL, "there is no such close code")
       for c in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)},
    "close reason not UTF-8": ([frame(CLOSE, b"\x03\xe8\xff")], 1007, "the reason is not UTF-8"),
}


@cases(BAD)
def is_refused(name):
    frames, code, reason = BAD[name]
    with open_socket() as ws:
        ws.send(*frames)
        ws.until_closed(code, reason)
        gateway.until("the server has let go", is_open(ws.server, 0))


@cases(["not masked", "opcode 3", "message too long", "close code 1005", "frame too long"])
def is_refused_byte_by_byte(name):
    frames, code, reason = BAD[name]
    with open_socket() as ws:
        data = b"".join(frames)
        try:
            for i in range(0, min(len(data), 300)):
                ws.send(data[i:i + 1])
            ws.send(data[300:])
        except OSError:
            pass  # it was refused before its end
        ws.until_closed(code, reason)


# --- text ---------------------------------------------------------------------------------

BAD_TEXT = {
    "a lone continuation": b"a\x80b",
    "an overlong slash": b"\xc0\xaf",
    "an overlong three": b"\xe0\x80\xaf",
    "an overlong four": b"\xf0\x80\x80\xaf",
    "a surrogate": b"\xed\xa0\x80",
    "above U+10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "FE": b"\xfe",
    "cut in the middle": "é".encode()[:1],
    "cut after three of four": "🚀".encode()[:3],
    "a lead behind a lead": b"\xe2\xe2\x82\xac",
}


@cases(BAD_TEXT)
def bad_text_is_refused(name):
    with open_socket() as ws:
        ws.send(frame(TEXT, b'{"x":"' + BAD_TEXT[name] + b'"}' if not name.startswith("cut") else BAD_TEXT[name]))
        ws.until_closed(1007, "the message is not UTF-8")


@cases(BAD_TEXT)
def bad_text_is_refused_over_fragments(name):
    data = b"ok " + BAD_TEXT[name]
    with open_socket() as ws:
        ws.send(frame(TEXT, data[:1], fin=False), frame(PING, "in between"))
        for i in range(1, len(data)):
            ws.send(frame(MORE, data[i:i + 1], fin=i == len(data) - 1))
        ws.until_closed(1007, "the message is not UTF-8")
        equal(ws.pongs, [b"in between"])


@cases(["an overlong three", "a surrogate", "above U+10FFFF", "five bytes", "FE"])
def bad_text_is_refused_at_once(name):
    """Before the message is whole: with the byte that makes it wrong."""
    with open_socket() as ws:
        ws.send(frame(TEXT, "fine so far: é", fin=False), frame(MORE, BAD_TEXT[name], fin=False))
        ws.until_closed(1007, "the message is not UTF-8")


GOOD_TEXT = "κόσμε 🚀 \U0010ffff \ue000 \ud7ff ￿ é \0 end"


@case
def good_text_may_be_cut_anywhere():
    data = GOOD_TEXT.encode()
    with open_socket() as ws:
        for n in range(1, len(data)):
            ws.send(frame(TEXT, data[:n], fin=False), frame(MORE, data[n:]))
        ws.send(frame(TEXT, data[:1], fin=False), *[frame(MORE, data[i:i + 1], fin=False) for i in range(1, len(data))],
                frame(MORE))
        ws.until_messages(len(data))
        equal(ws.messages, [ANSWER] * len(data))


# --- what is allowed ----------------------------------------------------------------------

GOOD = {
    "empty": ([frame(TEXT)], 1),
    "125": ([frame(TEXT, "x" * 125)], 1),
    "126": ([frame(TEXT, "x" * 126)], 1),
    "65535": ([frame(TEXT, "x" * 65535)], 1),
    "the limit": ([frame(TEXT, "x" * 65536)], 1),
    "the limit in pieces": ([frame(TEXT, "x" * 16384, fin=False)] + [frame(MORE, "x" * 16384, fin=False)] * 3 + [frame(MORE)], 1),
    "empty pieces": ([frame(TEXT, fin=False), frame(MORE, fin=False), frame(MORE)], 1),
    "a mask of zeros": ([frame(TEXT, "x", mask=b"\0\0\0\0")], 1),
    "pong unasked": ([frame(PONG, "hello"), frame(PONG)], 0),
    "many in one": ([frame(TEXT, f"{i}") for i in range(500)], 500),
    "control frames in between": ([frame(TEXT, "a", fin=False), frame(PING, "1"), frame(MORE, "b", fin=False), frame(PONG),
                                   frame(PING, "2"), frame(MORE, "c")], 1),
}


@cases(GOOD)
def is_allowed(name):
    frames, n = GOOD[name]
    with open_socket() as ws:
        ws.send(*frames)
        ws.send(frame(PING, "last"))
        ws.until("the pong", lambda s: b"last" in s.pongs)
        equal(ws.messages, [ANSWER] * n)
        goes_on(ws)


@case
def pings_are_answered_with_their_payload():
    with open_socket() as ws:
        payloads = [b"", b"x", b"\xff\xfe\0", b"y" * 125] + [str(i).encode() for i in range(300)]
        ws.send(*[frame(PING, p) for p in payloads])
        ws.until("all pongs", lambda s: len(s.pongs) == len(payloads))
        equal(ws.pongs, payloads)
        goes_on(ws)


@cases([1, 2, 3, 7])
def frames_may_come_in_any_pieces(step):
    data = b"".join([frame(TEXT, "hello"), frame(PING, "p"), frame(TEXT, "x" * 200), frame(TEXT, "a", fin=False),
                     frame(PING), frame(MORE, "é")])
    with open_socket() as ws:
        for i in range(0, len(data), step):
            ws.send(data[i:i + step])
            if i % 20 == 0:
                ws.pump(0)
        ws.until("all answers", lambda s: len(s.messages) == 3 and len(s.pongs) == 2)
        goes_on(ws)


@case
def limits_are_options():
    with open_socket("--max-frame", "200", "--max-message", "300") as ws:
        ws.send(frame(TEXT, "x" * 200, fin=False), frame(MORE, "x" * 100))
        ws.until_messages(1)
        ws.send(frame(TEXT, "x" * 201))
        ws.until_closed(1009, "the frame is too long")
    with open_socket("--max-frame", "200", "--max-message", "300") as ws:
        ws.send(frame(TEXT, "x" * 200, fin=False), frame(MORE, "x" * 101))
        ws.until_closed(1009, "the message is too long")


# --- closing ------------------------------------------------------------------------------


@cases([1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999])
def a_close_is_answered(code):
    with open_socket() as ws:
        ws.echo = False
        ws.close(code, "bye")
        ws.until_closed(code, "")
        gateway.until("the server has let go", is_open(ws.server, 0))


@case
def a_close_without_a_code_is_answered_without_one():
    with open_socket() as ws:
        ws.echo = False
        ws.send(frame(CLOSE))
        ws.until_closed(1005, "")


@case
def nothing_is_read_behind_a_close():
    with open_socket() as ws:
        ws.echo = False
        ws.send(frame(CLOSE, struct.pack(">H", 1000)), frame(PING, "x"), frame(TEXT, "y"), b"\xff" * 100)
        ws.until_closed(1000)
        equal((ws.pongs, ws.messages), ([], []))


@case
def a_longest_reason_is_taken():
    with open_socket() as ws:
        ws.echo = False
        ws.close(1000, "x" * 123)
        ws.until_closed(1000)


@case
def a_peer_that_does_not_answer_the_close_is_not_waited_for():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with events_socket(server, job) as ws:
            ws.echo = False
            ws.until("the close", lambda s: s.closed)
            start = time.monotonic()
            ws.until("the end", lambda s: s.ended)
            check(time.monotonic() - start < 25)


@case
def a_peer_that_just_leaves_is_noticed():
    with open_socket() as ws:
        gateway.until("it is counted", is_open(ws.server, 1))
        ws.sock.close()
        gateway.until("it is gone", is_open(ws.server, 0))


@cases(["between frames", "inside a frame", "behind a close"])
def a_peer_that_stops_sending_is_let_go(where):
    """Half closed: nothing can come from it any more, not even a pong."""
    with open_socket() as ws:
        gateway.until("it is counted", is_open(ws.server, 1))
        ws.echo = False
        ws.send({"between frames": b"", "inside a frame": frame(TEXT, "hello")[:4], "behind a close": frame(CLOSE)}[where])
        ws.sock.shutdown(socket.SHUT_WR)
        ws.until("the end", lambda s: s.ended)
        equal(ws.closed, (1005, "") if where == "behind a close" else None)
        gateway.until("it is gone", is_open(ws.server, 0))


# --- the handshake --------------------------------------------------------------------------


@case
def frames_may_come_with_the_handshake():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        behind = frame(TEXT, "early") + frame(PING, "bird") + frame(TEXT, "x", fin=False)
        with events_socket(server, job, behind=behind) as ws:
            ws.until("the answers", lambda s: s.messages and s.pongs)
            ws.send(frame(MORE, "y"))
            ws.until_messages(2)
            equal((ws.messages, ws.pongs), ([ANSWER] * 2, [b"bird"]))
            ws.server = server
            goes_on(ws)


@case
def a_fault_may_come_with_the_handshake():
    with Server(agents={"pull": PULL}) as server:
        with events_socket(server, server.submit(), behind=frame(TEXT, "x", mask=None)) as ws:
            ws.until_closed(1002, "frames of a client are masked")
        with events_socket(server, server.submit(), behind=frame(CLOSE)) as ws:
            ws.until_closed(1005)


@case
def a_handshake_may_follow_another_request():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        request, _ = handshake(server, f"/v1/jobs/{job}/events")
        with server.connect() as s:
            first = gateway.request_bytes(server, "GET", "/livez")
            s.sendall(first + request + frame(PING, "x"))
            data = b""
            while b"\x8a\x01x" not in data:
                more = s.recv(65536)
                check(more, f"it ended: {data!r}")
                data += more
            contains(data.decode("latin-1"), "200 OK", "101 Switching Protocols")


HANDSHAKES = {
    "version 8": ({"Sec_WebSocket_Version": "8"}, 426, "Sec-WebSocket-Version must be 13"),
    "no version": ({"Sec_WebSocket_Version": ""}, 426, "Sec-WebSocket-Version must be 13"),
    "a short key": ({"key": "AAAA"}, 400, "Sec-WebSocket-Key must be 16 bytes in base64"),
    "a key of 17 bytes": ({"key": "AAAAAAAAAAAAAAAAAAAAAAA="}, 400, "Sec-WebSocket-Key must be 16 bytes in base64"),
    "not base64": ({"key": "AAAAAAAAAAAAAAAAAAAA*A=="}, 400, "Sec-WebSocket-Key must be 16 bytes in base64"),
    "no Connection": ({"Connection": "keep-alive"}, 400, "Connection: Upgrade"),
}


@cases(HANDSHAKES)
def a_bad_handshake_is_refused(name):
    headers, status, text = HANDSHAKES[name]
    with Server(agents={"pull": PULL}) as server:
        request, _ = handshake(server, f"/v1/jobs/{server.submit()}/events", **headers)
        with server.connect() as s:
            s.sendall(request)
            a = gateway.read_answer(s)
            equal(a.status, status, repr(a))
            contains(a.detail, text)
            if status == 426:
                equal((a.headers["sec-websocket-version"], a.headers["upgrade"]), ("13", "websocket"))


@case
def http_1_0_and_head_are_refused():
    with Server(agents={"pull": PULL}) as server:
        path = f"/v1/jobs/{server.submit()}/events"
        for old, new in ((b"HTTP/1.1", b"HTTP/1.0"), (b"GET", b"HEAD")):
            with server.connect() as s:
                s.sendall(handshake(server, path)[0].replace(old, new, 1))
                equal(gateway.read_answer(s, "HEAD" if new == b"HEAD" else "GET").status, 400)


@cases([("websocket", "Upgrade"), ("WebSocket", "keep-alive, Upgrade"), ("h2c, websocket", "upgrade")], name=str)
def handshakes_that_are_allowed(headers):
    with Server(agents={"pull": PULL}) as server:
        with events_socket(server, play(server), Upgrade=headers[0], Connection=headers[1]) as ws:
            equal(ws.status, 101)
            ws.until_closed(1000)


@case
def other_upgrades_are_not_taken():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with gateway.Stream(server, f"/v1/jobs/{job}/events", headers={"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c",
                                                                      "HTTP2-Settings": "AAMAAABk"}) as st:
            equal(st.status, 200)
            st.rest()


@case
def only_pages_that_may_open_a_socket():
    with Server("--origins", "https://app.example.com", agents={"pull": PULL}) as server:
        job = play(server)
        for origin, status in ((None, 101), (server.url, 101), ("https://app.example.com", 101), ("https://evil.example.com", 403),
                               ("null", 403), ("http://app.example.com", 403), ("https://app.example.com.evil.com", 403)):
            with events_socket(server, job, **({"Origin": origin} if origin else {})) as ws:
                equal(ws.status, status, origin)
        with events_socket(server, job, Sec_Fetch_Site="cross-site") as ws:
            equal(ws.status, 403)
        # Without an upgrade it is CORS that decides who may read.
        equal(server.get(f"/v1/jobs/{job}/events?wait=0", headers={"Origin": "https://evil.example.com"}).status, 200)


@case
def a_job_that_is_not_there_is_404():
    with Server(agents={"pull": PULL}) as server:
        with events_socket(server, "none") as ws:
            equal(ws.status, 404)
        with events_socket(server, play(server), dialect="latin") as ws:
            equal(ws.status, 422)


# --- silence and slowness -------------------------------------------------------------------


@case
def silence_is_broken_by_pings():
    with open_socket("--keep-alive", "300ms", "--pong-timeout", "10s") as ws:
        ws.until("three pings", lambda s: len(s.pings) >= 3)
        goes_on(ws)


@case
def a_peer_that_does_not_answer_pings_is_cut():
    with open_socket("--keep-alive", "300ms", "--pong-timeout", "500ms", "--access-log", "json") as ws:
        ws.echo = False
        start = time.monotonic()
        ws.until("the end", lambda s: s.ended)
        equal(ws.ended, "reset")
        check(0.6 < time.monotonic() - start < 25)
        gateway.until("the log says why", lambda: "the peer does not answer pings" in ws.server.err())


@case
def who_asks_much_has_to_listen():
    """Pongs that nobody reads are not gathered without end: we stop reading instead."""
    with open_socket("--write-timeout", "3s", receive_buffer=4096) as ws:
        before = gateway.rss_kb(ws.server.pid)
        ws.sock.settimeout(2)
        sent, data = 0, frame(PING, "x" * 125) * 500
        try:
            while sent < 60_000_000:
                sent += ws.sock.send(data)
        except (TimeoutError, ConnectionError):
            pass
        check(sent < 50_000_000, "the server reads all and says nothing")
        if not gateway.SLOW_BUILD:
            check(gateway.rss_kb(ws.server.pid) - before < 20_000, "it gathers pongs")
        gateway.until("it is cut", is_open(ws.server, 0), 20)
