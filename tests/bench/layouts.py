#!/usr/bin/env python3
"""The two index layouts, descriptor and column, on the same clips on S3: what
it costs a cold process to resolve 1 and 100 rows, and to read a frame of each.
"""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import remote  # noqa: E402

LAYOUTS = ("descriptor", "column")


def measure(rig, layout, rows, count, known, repeat):
    """The wire's time: processor time of decoding is the same for both."""
    source = f"s3://bkt/{layout}.lance"
    picked = [i * count // rows for i in range(rows)]
    kept = rig.folder / f"known-{layout}"
    figures = {}

    def fresh():
        rig.rowfs.fresh_cache()
        if known:
            shutil.copytree(kept, rig.rowfs.cache)

    for flow, path in (("index alone", "video.info.json"),
                       ("one frame", "video.keyframes/000000.ppm")):
        figures[flow] = rig.measure(
            f"{layout}: {flow} of {rows} rows, "
            f"{'rows known' if known else 'cold'}",
            lambda: rig.rowfs.run("prefetch", source, *[
                f"rows/{i:06d}/{path}" for i in picked]) and None,
            1, repeat, fresh)
    return figures


def cut(source, target, which):
    """Few encodings, many rows, no two alike: equal ones would be stored once
    in one of the layouts."""
    start, end = 2 * (which % 6), 20 - 2 * (1 + which // 6)
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-ss", str(start),
                    "-i", source, "-t", str(end - start), "-c", "copy",
                    "-movflags", "+faststart", target], check=True)


def know(rig, layout, count):
    """The cache of a process that looked at every row."""
    rig.rowfs.fresh_cache()
    rig.rowfs.run("prefetch", f"s3://bkt/{layout}.lance",
                  *[f"rows/{i:06d}/video.info.json" for i in range(count)])
    shutil.copytree(rig.rowfs.cache, rig.folder / f"known-{layout}")


def bench(rig, smoke):
    count, repeat = (8, 1) if smoke else (100, 3)
    clips = rig.folder / "clips"
    remote.common.make_clips(clips, 8, seconds=20, gop=50)
    for i in range(8, count):
        cut(clips / f"clip{i % 8:03d}.mp4", clips / f"clip{i:03d}.mp4",
            i // 8 - 1)
    for layout in LAYOUTS:
        rig.ingest(clips, f"{layout}.lance", "--layout", layout, "--verify",
                   "off")
    for latency in ([0] if smoke else [0, 30]):
        rig.latency(0)
        for layout in LAYOUTS:
            if not (rig.folder / f"known-{layout}").exists():
                know(rig, layout, count)
        rig.latency(latency)
        for known in (False, True):
            for rows in (1, count):
                runs = {layout: measure(rig, layout, rows, count, known, repeat)
                        for layout in LAYOUTS}
                ours, other = (runs[layout] for layout in LAYOUTS)
                for flow in ours:
                    rounds = [run[flow]["rounds"] for run in (ours, other)]
                    requests = [run[flow]["requests"] for run in (ours, other)]
                    rig.claim(
                        f"{flow} of {rows} rows, "
                        f"{'known' if known else 'cold'}, {latency} ms: "
                        "descriptor / column",
                        f"{ours[flow]['io_ms']:.0f} / {other[flow]['io_ms']:.0f} "
                        f"ms, {requests[0]} / {requests[1]} requests, "
                        f"{ours[flow]['bytes']:,} / {other[flow]['bytes']:,} B",
                        f"no more rounds: {rounds[0]} / {rounds[1]}",
                        rounds[0] <= rounds[1] + (rows > 1))


if __name__ == "__main__":
    remote.run(bench)
