"""The image: its archive by the book, and its files run as a container would run them."""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile

import gateway
from chroot import Inside, plays_a_job
from harness import case, check, contains, equal, spoolwire
from made import make, run

TOKEN = spoolwire("token", "create", "--scope", "admin", "--no-store").out.decode().strip()


class Image:
    def __init__(self, path):
        with tarfile.open(path) as tar:
            self.files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        self.index = json.loads(self.files["index.json"])
        self.manifest = json.loads(self.blob(self.index["manifests"][0]))
        self.config = json.loads(self.blob(self.manifest["config"]))

    def blob(self, about):
        algorithm, digest = about["digest"].split(":")
        data = self.files[f"blobs/{algorithm}/{digest}"]
        equal((hashlib.sha256(data).hexdigest(), len(data)), (digest, about["size"]), "a blob is not what its name says")
        return data

    def layers(self):
        return [gzip.decompress(self.blob(layer)) for layer in self.manifest["layers"]]


def image():
    return Image(make("image"))


@case
def the_archive_is_an_oci_layout():
    i = image()
    equal(json.loads(i.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
    equal(i.manifest["schemaVersion"], 2)
    equal([f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in i.layers()], i.config["rootfs"]["diff_ids"])
    named = {f"blobs/sha256/{about['digest'][7:]}" for about in [i.index["manifests"][0], i.manifest["config"], *i.manifest["layers"]]}
    equal({name for name in i.files if name.startswith("blobs/")}, named, "blobs that nobody names")
    old = json.loads(i.files["manifest.json"])[0]
    equal({old["Config"], *old["Layers"]} <= named, True)


@case
def nothing_in_it_is_more_than_it_needs():
    i = image()
    with tarfile.open(fileobj=io.BytesIO(i.layers()[0])) as tar:
        members = {m.name: m for m in tar.getmembers()}
    check(len(members) < 60, sorted(members))
    check(not any(name.endswith(("/sh", "/bash", "/dash")) for name in members))
    for m in members.values():
        check(m.mode & 0o6000 == 0 and (m.isfile() or m.isdir()), m.name)
        check(m.mode & 0o002 == 0 or m.name == "tmp", f"{m.name} can be written to by all")
    user = i.config["config"]["User"]
    equal((f"{members['data'].uid}:{members['data'].gid}", members["data"].mode), (user, 0o700))
    check(user.split(":")[0] != "0")


def container(root, i, more_env, *more):
    c = i.config["config"]
    env = dict(e.split("=", 1) for e in c["Env"])
    env.update(more_env)
    return Inside(root, [*c["Entrypoint"], *c["Cmd"], *more], c["User"], env, token=TOKEN)


@case
def its_files_are_a_whole_system():
    i = image()
    root = tempfile.mkdtemp(prefix="spoolwire-image-", dir="/var/tmp")
    try:
        with tarfile.open(fileobj=io.BytesIO(i.layers()[0])) as tar:
            tar.extractall(root)
        os.makedirs(f"{root}/proc")
        os.chmod(root, 0o755)
        port = gateway.fixed_port()
        here = {"SPOOLWIRE_LISTEN": f"0.0.0.0:{port}"}
        # Nobody is let in without a token: then it does not even start.
        with container(root, i, here) as s:
            s.process.wait(gateway.WAIT)
            contains(s.err(), "there is no token to keep strangers out")
            check(s.process.returncode != 0)
        with container(root, i, {**here, "SPOOLWIRE_TOKEN_ADMIN": TOKEN}).ready(port) as s:
            s.token = None
            equal(s.get("/v1/jobs").status, 401)
            s.token = TOKEN
            id = plays_a_job(s)
            equal(s.get("/docs").status, 200)
            s.terminate()
        with container(root, i, {**here, "SPOOLWIRE_TOKEN_ADMIN": TOKEN}).ready(port) as s:
            equal(s.state(id), "succeeded")
        equal(sorted(os.listdir(f"{root}/data"))[0], "spoolwire.db")
    finally:
        shutil.rmtree(root)


@case
def the_same_sources_give_the_same_image():
    path = make("image")
    with open(path, "rb") as f:
        before = hashlib.sha256(f.read()).hexdigest()
    run("scripts/package", "image")
    with open(path, "rb") as f:
        equal(hashlib.sha256(f.read()).hexdigest(), before)
