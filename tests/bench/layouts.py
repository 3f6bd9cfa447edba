#!/usr/bin/env python3
"""The two index layouts, descriptor and column, on the same clips on S3: what
it costs to resolve rows and to read a frame of each. One JSON object a figure.
"""
import argparse
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import windows  # noqa: E402  (the server, the proxy)

common = windows.common


def measure(bench, layout, rows, latency, figures):
    """Cold cache, one process: the index alone, then one frame a row."""
    source = f"s3://bkt/{layout}.lance"
    bench.rowfs.fresh_cache()
    bench.proxy.latency = latency / 1e3
    picked = [i * bench.count // rows for i in range(rows)]
    for flow, path in (("without payload", "video.info.json"),
                       ("one frame", "video.at/1.0.bmp")):
        bench.proxy.take()
        bench.rowfs.run("prefetch", source, "--in-process",
                        *[f"rows/{i:06d}/{path}" for i in picked])
        log = bench.proxy.take()
        ms = (max(e[6] for e in log) - min(e[5] for e in log)) * 1e3
        figures.append({
            "figure": flow, "layout": layout, "rows": rows,
            "latency_ms": latency, "requests": len(log),
            "bytes": sum(e[4] for e in log), "rounds": common.rounds(log),
            "io_ms": round(ms, 1)})
        print(json.dumps(figures[-1]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    bench = windows.Bench(args)
    bench.count = 8 if args.smoke else 100
    try:
        # Few encodings, many rows.
        clips = bench.folder / "clips"
        common.make_clips(clips, 8, seconds=4)
        for i in range(8, bench.count):
            shutil.copy(clips / f"clip{i % 8:03d}.mp4",
                        clips / f"clip{i:03d}.mp4")
        for layout in ("descriptor", "column"):
            bench.rowfs.run("ingest", clips, "--layout", layout, "--output",
                            f"s3://bkt/{layout}.lance")
        figures = []
        for latency in ([0] if args.smoke else [0, 30]):
            for rows in (1, bench.count):
                for layout in ("descriptor", "column"):
                    measure(bench, layout, rows, latency, figures)
    finally:
        bench.stop()
        bench.rowfs.__exit__()


if __name__ == "__main__":
    main()
