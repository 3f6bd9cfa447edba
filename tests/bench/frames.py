#!/usr/bin/env python3
"""Frames through the mount against plain libav decoding, in one run.

Makes a 720p and a 1080p video, ingests and mounts them, and prints one line a
figure: ours, the peer's or the number aimed at, and how many times better ours
is (1.00 is equal, more is better). Rivals are measured in the same run where
they are installed: PyAV and torchcodec ($ROWFS_PYTHON, else this Python), which
give RGB in memory, and ffmpegfs, which mounts JPEG files as we do.

A neighbour is the next frame after a random one. Where its bytes lie within the
range of that one it was decoded along and is only encoded; else its packets
have to be read and decoded first.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SPANS = 6    # walks of neighbours
SPAN = 12    # frames of one
THINK = 0.1  # seconds between two frames of somebody who looks at them


def run(*words, limit=None):
    return subprocess.run(words, check=True, capture_output=True, text=True,
                          timeout=limit).stdout


def make_video(path, size, seconds):
    run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
        f"testsrc2=size={size}:rate=30:duration={seconds}", "-vf",
        "noise=alls=6:allf=t", "-c:v", "libx264", "-preset", "fast", "-crf",
        "24", "-g", "60", "-bf", "2", "-pix_fmt", "yuv420p", str(path))


class Mount:
    def __init__(self, rowfs, source, folder):
        self.rowfs, self.folder = rowfs, str(folder)
        begin = time.perf_counter()
        run(rowfs, "mount", str(source), self.folder)
        os.listdir(self.folder + "/rows")
        self.ms = (time.perf_counter() - begin) * 1e3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run(self.rowfs, "umount", self.folder)

    def frames(self):
        """The frames of row 0, in order."""
        folder = pathlib.Path(self.folder) / "rows/000000/video.frames"
        return [folder / name for name in sorted(os.listdir(folder))]

    def daemon(self):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"mount" in words and self.folder.encode() in words:
                    return process
        return None

    def rss_mb(self):
        text = (self.daemon() / "status").read_text()
        line = [x for x in text.splitlines() if "VmRSS" in x][0]
        return int(line.split()[1]) / 1024

    def cpu_ms(self):
        """Processor time of the daemon and its workers so far."""
        daemon = self.daemon()
        total = 0
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                parent = (process / "stat").read_text().rsplit(")")[-1].split()
                if process == daemon or parent[1] == daemon.name:
                    for task in (process / "task").iterdir():
                        total += int(
                            (task / "schedstat").read_text().split()[0])
        return total / 1e6


def read_ms(path):
    begin = time.perf_counter()
    with open(path, "rb") as file:
        file.read()
    return (time.perf_counter() - begin) * 1e3


def report(name, ours, peer, unit="ms", note=""):
    better = ours / peer if unit == "1/s" else peer / ours
    print(f"{name:62} {ours:9.2f} {peer:9.2f} {unit:4} {better:6.2f} x {note}",
          flush=True)


def skipped(name, why):
    print(f"{name}: skipped, {why}", flush=True)


def library(name, *words):
    """What peers/frames.py measured; a text says why it did not."""
    python = os.environ.get("ROWFS_PYTHON", sys.executable)
    script = pathlib.Path(__file__).parent / "peers/frames.py"
    done = subprocess.run([python, str(script), name, *map(str, words)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "\n".join(done.stderr.strip().splitlines()[-1:])
    return json.loads(done.stdout)


def measure_libraries(label, video, order, cold, per_second):
    for name in ("pyav", "torchcodec"):
        alone = library(name, video, "frames", *order)
        if isinstance(alone, str):
            skipped(f"{label}: {name}", alone)
            continue
        whole = library(name, video, "all")
        report(f"{label}: a random frame / {name}, RGB in memory", cold,
               alone["ms"] / len(order))
        report(f"{label}: all frames in order / {name}, RGB in memory",
               per_second, whole["frames"] * 1e3 / whole["ms"], "1/s")


@contextlib.contextmanager
def mounted_ffmpegfs(videos, point):
    """The frames of the one video."""
    point.mkdir()
    run("ffmpegfs", str(videos), str(point), "-o",
        f"desttype=jpg,ro,cachepath={point}-cache", limit=60)
    try:
        [frames] = [x for x in point.iterdir() if x.is_dir()]
        yield sorted(frames.iterdir())
    finally:
        run("fusermount3", "-u", "-z", str(point))


def measure_ffmpegfs(label, videos, folder, order, cold, per_second):
    """Frame sets of ffmpegfs: one folder a video, one JPEG a frame."""
    if shutil.which("ffmpegfs") is None:
        skipped(f"{label}: ffmpegfs", "not installed")
        return
    try:
        point = folder / f"ffmpegfs-{label}-1"
        with mounted_ffmpegfs(videos, point) as frames:
            theirs = statistics.mean(read_ms(frames[i]) for i in order)
            report(f"{label}: a random frame / ffmpegfs", cold, theirs)
        point = folder / f"ffmpegfs-{label}-2"
        with mounted_ffmpegfs(videos, point) as frames:
            begin = time.perf_counter()
            for frame in frames:
                read_ms(frame)
            ms = (time.perf_counter() - begin) * 1e3
        report(f"{label}: all frames in order / ffmpegfs", per_second,
               len(frames) * 1e3 / ms, "1/s")
    except (OSError, subprocess.SubprocessError) as error:
        # It gives up on a frame after some seconds on a busy machine.
        skipped(f"{label}: ffmpegfs", f"it failed: {error}")


def span_of(frame):
    """Where the bytes of a frame begin and end in the blob."""
    begin, end = os.getxattr(frame, "user.rowfs.range").decode().split("-")
    return int(begin), int(end)


def measure_random(label, mount, order, peer_ms):
    """Random frames and the one after each; returns ms of a random one."""
    frames = mount.frames()
    cold, near = [], {True: [], False: []}
    for i in order:
        cold.append(read_ms(frames[i]))
        mine, next_one = span_of(frames[i]), span_of(frames[i + 1])
        along = mine[0] == next_one[0] and next_one[1] <= mine[1]
        near[along].append(read_ms(frames[i + 1]))
    mean = statistics.mean(cold)
    report(f"{label}: a random frame / decoding its packets", mean, peer_ms)
    for along, name in ((True, "decoded along"), (False, "to be decoded")):
        if near[along]:
            report(f"{label}: its neighbour, {name} / 5 ms",
                   statistics.mean(near[along]), 5.0,
                   note=f"median {statistics.median(near[along]):.2f}, "
                   f"{len(near[along])} frames")
    both = near[True] + near[False]
    report(f"{label}: its neighbour, all of them / 5 ms",
           statistics.mean(both), 5.0,
           note=f"median {statistics.median(both):.2f}")
    return mean


def measure_walks(label, mount):
    """Frame after frame from a random one on, looking at each."""
    frames = mount.frames()
    rng = random.Random(11)
    walked = []
    for _ in range(SPANS):
        first = rng.randrange(len(frames) - SPAN)
        read_ms(frames[first])
        for k in range(1, SPAN):
            time.sleep(THINK)
            walked.append(read_ms(frames[first + k]))
    report(f"{label}: walking on, every {THINK * 1e3:.0f} ms / 5 ms",
           statistics.mean(walked), 5.0,
           note=f"median {statistics.median(walked):.2f}")


def measure_order(label, args, dataset, point, whole):
    """All frames, forwards and backwards; returns frames a second in order."""
    results = []
    for name in ("in order", "backwards"):
        with Mount(args.rowfs, dataset, point) as mount:
            frames = mount.frames()
            if name == "backwards":
                frames.reverse()
            used = mount.cpu_ms()
            begin = time.perf_counter()
            for frame in frames:
                read_ms(frame)
            ms = (time.perf_counter() - begin) * 1e3
            used = (mount.cpu_ms() - used) / len(frames)
        results.append(len(frames) * 1e3 / ms)
        report(f"{label}: all frames {name} / decode + encode, one process",
               results[-1], whole["frames"] * 1e3 / whole["ms"], "1/s",
               note=f"{used:.1f} ms of processor a frame")
    return results[0]


def measure(args, label, size, folder):
    videos = folder / f"videos-{label}"
    videos.mkdir()
    make_video(videos / "v.mp4", size, 8 if args.smoke else 30)
    dataset = folder / f"{label}.lance"
    run(args.rowfs, "ingest", str(videos), "--output", str(dataset))
    peer = [str(pathlib.Path(args.rowfs).parent / "decode_peer"),
            str(videos / "v.mp4")]
    whole = json.loads(run(*peer, "all"))
    order = random.Random(5).sample(range(whole["frames"] - 1), 20)
    alone = json.loads(run(*peer, "frames", *map(str, order)))
    point = folder / f"mnt-{label}"
    with Mount(args.rowfs, dataset, point) as mount:
        assert len(mount.frames()) == whole["frames"]
        cold = measure_random(label, mount, order, alone["ms"] / len(order))
        measure_walks(label, mount)
    per_second = measure_order(label, args, dataset, point, whole)
    measure_libraries(label, videos / "v.mp4", order, cold, per_second)
    measure_ffmpegfs(label, videos, folder, order, cold, per_second)


def measure_rows(args, folder):
    rows = folder / "rows"
    rows.mkdir()
    for i in range(1_000 if args.smoke else 10_000):
        (rows / f"{i:05}.txt").write_text(f"row {i}\n")
    dataset = folder / "rows.lance"
    run(args.rowfs, "ingest", str(rows), "--output", str(dataset))
    with Mount(args.rowfs, dataset, folder / "mnt-rows"):
        pass
    with Mount(args.rowfs, dataset, folder / "mnt-rows") as mount:
        report("10,000 rows: mount to first ls, warm / 200 ms", mount.ms, 200.0)
        report("10,000 rows: daemon memory / 100 MB", mount.rss_mb(), 100.0,
               "MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default=shutil.which("rowfs") or "build/rowfs")
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    args = parser.parse_args()
    if not (pathlib.Path(args.rowfs).parent / "decode_peer").exists():
        parser.error("the peer is not built: configure with BUILD_TESTING=ON")
    print(f"{'figure / compared with':62} {'rowfs':>9} {'peer':>9}", flush=True)
    with tempfile.TemporaryDirectory(prefix="rowfs-bench-") as name:
        folder = pathlib.Path(name)
        measure(args, "720p", "1280x720", folder)
        if not args.smoke:
            measure(args, "1080p", "1920x1080", folder)
        measure_rows(args, folder)


if __name__ == "__main__":
    main()
