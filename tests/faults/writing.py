#!/usr/bin/env python3
"""Datasets written to S3: whole or not at all, never over another's version."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from common import Proxy, Rowfs, main, make_clips, moto, request

_rig = {}


def rig(program):
    if not _rig:
        host, keys = moto()
        proxy = Proxy(host)
        _rig.update(host=host, proxy=proxy, keys={
            **keys, "AWS_ENDPOINT_URL": proxy.url})
    return _rig["proxy"], Rowfs(program, _rig["keys"])


def keys_below(prefix):
    text = request(_rig["host"], "GET", "/bkt").decode()
    return [k for k in re.findall("<Key>(.*?)</Key>", text)
            if k.startswith(prefix)]


def uploads():
    host = _rig["host"]
    import http.client
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/bkt?uploads", headers={
        "Authorization": "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/"
                         "aws4_request, SignedHeaders=host, Signature=0"})
    return connection.getresponse().read().decode().count("<UploadId>")


def ingest_append_and_compact_work_on_s3(program):
    proxy, rowfs = rig(program)
    with rowfs:
        make_clips(rowfs.folder / "a", 3, seconds=2)
        make_clips(rowfs.folder / "b", 2, seconds=2)
        target = "s3://bkt/one.lance"
        rowfs.run("ingest", rowfs.folder / "a", "--output", target)
        puts = [e for e in proxy.take() if e[0] == "PUT" and
                "_versions/" in e[1] and e[1].endswith(".manifest")]
        assert len(puts) == 1, puts
        rowfs.run("append", rowfs.folder / "b", "--output", target)
        info = json.loads(rowfs.run("info", target, "--json").stdout)
        assert info["rows"] == 5 and info["version"] == 2, info
        with rowfs.mount(target) as mount:
            assert len(os.listdir(mount / "rows")) == 5
            source = (rowfs.folder / "b/clip001.mp4")
            out = subprocess.run(
                ["ffmpeg", "-v", "error", "-i",
                 mount / "rows/000004/video.mp4", "-f", "framemd5", "-"],
                capture_output=True, check=True).stdout
            want = subprocess.run(
                ["ffmpeg", "-v", "error", "-i", source, "-f", "framemd5", "-"],
                capture_output=True, check=True).stdout
            sums = [re.findall(rb"[0-9a-f]{32}", text) for text in (out, want)]
            assert sums[0] == sums[1] and len(sums[0]) == 50
        assert not [k for k in keys_below("one.lance") if ".tmp" in k]
        done = rowfs.run("ingest", rowfs.folder / "a", "--output", target,
                         code=None)
        assert done.returncode == 1 and b"append" in done.stderr, done


def a_killed_ingest_shows_nothing_and_can_be_repeated(program):
    proxy, rowfs = rig(program)
    with rowfs:
        make_clips(rowfs.folder / "a", 4, seconds=2)
        target = "s3://bkt/two.lance"
        proxy.latency = 0.15
        process = subprocess.Popen(
            [program, "ingest", rowfs.folder / "a", "--output", target],
            env=rowfs.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        while not any(e[0] in ("PUT", "POST") for e in proxy.take()):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        proxy.latency = 0
        assert not [k for k in keys_below("two.lance/_versions")
                    if k.endswith(".manifest")]
        rowfs.run("ls", target, code=1)
        rowfs.run("ingest", rowfs.folder / "a", "--output", target)
        info = json.loads(rowfs.run("info", target, "--json").stdout)
        assert info["rows"] == 4, info


def a_failed_upload_is_aborted(program):
    """Very large objects go in parts; when one is refused nothing stays behind."""
    proxy, rowfs = rig(program)
    forward, refused = proxy.forward, []

    def refuse_parts(handler):
        if "partNumber=2" in handler.path:
            refused.append(handler.path)
            handler.rfile.read(int(handler.headers["Content-Length"]))
            handler.send_response(403)
            handler.send_header("Content-Length", "0")
            return handler.end_headers()
        return forward(handler)

    with rowfs:
        big = rowfs.folder / "big"
        big.mkdir()
        (big / "a.png").write_bytes(os.urandom(70 << 20))
        proxy.RequestHandlerClass.do_PUT = lambda self: refuse_parts(self)
        done = rowfs.run("ingest", big, "--output", "s3://bkt/three.lance",
                         code=1)
        assert refused and done.stderr.count(b"\n") <= 2, done.stderr
        proxy.RequestHandlerClass.do_PUT = lambda self: forward(self)
        assert uploads() == 0
        rowfs.run("ls", "s3://bkt/three.lance", code=1)


def two_writers_never_overwrite_each_other(program):
    proxy, rowfs = rig(program)
    with rowfs:
        make_clips(rowfs.folder / "a", 1, seconds=1)
        target = "s3://bkt/four.lance"
        rowfs.run("ingest", rowfs.folder / "a", "--output", target)
        proxy.latency = 0.05
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(
            rowfs.run("append", rowfs.folder / "a", "--output", target,
                      code=None).returncode)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proxy.latency = 0
        info = json.loads(rowfs.run("info", target, "--json").stdout)
        assert info["rows"] == 1 + codes.count(0), (codes, info)
        assert codes.count(0) >= 1


if __name__ == "__main__":
    main([ingest_append_and_compact_work_on_s3,
          a_killed_ingest_shows_nothing_and_can_be_repeated,
          a_failed_upload_is_aborted, two_writers_never_overwrite_each_other])
