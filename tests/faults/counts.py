#!/usr/bin/env python3
"""What reading from S3 costs, counted by a proxy in front of the server."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

from common import (Proxy, Rowfs, blob_of, main, make_clips, moto, request,
                    rounds, stats, trace, upload)

CLIPS = 30
_rig = {}


def rig(program):
    """Thirty clips ingested, on S3 behind the proxy."""
    if not _rig:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-requests-"))
        make_clips(folder / "clips", CLIPS)
        subprocess.run([program, "ingest", folder / "clips", "--output",
                        folder / "v.lance"], check=True, capture_output=True)
        host, keys = moto()
        upload(host, folder / "v.lance", "v.lance")
        proxy = Proxy(host)
        _rig.update(host=host, proxy=proxy, folder=folder, keys={
            **keys, "AWS_ENDPOINT_URL": proxy.url})
    return _rig["proxy"], Rowfs(program, _rig["keys"])


SOURCE = "s3://bkt/v.lance"


def window(rowfs, row, begin, folder, *options):
    done = rowfs.run("extract-frame", SOURCE, "--column", "video", "--row", row,
                     "--from", begin, "--to", begin + 0.5, "--output",
                     rowfs.folder / folder, "--stats", *options)
    return json.loads(done.stdout)


def a_cold_process_comes_to_its_first_window_in_six_rounds(program):
    proxy, rowfs = rig(program)
    with rowfs:
        proxy.take()
        window(rowfs, 7, 1.5, "w")
        log = proxy.take()
        print("  cold:", len(log), "requests,", rounds(log), "rounds,",
              sum(e[4] for e in log), "bytes")
        assert len(log) <= 4, log
        assert rounds(log) <= 6, log
        assert sum(e[4] for e in log) <= 500_000, log


def a_warm_process_asks_once_before_the_data(program):
    proxy, rowfs = rig(program)
    with rowfs:
        window(rowfs, 7, 1.5, "w")
        proxy.take()
        other = window(rowfs, 7, 0.1, "x")
        log = proxy.take()
        data = other["requests"]
        print("  warm:", len(log), "requests, of them data:", data)
        assert len(log) - data <= 1, log
        # The same window once more: only whether it is still the same version.
        window(rowfs, 7, 0.1, "y")
        assert len(proxy.take()) <= 1


def a_warm_mount_asks_once(program):
    proxy, rowfs = rig(program)
    with rowfs:
        for turn in ("cold", "warm"):
            proxy.take()
            with rowfs.mount(SOURCE) as mount:
                begin = time.monotonic()
                names = os.listdir(mount / "rows/000003")
                listed = len(proxy.take())
                frame = (mount / "rows/000003/video.at/1.0.png").read_bytes()
                framed = len(proxy.take())
                ms = (time.monotonic() - begin) * 1e3
                print(f"  {turn} mount: {listed} requests to ls, "
                      f"{framed} more to a frame, {ms:.0f} ms")
                assert "video.mp4" in names and frame
        assert listed <= 1 and framed == 0


def ten_windows_are_ten_requests(program):
    proxy, rowfs = rig(program)
    with rowfs, rowfs.mount(SOURCE, "--trace", rowfs.folder / "t") as mount:
        row = mount / "rows/000011"
        info = json.loads((row / "video.info.json").read_text())
        assert info["frame_count"] == 100
        os.listdir(row / "video.frames")
        before, _ = stats(mount), proxy.take()
        # One frame in each GOP of five clips: none overlaps another.
        for clip in range(11, 16):
            for frame in (20, 70):
                path = (mount / f"rows/{clip:06d}/video.frames" /
                        f"{frame:06d}.png")
                done = subprocess.run(["cp", path, rowfs.folder / "f"])
                assert done.returncode == 0
        log, after = proxy.take(), stats(mount)
        key = 'rowfs_store_requests_total{store="s3",kind="data"}'
        assert after[key] - before[key] == 10, (before, after)
        data = [e for e in trace(rowfs.folder / "t")
                if e["why"] == "data" and e["cache"] == "miss"]
        assert len(data) == 10
        ranges = {f"bytes={e['offset']}-{e['offset'] + e['length'] - 1}"
                  for e in data}
        seen = [e for e in log if e[2] in ranges]
        # The bytes that came are those that were planned.
        assert len(seen) == 10 and sum(e[4] for e in seen) == sum(
            e["length"] for e in data)


def thirty_clips_are_thirty_requests_in_four_rounds(program):
    proxy, rowfs = rig(program)
    with rowfs:
        rowfs.run("prefetch", SOURCE, *[f"rows/{i:06d}/video.info.json"
                                        for i in range(CLIPS)])
        proxy.take()
        proxy.latency = 0.05
        done = rowfs.run("prefetch", SOURCE, *[
            f"rows/{i:06d}/video.at/{1 + i / 20}.jpg" for i in range(CLIPS)])
        proxy.latency = 0
        log = [e for e in proxy.take() if e[0] == "GET" and e[2]]
        print("  clips:", len(log), "ranged requests,", rounds(log), "rounds")
        assert len(log) == CLIPS, (done.stdout, log)
        assert rounds(log) <= 4, log


def random_readers_bring_nothing_in_excess(program):
    proxy, rowfs = rig(program)
    host = _rig["host"]
    data = random.Random(3).randbytes(8 << 20)
    request(host, "PUT", "/bkt/flat/data.png", data)
    with rowfs, rowfs.mount("s3://bkt/flat") as mount:
        path = blob_of(mount / "rows/000000")
        before = stats(mount)
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        places = random.Random(4).sample(range(2, 2000), 40)
        for place in places:
            assert os.pread(file, 4096, place * 4096) == data[
                place * 4096:(place + 1) * 4096]
        os.close(file)
        after = stats(mount)
        key = 'rowfs_store_bytes_total{store="s3",kind="data"}'
        assert after[key] - before[key] == 40 * 4096, (before, after)
        # A pass from end to end comes in few large requests.
        proxy.take()
        assert path.read_bytes() == data
        log = proxy.take()
        print("  sequential: 8 MiB in", len(log), "requests")
        assert len(log) <= 40, len(log)


def what_was_prefetched_is_served_offline(program):
    proxy, rowfs = rig(program)
    with rowfs:
        rowfs.run("prefetch", SOURCE, "0-1", "rows/000002/row.json")
        proxy.take()
        with rowfs.mount(SOURCE, "--offline") as mount:
            assert len(os.listdir(mount / "rows")) == CLIPS
            one = (mount / "rows/000001/video.mp4").read_bytes()
            assert (mount / "rows/000001/video.frames/000010.jpg").read_bytes()
            # What is not there is an error that says so.
            try:
                (mount / "rows/000009/video.mp4").read_bytes()
                raise AssertionError("bytes out of nowhere")
            except OSError:
                pass
            assert "--offline" in (mount / ".rowfs/log").read_text()
        assert not proxy.take()
        online = rowfs.run("cat", SOURCE, "rows/000001/video.mp4").stdout
        assert online == one
        done = rowfs.run("ls", "s3://bkt/other", "--offline", code=1)
        assert b"--offline" in done.stderr and done.stderr.count(b"\n") == 1


def hints_bring_files_before_they_are_asked_for(program):
    proxy, rowfs = rig(program)
    with rowfs, rowfs.mount(SOURCE) as mount:
        hints = mount / ".rowfs/prefetch"
        hints.write_text("rows/000004/video.at/1.0.png\n5-6\n")
        while "pending 0" not in hints.read_text():
            time.sleep(0.05)
        assert "done 2" in hints.read_text()
        proxy.take()
        (mount / "rows/000004/video.at/1.0.png").read_bytes()
        (mount / "rows/000005/video.mp4").read_bytes()
        assert not proxy.take()


def secrets_are_nowhere(program):
    proxy, rowfs = rig(program)
    secret = _rig["keys"]["AWS_SECRET_ACCESS_KEY"]
    environment = {**os.environ, "ROWFS_LOG": "debug"}
    rowfs.environment["ROWFS_LOG"] = environment["ROWFS_LOG"]
    with rowfs, rowfs.mount(SOURCE, "--trace", rowfs.folder / "t") as mount:
        for row in range(3):
            (mount / f"rows/{row:06d}/video.at/1.0.jpg").read_bytes()
        texts = [(mount / ".rowfs" / name).read_text()
                 for name in ("log", "config", "dataset.json", "stats")]
        texts.append((rowfs.folder / "t").read_text())
        # Of what runs here, only what this program started.
        shown = subprocess.run(["ps", "axww", "-o", "args="],
                               capture_output=True, text=True).stdout
        home = os.path.dirname(program)
        ours = [line for line in shown.splitlines() if home in line]
        assert any(SOURCE in line for line in ours), shown
        texts += ours
        done = rowfs.run("ls", "s3://bkt/nothing", code=1)
        texts.append(done.stderr.decode())
        done = rowfs.run("ls", "http://me:hunter2@127.0.0.1:1/x?sig=abc",
                         code=1)
        texts.append(done.stderr.decode())
        for text in texts:
            assert secret not in text and "hunter2" not in text, text
            assert "Signature" not in text and "sig=abc" not in text, text
        for path in rowfs.cache.rglob("*"):
            if path.is_file():
                assert secret.encode() not in path.read_bytes(), path


if __name__ == "__main__":
    main([a_cold_process_comes_to_its_first_window_in_six_rounds,
          a_warm_process_asks_once_before_the_data, a_warm_mount_asks_once,
          ten_windows_are_ten_requests,
          thirty_clips_are_thirty_requests_in_four_rounds,
          random_readers_bring_nothing_in_excess,
          what_was_prefetched_is_served_offline,
          hints_bring_files_before_they_are_asked_for, secrets_are_nowhere])
