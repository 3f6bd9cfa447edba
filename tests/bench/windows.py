#!/usr/bin/env python3
"""Ten windows of 500 ms from a 40 min video on S3, one frame of each of 30
clips, and what a cold process needs, beside what people use today, in one run.

Rivals that are not installed (PyAV, pylance, rclone) are left out. A claim that
is missed is printed as such; times of a busy machine say little.
"""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import remote  # noqa: E402
from videos import (Decoder, Packets, encode, long_video,  # noqa: E402
                    pyav_window, whole_clip)

LENGTH = 0.5


class Windows:
    def __init__(self, rig, smoke):
        self.rig, self.minutes = rig, 2 if smoke else 40
        self.repeat = 1 if smoke else 3
        (rig.folder / "long").mkdir()
        self.video = rig.folder / "long/a.mp4"
        long_video(self.video, self.minutes)
        rig.ingest(rig.folder / "long", "long.lance", "--verify", "off")
        self.data = self.video.read_bytes()
        rig.s3.put_object(Bucket="bkt", Key="plain/a.mp4", Body=self.data)
        choose = random.Random(8739)
        length = self.minutes * 60
        self.starts = [round(choose.uniform(0, length - 1.5), 3)
                       for _ in range(10)]
        self.packets = Packets(self.video)
        self.plans = [self.packets.plan(at, at + LENGTH) for at in self.starts]
        self.exact = sum(plan["bytes"] for plan in self.plans)
        # Counted here: it takes longer than reading the frame.
        self.keys = [self.first_frame(plan) for plan in self.plans]
        self.dataset = None
        self.results = {}
        print(f"a.mp4: {len(self.data):,} B, {self.minutes} min; ten windows "
              f"are {sum(p['end'] - p['begin'] for p in self.plans):,} B as "
              f"they lie in it, {self.exact:,} B of video packets", flush=True)

    def blob_dataset(self):
        """The video as a blob v2 cell, its packet index in a column beside."""
        import lance
        import pyarrow
        import zlib
        index = zlib.compress(b"".join(
            struct.pack("<qii", *p[:3]) for p in self.packets.list))
        lance.write_dataset(
            pyarrow.table({"video": lance.blob_array([self.data]),
                           "video_index": pyarrow.array(
                               [index], pyarrow.large_binary())}),
            "s3://bkt/blob.lance", storage_options=self.rig.pylance(True),
            data_storage_version="2.2")
        self.dataset = lance.dataset("s3://bkt/blob.lance",
                                     storage_options=self.rig.pylance())
        self.dataset.take_blobs("video", indices=[0])[0].size()
        self.dataset.take([0], columns=["video_index"])

    # ---- each of these is ten windows

    def limit(self, key_only=False):
        import http.client
        decoder = Decoder(self.packets)
        connection = http.client.HTTPConnection(self.rig.url.split("//")[1])
        connection.request("HEAD", "/bkt/plain/a.mp4")
        connection.getresponse().read()
        begin = time.perf_counter()
        for plan in self.plans:
            end = plan["end"]
            if key_only:
                end = plan["begin"] + self.packets.list[plan["key"]][2]
            connection.request("GET", "/bkt/plain/a.mp4", headers={
                "Range": f"bytes={plan['begin']}-{end - 1}"})
            decoder.frames(plan, connection.getresponse().read(), key_only)
        return (time.perf_counter() - begin) * 1e3

    def clips_of(self, mount):
        for at in self.starts:
            yield mount / (f"rows/000000/video.clips/{at:.3f}-"
                           f"{at + LENGTH:.3f}.mp4")

    def mounted(self, work):
        """`work(mount)` on a fresh mount whose row was looked at."""
        self.rig.rowfs.fresh_cache()
        trace = self.rig.folder / "trace"
        trace.unlink(missing_ok=True)
        with self.rig.rowfs.mount("s3://bkt/long.lance", "--trace",
                                  trace) as mount:
            os.listdir(mount / "rows/000000")
            (mount / "rows/000000/video.info.json").read_bytes()
            with_any = mount / "rows/000000/video.clips/0.000-0.100.mp4"
            with_any.read_bytes()
            self.rig.take()
            begin = time.perf_counter()
            work(mount)
            ms = (time.perf_counter() - begin) * 1e3
            self.trace = [json.loads(line) for line in
                          trace.read_text().splitlines()]
            return ms

    def by_clips(self, mount):
        for clip, plan in zip(self.clips_of(mount), self.plans):
            count = whole_clip(clip)
            assert count >= len(plan["want"]), (clip, count)

    def by_hints(self, mount):
        """The reader says what it will want, as one who asks for a batch does."""
        with open(mount / ".rowfs/prefetch", "w") as hints:
            for clip in self.clips_of(mount):
                hints.write(f"{clip.relative_to(mount)}\n")
        self.by_clips(mount)

    def by_shell(self, mount):
        for i, clip in enumerate(self.clips_of(mount)):
            subprocess.run(["cp", clip, self.rig.folder / f"clip{i}.mp4"],
                           check=True)

    def keys_of(self, mount):
        for number in self.keys:
            yield mount / f"rows/000000/video.keyframes/{number:06d}.ppm"

    def by_keys(self, mount):
        for key in self.keys_of(mount):
            key.read_bytes()

    def by_hinted_keys(self, mount):
        keys = list(self.keys_of(mount))
        with open(mount / ".rowfs/prefetch", "w") as hints:
            for key in keys:
                hints.write(f"{key.relative_to(mount)}\n")
        for key in keys:
            key.read_bytes()

    def first_frame(self, plan):
        key = self.packets.list[plan["key"]][0]
        return sum(p[0] < key for p in self.packets.list)

    def extract(self, at):
        done = self.rig.rowfs.run(
            "extract-frame", "s3://bkt/long.lance", "--column", "video",
            "--row", 0, "--from", f"{at:.3f}", "--to", f"{at + LENGTH:.3f}",
            "--format", "ppm", "--output", self.rig.folder / "frames",
            "--stats")
        return json.loads(done.stdout)

    def extracted(self):
        """A process a window; what it says of itself."""
        total, self.extract_ranges, self.extract_bytes = 0, 0, 0
        self.rig.rowfs.fresh_cache()
        self.extract(0.1)  # the index is on disk from here on
        self.rig.take()
        for at in self.starts:
            report = self.extract(at)
            total += report["plan_ms"] + report["read_ms"] + report["decode_ms"]
            self.extract_ranges += report["requests"]
            self.extract_bytes += report["bytes"]
        return total

    def blob_files(self, keys=False, **options):
        for at in self.starts:
            file = self.dataset.take_blobs("video", indices=[0], **options)[0]
            pyav_window(file, at, at + LENGTH, keys)

    def blob_ranges(self):
        self.dataset.take([0], columns=["video_index"])
        got = self.dataset.read_blob_ranges(
            "video", [(0, p["begin"], p["end"] - p["begin"])
                      for p in self.plans], selector="indices")
        decoder = Decoder(self.packets)
        for plan, piece in zip(self.plans, got):
            decoder.frames(plan, piece[2])

    def ffmpeg(self):
        for at in self.starts:
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-threads", "1",
                            "-ss", f"{at:.3f}", "-i",
                            f"{self.rig.url}/bkt/plain/a.mp4", "-t", "0.5",
                            "-map", "0:v:0", "-f", "rawvideo", "-pix_fmt",
                            "rgb24", "-y", "/dev/null"], check=True)

    def rclone(self):
        folder = self.rig.folder / "rclone"
        folder.mkdir(exist_ok=True)
        cache = self.rig.folder / "rclone-cache"
        shutil.rmtree(cache, ignore_errors=True)
        key, secret = remote.gateway.KEY, remote.gateway.SECRET
        process = subprocess.Popen(
            ["rclone", "mount", f":s3,provider=Ceph,access_key_id={key},"
             f"secret_access_key='{secret}',endpoint='{self.rig.url}':bkt",
             folder, "--read-only", "--cache-dir", cache, "--config",
             "/dev/null", "--vfs-cache-mode", "full", "--vfs-read-chunk-size",
             "1M", "--buffer-size", "0"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(300):
                if os.path.ismount(folder):
                    break
                time.sleep(0.1)
            (folder / "plain/a.mp4").stat()
            self.rig.take()
            begin = time.perf_counter()
            for at in self.starts:
                pyav_window(str(folder / "plain/a.mp4"), at, at + LENGTH)
            return (time.perf_counter() - begin) * 1e3
        finally:
            subprocess.run(["umount", folder], check=False)
            process.wait(20)

    # ---- all of them

    def measure(self, latency):
        rig = self.rig
        rig.latency(latency)
        kept = self.results[latency] = {}

        def run(name, work, repeat=1):
            kept[name] = rig.measure(name, work, 10, repeat)

        run("limit: exact GETs on one connection, libavcodec", self.limit,
            self.repeat)
        run("rowfs mount, clips decoded by PyAV",
            lambda: self.mounted(self.by_clips), self.repeat)
        run("rowfs mount, clips hinted, decoded by PyAV",
            lambda: self.mounted(self.by_hints), self.repeat)
        run("rowfs mount, clips by cp", lambda: self.mounted(self.by_shell))
        run("rowfs extract-frame, a process a window", self.extracted)
        if self.dataset is not None:
            run("pylance read_blob_ranges, one batch", self.blob_ranges,
                self.repeat)
            run("pylance BlobFile + PyAV, fresh", self.blob_files)
            run("pylance BlobFile unbuffered + PyAV, fresh",
                lambda: self.blob_files(buffer_size=0))
        run("ffmpeg -ss on the URL, a process a window", self.ffmpeg)
        if shutil.which("rclone"):
            run("rclone mount, full cache, 1 MiB chunks + PyAV", self.rclone)
        run("keys alone: limit", lambda: self.limit(True))
        run("keys alone: rowfs mount", lambda: self.mounted(self.by_keys),
            self.repeat)
        run("keys alone: rowfs mount, hinted",
            lambda: self.mounted(self.by_hinted_keys), self.repeat)
        if self.dataset is not None:
            run("keys alone: pylance BlobFile + PyAV, fresh",
                lambda: self.blob_files(True))

    def claims(self):
        rig = self.rig
        for latency, kept in self.results.items():
            limit = kept["limit: exact GETs on one connection, libavcodec"]
            clips = kept["rowfs mount, clips decoded by PyAV"]
            shell = kept["rowfs mount, clips by cp"]
            at = f" at {latency} ms"
            rig.at_most("windows, mount: time by the limit" + at,
                        clips["ms"] / limit["ms"], 1.2, "x")
            rig.claim("windows, mount: requests" + at, clips["requests"], 10,
                      clips["requests"] == 10)
            rig.claim("windows, mount by cp: requests" + at, shell["requests"],
                      10, shell["requests"] == 10)
            rig.at_most("windows, mount by cp: bytes" + at, shell["bytes"],
                        limit["bytes"])
            rivals = {name: run["ms"] for name, run in kept.items()
                      if not name.startswith(("rowfs", "limit", "keys"))}
            best = min(rivals, key=rivals.get)
            ours = min(clips["ms"], kept["rowfs mount, clips hinted, decoded "
                                         "by PyAV"]["ms"])
            rig.at_most(f"windows, mount: time by the best rival's{at} ({best})",
                        ours / rivals[best], 1.0, "x")
            if latency == 30 and self.dataset is not None:
                for name, bound in (("", 4), (" unbuffered", 15)):
                    rival = kept[f"pylance BlobFile{name} + PyAV, fresh"]
                    rig.at_least(f"windows: faster than fresh BlobFile{name}" +
                                 at, rival["ms"] / clips["ms"], bound, "x")
                rival = kept["keys alone: pylance BlobFile + PyAV, fresh"]
                for name in ("", ", hinted"):
                    ours = kept["keys alone: rowfs mount" + name]
                    rig.at_least(f"keys alone{name}: faster than fresh BlobFile"
                                 + at, rival["ms"] / ours["ms"], 8, "x")
        rig.claim("windows, extract-frame: requests", self.extract_ranges, 10,
                  self.extract_ranges == 10)
        # The sound between two GOPs is read along where a window has both.
        rig.at_most("windows, extract-frame: bytes", self.extract_bytes,
                    sum(plan["end"] - plan["begin"] for plan in self.plans))


def cold_process(rig, windows):
    """A new process with nothing cached, to the first window; then warm."""
    rig.latency(30)
    at = windows.starts[3]
    words = ["extract-frame", "s3://bkt/long.lance", "--column", "video",
             "--row", 0, "--from", f"{at:.3f}", "--to", f"{at + LENGTH:.3f}",
             "--format", "ppm", "--output", rig.folder / "frames", "--stats"]
    cold = rig.measure("cold rowfs process to its first window",
                       lambda: rig.rowfs.run(*words) and None,
                       before=rig.rowfs.fresh_cache)
    rig.at_most("cold process: rounds", cold["rounds"], 6)
    rig.at_most("cold process: requests", cold["requests"], 8)
    rig.at_most("cold process: bytes", cold["bytes"], 500_000)
    words[7], words[9] = "100.000", "100.500"
    warm = rig.measure("warm rowfs process, another window",
                       lambda: rig.rowfs.run(*words) and None)
    rig.at_most("warm process: requests before the data",
                warm["requests"] - 1, 1)
    if windows.dataset is None:
        return
    program = f"""
import sys, lance
sys.path.insert(0, {str(pathlib.Path(__file__).parent / "peers")!r})
import videos
dataset = lance.dataset("s3://bkt/blob.lance",
                        storage_options={rig.pylance()!r})
videos.pyav_window(dataset.take_blobs("video", indices=[0])[0], {at}, {at + .5})
"""
    rig.measure("cold pylance process to its first window",
                lambda: subprocess.run([sys.executable, "-c", program],
                                       check=True) and None)


class Clips:
    """One frame, the key frame before a random time, of each of 30 clips."""

    def __init__(self, rig, smoke):
        self.rig, self.count = rig, 6 if smoke else 30
        self.repeat = 1 if smoke else 3
        folder = rig.folder / "clips"
        folder.mkdir()
        self.clip(folder, smoke)
        rig.ingest(folder, "clips.lance", "--verify", "off")
        choose = random.Random(5)
        self.plans, self.data = [], []
        for path in sorted(folder.iterdir()):
            packets = Packets(path)
            self.data.append(path.read_bytes())
            length = float(packets.list[-1][0] * packets.tb) - 3
            at = choose.uniform(0, length)
            p = max((p for p in packets.list
                     if p[3] and p[0] * packets.tb <= at),
                    key=lambda p: p[0])
            self.plans.append({
                "begin": p[1], "end": p[1] + p[2],
                "number": sum(q[0] < p[0] for q in packets.list)})

    def clip(self, folder, smoke):
        """Cut from one encoding: all different, and made in no time."""
        seconds = 6 if smoke else 30
        source = folder.with_name("source.mp4")
        encode(source, seconds * 2, "1280x720", 25, 1700)
        for i in range(self.count):
            subprocess.run(
                ["ffmpeg", "-v", "error", "-nostdin", "-ss",
                 str(2 * (i % (seconds // 2))), "-i", str(source), "-t",
                 str(seconds - 2 * (i // (seconds // 2))), "-c", "copy",
                 "-movflags", "+faststart", str(folder / f"c{i:02d}.mp4")],
                check=True)

    def pylance(self):
        import lance
        import pyarrow
        table = pyarrow.table({
            "video": lance.blob_array(self.data),
            "video_index": pyarrow.array([os.urandom(3900)] * self.count,
                                         pyarrow.large_binary())})
        lance.write_dataset(table, "s3://bkt/clipblobs.lance",
                            storage_options=self.rig.pylance(True),
                            data_storage_version="2.2")
        dataset = lance.dataset("s3://bkt/clipblobs.lance",
                                storage_options=self.rig.pylance())
        rows = list(range(self.count))
        dataset.take(rows, columns=["video_index"])
        dataset.take_blobs("video", indices=rows)

        def work():
            dataset.take(rows, columns=["video_index"])
            dataset.read_blob_ranges(
                "video", [(i, p["begin"], p["end"] - p["begin"])
                          for i, p in enumerate(self.plans)],
                selector="indices")
        return self.rig.measure("pylance index + read_blob_ranges, 30 clips",
                                work, 1, self.repeat)

    def rowfs(self):
        rows = [f"rows/{i:06d}" for i in range(self.count)]
        self.rig.rowfs.fresh_cache()
        self.rig.rowfs.run("prefetch", "s3://bkt/clips.lance",
                           *[f"{row}/video.info.json" for row in rows])
        kept = self.rig.folder / "known"
        shutil.copytree(self.rig.rowfs.cache, kept, dirs_exist_ok=True)

        def forget():
            self.rig.rowfs.fresh_cache()
            shutil.copytree(kept, self.rig.rowfs.cache)

        def work():
            self.rig.rowfs.run("prefetch", "s3://bkt/clips.lance", *[
                f"{row}/video.keyframes/{p['number']:06d}.ppm"
                for row, p in zip(rows, self.plans)])

        run = self.rig.measure("rowfs prefetch, a frame of each of 30 clips",
                               work, 1, self.repeat, forget)
        log = [e for e in run["log"] if e[2]]
        run["requests"] = len(log)
        run["rounds"] = remote.common.rounds(log)
        run["io_ms"] = (max(e[6] for e in log) - min(e[5] for e in log)) * 1e3
        run["keys"] = [(e[1], e[2]) for e in log]
        return run

    def bare(self, keys):
        """The same ranges on eight connections."""
        ranges = []
        for _, span in keys:
            begin, _, end = span.partition("-")
            ranges.append((int(begin), int(end) + 1))
        key = keys[0][0].removeprefix("/bkt/")
        return self.rig.measure(
            "bare GETs, eight connections",
            lambda: self.rig.bare_reads(8, key, ranges)["ms"], 1, self.repeat)

    def claims(self):
        rig = self.rig
        rig.latency(30)
        ours = self.rowfs()
        rig.claim("30 clips: requests", ours["requests"], self.count,
                  ours["requests"] == self.count)
        rig.at_most("30 clips: rounds", ours["rounds"], 4)
        bare = self.bare(ours["keys"])
        rig.at_most("30 clips: I/O time by eight bare connections'",
                    ours["io_ms"] / bare["ms"], 1.1, "x")
        try:
            theirs = self.pylance()
        except ImportError:
            return
        rig.at_most("30 clips: I/O time by pylance's batched ranges'",
                    ours["io_ms"] / theirs["io_ms"], 1.0, "x")


def bench(rig, smoke):
    windows = Windows(rig, smoke)
    try:
        windows.blob_dataset()
    except ImportError:
        print("no pylance: its rows are left out")
    for latency in ([0] if smoke else [0, 5, 30]):
        windows.measure(latency)
    windows.claims()
    cold_process(rig, windows)
    Clips(rig, smoke).claims()


if __name__ == "__main__":
    remote.run(bench)
