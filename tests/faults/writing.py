#!/usr/bin/env python3
"""Datasets written to S3: whole or not at all, never over another's version."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from common import Proxy, Rowfs, main, make_clips, moto

_rig = {}


def use(proxy, keys, s3):
    """The server to write to: others run these tests on theirs."""
    _rig.update(proxy=proxy, keys=keys, s3=s3)


def rig(program):
    if not _rig:
        import boto3
        host, keys = moto()
        proxy = Proxy(host)
        use(proxy, {**keys, "AWS_ENDPOINT_URL": proxy.url}, boto3.client(
            "s3", endpoint_url=f"http://{host}", region_name="us-east-1",
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"]))
    return _rig["proxy"], Rowfs(program, _rig["keys"])


def keys_below(prefix):
    pages = _rig["s3"].get_paginator("list_objects_v2").paginate(
        Bucket="bkt", Prefix=prefix)
    return [entry["Key"] for page in pages
            for entry in page.get("Contents", [])]


def uploads(prefix=""):
    found = _rig["s3"].list_multipart_uploads(Bucket="bkt").get("Uploads", [])
    return [upload for upload in found if upload["Key"].startswith(prefix)]


def manifests_put(proxy):
    return [e for e in proxy.take() if e[0] == "PUT" and
            e[1].split("?")[0].endswith(".manifest")]


def big_picture(folder, size=70 << 20):
    folder.mkdir()
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(size))


def every_change_is_a_conditional_commit(program):
    proxy, rowfs = rig(program)
    with rowfs:
        make_clips(rowfs.folder / "a", 3, seconds=2)
        make_clips(rowfs.folder / "b", 2, seconds=2)
        target = "s3://bkt/one.lance"

        def changes(rows, version, *words):
            proxy.take()
            rowfs.run(*words)
            puts = manifests_put(proxy)
            assert len(puts) == 1 and puts[0][7] == "*", puts
            info = json.loads(rowfs.run("info", target, "--json").stdout)
            assert (info["rows"], info["version"]) == (rows, version), info

        changes(3, 1, "ingest", rowfs.folder / "a", "--output", target)
        changes(5, 2, "append", rowfs.folder / "b", "--output", target)
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
        done = rowfs.run("ingest", rowfs.folder / "a", "--output", target,
                         code=None)
        assert done.returncode == 1 and b"append" in done.stderr, done
        changes(4, 3, "delete", target, "--where", "0")
        changes(4, 4, "compact", target)
        after = rowfs.run("cat", target, "rows/000003/video.mp4").stdout
        assert after == rowfs.run("cat", target + "@v2",
                                  "rows/000004/video.mp4").stdout
        # An orphan goes, what a version refers to stays.
        _rig["s3"].put_object(Bucket="bkt", Body=b"x",
                              Key="one.lance/data/0123456789abcdef.lance")
        time.sleep(1.1)
        before = len(keys_below("one.lance"))
        done = rowfs.run("gc", target, "--grace", "0s")
        assert b"0123456789abcdef.lance" in done.stdout, done.stdout
        assert len(keys_below("one.lance")) == before - 1
        for version, rows in ((1, 3), (2, 5), (3, 4), (4, 4)):
            rowfs.run("verify", f"{target}@v{version}")
            info = json.loads(rowfs.run("info", f"{target}@v{version}",
                                        "--json").stdout)
            assert info["rows"] == rows, info
        assert not [k for k in keys_below("one.lance") if ".tmp" in k]


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


def upload_parts_meet(proxy, meet):
    """PUTs of the second part of an upload are answered by `meet`."""
    def put(handler):
        if "partNumber=2&" in handler.path:
            return meet(handler)
        return proxy.forward(handler)
    proxy.RequestHandlerClass.do_PUT = put


def heal(proxy):
    proxy.RequestHandlerClass.do_PUT = lambda handler: proxy.forward(handler)


def a_failed_upload_is_aborted(program):
    """Very large objects go in parts; when one is refused nothing stays behind."""
    proxy, rowfs = rig(program)
    refused = []

    def refuse(handler):
        refused.append(handler.path)
        handler.rfile.read(int(handler.headers["Content-Length"]))
        handler.send_response(403)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with rowfs:
        big_picture(rowfs.folder / "big")
        upload_parts_meet(proxy, refuse)
        done = rowfs.run("ingest", rowfs.folder / "big", "--output",
                         "s3://bkt/three.lance", code=1)
        heal(proxy)
        assert refused and done.stderr.count(b"\n") <= 2, done.stderr
        assert not uploads()
        rowfs.run("ls", "s3://bkt/three.lance", code=1)


def a_part_that_breaks_off_is_sent_again(program):
    proxy, rowfs = rig(program)
    broken = []

    def breaks_off(handler):
        size = int(handler.headers["Content-Length"])
        if len(broken) < 2:
            broken.append(size)
            handler.rfile.read(size // 2)
            handler.close_connection = True
            return None
        return proxy.forward(handler)

    with rowfs:
        big_picture(rowfs.folder / "big")
        upload_parts_meet(proxy, breaks_off)
        target = "s3://bkt/parts.lance"
        rowfs.run("ingest", rowfs.folder / "big", "--output", target)
        heal(proxy)
        assert len(broken) == 2 and not uploads()
        assert rowfs.run("cat", target, "rows/000000/image.png").stdout == (
            rowfs.folder / "big/a.png").read_bytes()


def an_upload_that_is_killed_leaves_nothing_for_good(program):
    """kill -9 between two parts: nothing shows, the parts are given up by the
    next ingest of the same, or by gc."""
    proxy, rowfs = rig(program)
    reached = threading.Event()

    def hold(handler):
        reached.set()
        time.sleep(1)
        handler.close_connection = True

    with rowfs:
        big_picture(rowfs.folder / "big")
        target = "s3://bkt/killed.lance"

        def kill():
            reached.clear()
            upload_parts_meet(proxy, hold)
            process = subprocess.Popen(
                [program, "ingest", rowfs.folder / "big", "--output", target],
                env=rowfs.environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            assert reached.wait(60), process.poll()
            process.send_signal(signal.SIGKILL)
            process.wait()
            heal(proxy)
            assert uploads("killed.lance"), "it was not killed in the midst"
            assert not keys_below("killed.lance/_versions")
            assert not [k for k in keys_below("killed.lance/data")
                        if not k.split("/")[-1].startswith(".rowfs-")]
            rowfs.run("ls", target, code=1)
            time.sleep(1.1)

        kill()
        rowfs.run("ingest", rowfs.folder / "big", "--output", target)
        assert not uploads(), uploads()
        assert rowfs.run("cat", target, "rows/000000/image.png").stdout == (
            rowfs.folder / "big/a.png").read_bytes()
        # The same in an append, which may not touch what others are writing.
        upload_parts_meet(proxy, hold)
        reached.clear()
        process = subprocess.Popen(
            [program, "append", rowfs.folder / "big", "--output", target],
            env=rowfs.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        assert reached.wait(60), process.poll()
        process.send_signal(signal.SIGKILL)
        process.wait()
        heal(proxy)
        assert uploads("killed.lance")
        time.sleep(1.1)
        if "moto" not in sys.modules:  # moto calls all of them years old
            rowfs.run("gc", target)
            assert uploads("killed.lance"), "gc took what may be at work"
        key = uploads("killed.lance")[0]["Key"].removeprefix("killed.lance/")
        done = rowfs.run("gc", target, "--grace", "0s", "--dry-run")
        assert key in done.stdout.decode(), done.stdout
        assert uploads("killed.lance")
        rowfs.run("gc", target, "--grace", "0s")
        assert not uploads()
        rowfs.run("verify", target)


def of_racing_creators_one_wins(program):
    """70 MiB, in parts, created by several at once: one object, whole, of one
    writer; the others are told."""
    proxy, rowfs = rig(program)
    put = pathlib.Path(program).parent / "put_object"
    with rowfs:
        for key, size in (("small", 1 << 20), ("large", 70 << 20)):
            target = f"s3://bkt/race/{key}"
            codes = {}
            proxy.take()

            def create(letter):
                codes[letter] = subprocess.run(
                    [put, target, str(size), letter], env=rowfs.environment,
                    capture_output=True, text=True)

            threads = [threading.Thread(target=create, args=(letter,))
                       for letter in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            won = [k for k, done in codes.items() if done.returncode == 0]
            assert len(won) == 1, codes
            for letter, done in codes.items():
                assert letter in won or "already" in done.stderr or (
                    "another writer" in done.stderr), done
            in_parts = [e for e in proxy.take() if "partNumber=" in e[1]]
            assert bool(in_parts) == (key == "large")
            body = _rig["s3"].get_object(Bucket="bkt",
                                         Key=f"race/{key}")["Body"].read()
            assert body == won[0].encode() * size
            assert keys_below("race/" + key) == ["race/" + key]
            assert not uploads(), uploads()
            # Nobody overwrites it later either.
            create("z")
            assert codes["z"].returncode == 1
        assert keys_below("race/") == ["race/large", "race/small"]


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


TESTS = [every_change_is_a_conditional_commit,
         a_killed_ingest_shows_nothing_and_can_be_repeated,
         a_failed_upload_is_aborted, a_part_that_breaks_off_is_sent_again,
         an_upload_that_is_killed_leaves_nothing_for_good,
         of_racing_creators_one_wins, two_writers_never_overwrite_each_other]

if __name__ == "__main__":
    main(TESTS)
