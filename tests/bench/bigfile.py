#!/usr/bin/env python3
"""One member of 1 GiB through the mount, beside the FUSE limit and the mounts
people use, in one run: read in order, 4 KiB at random places, and by a shared
mapping. Microseconds of processor time a MiB or a read, of the mount and of the
reader together; in brackets times the bare FUSE server with one thread and with
many. Page cache of the pack warm; `cold` is a fresh mount.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import mounts  # noqa: E402

COLUMNS = ["in order cold", "in order warm", "4 KiB cold", "4 KiB warm",
           "map cold", "map warm", "map random", "peak MiB"]
READS = 10_000


def measure(make, size, ops):
    row = {}

    def step(mount, name, words, per):
        try:
            row[name] = mount.step(words)[0] / per * 1e6
        except mounts.Failed as error:
            row[name] = str(error)

    def only(mount):
        return mount.step(["find", ".", "-type", "f", "-size",
                           f"{size}c"])[2].strip()

    mib = size / (1 << 20)
    with make() as mount:
        path = only(mount)
        for turn in ("cold", "warm"):
            step(mount, "in order " + turn,
                 ["dd", "if=" + path, "of=/dev/null", "bs=1M"], mib)
        row["peak MiB"] = mount.peak_mib()
    with make() as mount:
        for turn in ("cold", "warm"):
            step(mount, "4 KiB " + turn,
                 [ops, "pread", only(mount), str(READS), "4096"], READS)
    with make() as mount:
        for turn in ("cold", "warm"):
            step(mount, "map " + turn, [ops, "map", only(mount)], mib)
    with make() as mount:
        step(mount, "map random", [ops, "map4k", only(mount), str(READS)],
             READS)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default="rowfs")
    parser.add_argument("--smoke", action="store_true", help="a small member")
    args = parser.parse_args()
    size = 64 << 20 if args.smoke else 1 << 30
    rowfs = os.path.abspath(shutil.which(args.rowfs) or args.rowfs)
    ops = str(pathlib.Path(rowfs).parent / "mount_ops")
    folder = tempfile.mkdtemp(prefix="rowfs-bench-")
    figures, notes = {}, []
    try:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        sources = mounts.make_pack(folder, 1, size, {"loose", "squashfs"})
        for name, words, kind, below in mounts.candidates(rowfs):
            # archivemount does not read it in minutes; energon needs a data set.
            if kind not in sources or name in (
                    "rowfs members", "limit, a folder a row"):
                continue
            if words and not shutil.which(words[0]):
                notes.append(f"{name}: not installed")
                continue
            if mounts.seconds_left() < 20:
                notes.append(f"{name}: left out, no time")
                continue
            try:
                figures[name] = measure(
                    lambda: mounts.Mount(words, sources, kind, below, folder),
                    size, ops)
            except (mounts.Failed, OSError) as error:
                notes.append(f"{name}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    mounts.print_table(figures, COLUMNS, ["limit", "limit, threads"], notes)


if __name__ == "__main__":
    main()
