#!/usr/bin/env python3
"""Frames through the mount against plain libav decoding, in one run.

Makes a 720p and a 1080p video, ingests and mounts them, and prints one line a
figure: ours, the peer's, the ratio. Rivals are measured in the same run where
they are installed: PyAV and torchcodec ($ROWFS_PYTHON, else this Python), which
give RGB in memory, and ffmpegfs, which mounts JPEG files as we do.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


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

    def close(self):
        run(self.rowfs, "umount", self.folder)

    def rss_mb(self):
        for status in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = status.read_bytes().split(b"\0")
                if b"mount" in words and self.folder.encode() in words:
                    text = (status.parent / "status").read_text()
                    line = [x for x in text.splitlines() if "VmRSS" in x][0]
                    return int(line.split()[1]) / 1024
            except OSError:
                pass
        return float("nan")


def read_ms(path):
    begin = time.perf_counter()
    with open(path, "rb") as file:
        file.read()
    return (time.perf_counter() - begin) * 1e3


def report(name, ours, peer, unit="ms"):
    print(json.dumps({"figure": name, "rowfs": round(ours, 3),
                      "peer": round(peer, 3), "unit": unit,
                      "ratio": round(ours / peer, 3) if peer else None}))


def library(name, *words):
    """What peers/frames.py measured; None where there is no such library."""
    python = os.environ.get("ROWFS_PYTHON", sys.executable)
    script = pathlib.Path(__file__).parent / "peers/frames.py"
    done = subprocess.run([python, str(script), name, *map(str, words)],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def measure_libraries(label, video, order, cold, per_second):
    for name in ("pyav", "torchcodec"):
        alone = library(name, video, "frames", *order)
        whole = library(name, video, "all")
        if alone is None or whole is None:
            print(json.dumps({"rival": name, "skipped": "not installed"}))
            continue
        report(f"{label}: a random frame, against {name} (RGB, in memory)",
               cold, alone["ms"] / len(order))
        report(f"{label}: all frames in order, frames/s, against {name} "
               "(RGB, in memory)", per_second,
               whole["frames"] * 1e3 / whole["ms"], "1/s")


def mount_ffmpegfs(videos, point):
    """The folder of frames of the one video, and their names."""
    point.mkdir()
    run("ffmpegfs", str(videos), str(point), "-o",
        f"desttype=jpg,ro,cachepath={point}-cache")
    [frames] = [x for x in point.iterdir() if x.is_dir()]
    return frames, sorted(x.name for x in frames.iterdir())


def measure_ffmpegfs(label, videos, folder, order, cold, per_second):
    """Frame sets of ffmpegfs: one folder a video, one JPEG a frame."""
    if shutil.which("ffmpegfs") is None:
        print(json.dumps({"rival": "ffmpegfs", "skipped": "not installed"}))
        return
    point = folder / f"ffmpegfs-{label}-1"
    frames, names = mount_ffmpegfs(videos, point)
    theirs = sum(read_ms(frames / names[i]) for i in order) / len(order)
    run("fusermount3", "-u", str(point))
    report(f"{label}: a random frame, against ffmpegfs", cold, theirs)
    point = folder / f"ffmpegfs-{label}-2"
    frames, names = mount_ffmpegfs(videos, point)
    begin = time.perf_counter()
    for name in names:
        read_ms(frames / name)
    ms = (time.perf_counter() - begin) * 1e3
    run("fusermount3", "-u", str(point))
    report(f"{label}: all frames in order, frames/s, against ffmpegfs",
           per_second, len(names) * 1e3 / ms, "1/s")


def measure(args, label, size, folder, count):
    videos = folder / f"videos-{label}"
    videos.mkdir()
    make_video(videos / "v.mp4", size, 8 if args.smoke else 30)
    dataset = folder / f"{label}.lance"
    run(args.rowfs, "ingest", str(videos), "--output", str(dataset))
    peer = [str(pathlib.Path(args.rowfs).parent / "decode_peer"),
            str(videos / "v.mp4")]
    whole = json.loads(run(*peer, "all"))
    mount = Mount(args.rowfs, dataset, folder / f"mnt-{label}")
    try:
        frames = pathlib.Path(mount.folder) / "rows/000000/video.frames"
        names = sorted(os.listdir(frames))
        assert len(names) == whole["frames"], (len(names), whole)
        order = random.Random(5).sample(range(len(names)), count)
        cold, near = 0, 0
        for i in order:
            cold += read_ms(frames / names[i]) / count
            near += read_ms(frames / names[(i + 1) % len(names)]) / count
        alone = json.loads(run(*peer, "frames", *map(str, order)))
        report(f"{label}: a random frame", cold, alone["ms"] / count)
        report(f"{label}: the neighbour of a decoded frame", near, 5.0)
    finally:
        mount.close()
    mount = Mount(args.rowfs, dataset, folder / f"mnt-{label}")
    try:
        for name, sequence in (("in order", names), ("backwards", names[::-1])):
            begin = time.perf_counter()
            for frame in sequence:
                read_ms(frames / frame)
            ms = (time.perf_counter() - begin) * 1e3
            # Frames a second: larger is better, 0.8 of the peer is the aim.
            report(f"{label}: all frames {name}, frames/s",
                   len(names) * 1e3 / ms, whole["frames"] * 1e3 / whole["ms"],
                   "1/s")
            if name == "in order":
                per_second = len(names) * 1e3 / ms
                mount.close()
                mount = Mount(args.rowfs, dataset, folder / f"mnt-{label}")
    finally:
        mount.close()
    measure_libraries(label, videos / "v.mp4", order, cold, per_second)
    measure_ffmpegfs(label, videos, folder, order, cold, per_second)


def measure_rows(args, folder):
    rows = folder / "rows"
    rows.mkdir()
    for i in range(1_000 if args.smoke else 10_000):
        (rows / f"{i:05}.txt").write_text(f"row {i}\n")
    dataset = folder / "rows.lance"
    run(args.rowfs, "ingest", str(rows), "--output", str(dataset))
    Mount(args.rowfs, dataset, folder / "mnt-rows").close()
    mount = Mount(args.rowfs, dataset, folder / "mnt-rows")
    report("10,000 rows: mount to first ls, warm", mount.ms, 200.0)
    report("10,000 rows: daemon memory", mount.rss_mb(), 100.0, "MB")
    mount.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default=shutil.which("rowfs") or "build/rowfs")
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    args = parser.parse_args()
    if not (pathlib.Path(args.rowfs).parent / "decode_peer").exists():
        parser.error("the peer is not built: configure with BUILD_TESTING=ON")
    with tempfile.TemporaryDirectory(prefix="rowfs-bench-") as name:
        folder = pathlib.Path(name)
        measure(args, "720p", "1280x720", folder, 20)
        if not args.smoke:
            measure(args, "1080p", "1920x1080", folder, 20)
        measure_rows(args, folder)


if __name__ == "__main__":
    main()
