#!/usr/bin/env python3
"""rowfs on a real S3 server, Ceph's radosgw: signatures that are checked,
conditional writes, multipart uploads, awkward keys."""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import uuid

import writing
from common import Proxy, Rowfs, blob_of, main, make_clips, rounds, skip

KEY, SECRET = "AKGATEWAY", "gateway+secret/key"
NEEDED = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph-authtool",
          "monmaptool", "ceph"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway:
    """A monitor, one object store in memory and a gateway, as children."""

    def __init__(self, memory="1G"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-rgw-"))
        for name in ("mon", "osd/0", "rgw", "run", "log"):
            (self.folder / name).mkdir(parents=True)
        self.port, self.mon = free_port(), free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.children = []
        fsid, osd = uuid.uuid4(), uuid.uuid4()
        d = self.folder
        (d / "ceph.conf").write_text(f"""[global]
fsid = {fsid}
mon host = v2:127.0.0.1:{self.mon}/0
mon initial members = a
keyring = {d}/keyring
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon data = {d}/mon/a
osd data = {d}/osd/$id
osd objectstore = memstore
memstore device bytes = {memory}
run dir = {d}/run
admin socket = {d}/run/$name.$pid.asok
log file = {d}/log/$name.log
pid file = {d}/run/$name.pid
ms bind msgr1 = false
ms bind ipv6 = false
mon max pg per osd = 1000
public addr = 127.0.0.1
cluster addr = 127.0.0.1
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{self.port} tcp_nodelay=1
rgw data = {d}/rgw
""")
        self.environment = {**os.environ, "CEPH_CONF": str(d / "ceph.conf")}
        ring = str(d / "keyring")
        allow = ["--cap", "mon", "allow *", "--cap", "osd", "allow *"]
        self.call("ceph-authtool", "--create-keyring", ring, "--gen-key", "-n",
                  "mon.", "--cap", "mon", "allow *")
        for name in ("client.admin", "client.rgw"):
            self.call("ceph-authtool", ring, "--gen-key", "-n", name, *allow)
        self.call("ceph-authtool", ring, "--gen-key", "-n", "osd.0", "--cap",
                  "mon", "allow profile osd", "--cap", "osd", "allow *",
                  "--cap", "mgr", "allow profile osd")
        self.call("monmaptool", "--create", "--clobber", "--addv", "a",
                  f"[v2:127.0.0.1:{self.mon}]", "--fsid", str(fsid),
                  str(d / "monmap"))
        self.call("ceph-mon", "--mkfs", "-i", "a", "--monmap",
                  str(d / "monmap"), "--keyring", ring)
        self.start("ceph-mon", "-i", "a")
        secret = self.call("ceph-authtool", ring, "-n", "osd.0", "-p").strip()
        (d / "secret.json").write_text(json.dumps({"cephx_secret": secret}))
        self.call("ceph", "osd", "new", str(osd), "-i", str(d / "secret.json"))
        self.call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", str(osd),
                  "--keyring", ring)
        self.start("ceph-osd", "-i", "0", "--keyring", ring)
        self.start("radosgw", "-n", "client.rgw", "--keyring", ring)
        self.wait()
        self.call("radosgw-admin", "-n", "client.rgw", "--keyring", ring,
                  "user", "create", "--uid", "t", "--display-name", "t",
                  "--access-key", KEY, "--secret-key", SECRET)

    def call(self, *words):
        done = subprocess.run(words, capture_output=True, text=True,
                              timeout=120, env=self.environment)
        if done.returncode != 0:
            self.stop()
            raise RuntimeError(f"{words[:3]}: {done.stderr[-500:]}")
        return done.stdout

    def start(self, *words):
        log = open(self.folder / "log" / (words[0] + ".out"), "wb")
        self.children.append(subprocess.Popen(
            [*words, "-f"], env=self.environment, stdout=log, stderr=log))

    def wait(self):
        for _ in range(240):
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(self.host, timeout=5)
                connection.request("GET", "/")
                connection.getresponse().read()
                return
            time.sleep(0.5)
        raise RuntimeError("the gateway does not answer")

    def stop(self):
        for child in reversed(self.children):
            child.kill()
        for child in self.children:
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def client(gateway):
    import boto3
    return boto3.client(
        "s3", endpoint_url=f"http://{gateway.host}", aws_access_key_id=KEY,
        aws_secret_access_key=SECRET, region_name="us-east-1")


