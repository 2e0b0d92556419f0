"""gateway.Server, over TLS: modules that are imported after this one get it under that name, so
that their cases run over TLS unchanged."""

import atexit
import os
import shutil
import ssl
import subprocess
import tempfile

import gateway

PEMS = tempfile.mkdtemp(prefix="spoolwire-tls-")
atexit.register(shutil.rmtree, PEMS, ignore_errors=True)


def openssl(*args, stdin=b""):
    return subprocess.run(["openssl", *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)


def make(name):
    """Makes a self-signed certificate for 127.0.0.1; returns its two files."""
    cert, key = (os.path.join(PEMS, f"{name}.{kind}.pem") for kind in ("cert", "key"))
    if not os.path.exists(cert):
        done = openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                       "-out", cert, "-days", "30", "-subj", f"/CN={name}",
                       "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        if done.returncode != 0:
            raise AssertionError(done.stdout.decode())
    return cert, key


FIRST, SECOND = make("first"), make("second")


class Socket(ssl.SSLSocket):
    def recv(self, *args):
        try:
            return super().recv(*args)
        except ssl.SSLEOFError:  # an end without close_notify is a cut connection
            raise ConnectionResetError


def trust(*certs):
    context = ssl.create_default_context()
    context.sslsocket_class = Socket
    for cert in certs or (FIRST[0], SECOND[0]):
        context.load_verify_locations(cert)
    return context


TRUST = trust()


def name_of(sock):
    """The common name of the certificate that the server has shown."""
    return dict(pair for row in sock.getpeercert()["subject"] for pair in row)["commonName"]


class SecureServer(gateway.Server):
    def __init__(self, *flags, start=True, **more):
        super().__init__(*flags, start=False, **more)
        self.cert, self.key = (os.path.join(self.folder, kind) for kind in ("cert.pem", "key.pem"))
        if not os.path.exists(self.cert):
            self.install(FIRST)
        self.flags += ["--tls-cert", self.cert, "--tls-key", self.key]
        if start:
            try:
                self.start()
            except BaseException:
                self.__exit__(AssertionError, None, None)
                raise

    def install(self, pair):
        """As certbot does it: new files, moved over the old ones."""
        for path, new in zip((self.cert, self.key), pair):
            shutil.copy(new, path + ".new")
            os.rename(path + ".new", path)

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def connect_plain(self, receive_buffer=None):
        return super().connect(receive_buffer)

    def connect(self, receive_buffer=None, context=None):
        # A connection that ends without close_notify is an error, not an end.
        return (context or TRUST).wrap_socket(self.connect_plain(receive_buffer), server_hostname="127.0.0.1",
                                              suppress_ragged_eofs=False)


gateway.Server = SecureServer
