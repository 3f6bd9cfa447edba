#!/usr/bin/env python3
"""A pack of a million members of 1 kB: how long until it is usable, the first
ten names, one member, and the memory of the mount; beside the FUSE limit and
the mounts people use. Seconds are of the wall.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import mounts  # noqa: E402

COLUMNS = ["mount first s", "mount first cpu s", "mount again s",
           "first ten names ms", "one member ms", "MiB", "bytes a member"]


def measure(make, count, first):
    row = {}
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    with make() as mount:
        row["mount first s"] = mount.seconds
        row["mount first cpu s"] = mount.cpu()
    with make() as mount:
        row["mount again s"] = mount.seconds
        begin = time.monotonic()
        with os.scandir(mount.root) as entries:
            for _, _ in zip(range(10), entries):
                pass
        row["first ten names ms"] = (time.monotonic() - begin) * 1e3
        member = os.path.join(mount.root, first)
        begin = time.monotonic()
        data = open(member, "rb").read()
        row["one member ms"] = (time.monotonic() - begin) * 1e3
        if data != mounts.payload(count // 2, len(data)):
            raise mounts.Failed("wrong bytes")
        row["MiB"] = mount.peak_mib()
        row["bytes a member"] = row["MiB"] * (1 << 20) / count
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default="rowfs")
    parser.add_argument("--smoke", action="store_true", help="a small pack")
    args = parser.parse_args()
    count = 20_000 if args.smoke else 1_000_000
    rowfs = os.path.abspath(shutil.which(args.rowfs) or args.rowfs)
    folder = tempfile.mkdtemp(prefix="rowfs-bench-")
    figures, notes = {}, []
    try:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        sources = mounts.make_pack(folder, count, 1000, {"tar"})
        one = f"{count // 2:07d}.bin"
        row = f"{count // 2000:03d}/{count // 2:06d}/{one}"
        for name, words, kind, below in mounts.candidates(rowfs):
            if kind not in sources or name == "loose files":
                continue
            if not shutil.which(words[0]):
                notes.append(f"{name}: not installed")
                continue
            if mounts.seconds_left() < 30:
                notes.append(f"{name}: left out, no time")
                continue
            folders = below or name == "limit, a folder a row"
            try:
                figures[name] = measure(
                    lambda: mounts.Mount(words, sources, kind, below, folder),
                    count, row if folders else one)
            except (mounts.Failed, OSError) as error:
                notes.append(f"{name}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    mounts.print_table(figures, COLUMNS, ["limit"], notes)


if __name__ == "__main__":
    main()