def keys_of(url):
    return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": url}


_rig = {}


def rig(program):
    proxy = _rig["proxy"]
    return proxy, Rowfs(program, keys_of(proxy.url))


def datasets_are_written_and_read(program):
    proxy, rowfs = rig(program)
    with rowfs:
        make_clips(rowfs.folder / "a", 3)
        target = "s3://bkt/v.lance"
        rowfs.run("ingest", rowfs.folder / "a", "--output", target)
        rowfs.run("append", rowfs.folder / "a", "--output", target)
        proxy.take()
        done = rowfs.run("extract-frame", target, "--column", "video", "--row",
                         "4", "--from", "1.5", "--to", "2", "--output",
                         rowfs.folder / "w", "--stats")
        log, report = proxy.take(), json.loads(done.stdout)
        print("  cold window:", len(log), "requests,", rounds(log), "rounds,",
              sum(e[4] for e in log), "bytes")
        assert report["requests"] == 1
        assert len(log) <= 8 and rounds(log) <= 6, log
        with rowfs.mount(target) as mount:
            assert len(os.listdir(mount / "rows")) == 6


def a_wrong_key_is_refused_in_one_line(program):
    _, rowfs = rig(program)
    rowfs.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    with rowfs:
        done = rowfs.run("ls", "s3://bkt/v.lance", code=1)
        text = done.stderr.decode()
        assert "403" in text and text.count("\n") == 1, text
        assert "wrong" not in text.replace("is wrong", ""), text


def awkward_keys_are_signed_right(program):
    keys = ["odd/plain.png", "odd/sp ace.png", "odd/plus+sign.png",
            "odd/percent%20lit.png", "odd/hash#1.png", "odd/ques?tion.png",
            "odd/\u00fc-nfc.png", "odd/u\u0308-nfd.png", "odd/double//slash.png",
            "odd/both", "odd/both/inner.png", "odd/amp&=;.png",
            "odd/quote'\".png", "odd/v1.0/dot.dir.png", "odd//lead.png"]
    s3 = client(_rig["gateway"])
    for key in ["odd/", "odd/emptydir/"]:
        s3.put_object(Bucket="bkt", Key=key, Body=b"")
    for key in keys:
        s3.put_object(Bucket="bkt", Key=key, Body=b"BM" + key.encode())
    _, rowfs = rig(program)
    with rowfs, rowfs.mount("s3://bkt/odd") as mount:
        found = {}
        for row in os.listdir(mount / "rows"):
            folder = mount / "rows" / row
            name = (folder / "file_name.txt").read_text()
            found["odd/" + name] = blob_of(folder).read_bytes()
        assert found == {k: b"BM" + k.encode() for k in keys}, found


def large_objects_go_in_parts(program):
    _, rowfs = rig(program)
    with rowfs:
        data = os.urandom(70 << 20)
        (rowfs.folder / "big").mkdir()
        (rowfs.folder / "big/a.png").write_bytes(data)
        target = "s3://bkt/big.lance"
        rowfs.run("ingest", rowfs.folder / "big", "--output", target)
        done = rowfs.run("read-blob", target, "--column", "image", "--row", 0)
        assert done.stdout == data
        s3 = client(_rig["gateway"])
        assert not s3.list_multipart_uploads(Bucket="bkt").get("Uploads")


def run(program_tests):
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        skip(f"no {' '.join(missing)} (Debian: radosgw ceph-mon ceph-osd)")
    try:
        import boto3  # noqa: F401
    except ImportError:
        skip("no boto3 (set ROWFS_PYTHON)")
    gateway = Gateway()
    try:
        client(gateway).create_bucket(Bucket="bkt")
        _rig.update(gateway=gateway, proxy=Proxy(gateway.host))
        writing.use(_rig["proxy"], keys_of(_rig["proxy"].url), client(gateway))
        main(program_tests)
    finally:
        gateway.stop()


if __name__ == "__main__":
    run([datasets_are_written_and_read, a_wrong_key_is_refused_in_one_line,
         awkward_keys_are_signed_right, large_objects_go_in_parts,
         *writing.TESTS])
