#!/usr/bin/env python3
"""A pack of many small members through the mount, beside the FUSE limit and the
mounts people use, in one run.

100,000 members of 20 kB as a zip, a tar, a squashfs image and loose files; every
mount that is installed shows them, in turn. `limit` is a bare FUSE server with
the answers in memory (bare_mount.cc): one thread, many, and with a folder for
each member as rowfs shows rows. Figures are microseconds of processor time a
member, of the mount and of the reader together, unless another unit is said; in
brackets times the first limit, the one with threads and the one with folders.
Page cache warm; `cold` is a fresh mount. Trees of folders are walked up to
20,000 members in. Ends within five minutes; mounts that come too late are left
out.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import mounts  # noqa: E402

LIMITS = ["limit", "limit, threads", "limit, a folder a row"]
COLUMNS = ["mount first s", "mount again s", "find", "ls -l", "stat cold",
           "stat warm", "read cold", "read warm", "16 threads", "16 threads k/s",
           "tar", "cat", "peak MiB"]
READS = 10_000


def list_members(mount, size, folder):
    _, _, text = mount.step(["find", ".", "-type", "f", "-size", f"{size}c"])
    found = sorted(text.split("\n")[:-1])
    for path in random.Random(7).sample(found, min(20, len(found))):
        data = open(os.path.join(mount.root, path), "rb").read()
        if data != mounts.payload(int(data[:12]), size):
            raise mounts.Failed("wrong bytes in " + path)
    target = folder + "/members"
    with open(target, "w") as out:
        out.writelines(path + "\n" for path in found)
    return target, len(found)


def walked(mount):
    """What of the mount is walked through, and how many members are there."""
    names = sorted(os.listdir(mount.root))
    if len(names) > 1000 or not os.path.isdir(os.path.join(mount.root, names[0])):
        return ["."], None
    some = names[:20]
    return some, sum(len(os.listdir(os.path.join(mount.root, n))) for n in some)


def measure(make, size, count, folder, ops):
    row = {}

    def step(mount, name, words, per, unit=1e6):
        try:
            cpu, wall, text = mount.step(words)
            row[name] = cpu / per * unit
            return wall, text
        except mounts.Failed as error:
            row[name] = str(error)
            return None, ""

    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    with make() as mount:
        row["mount first s"] = mount.seconds
        paths, found = list_members(mount, size, folder)
        if found != count:
            raise mounts.Failed(f"{found} members, not {count}")
        where, walk = walked(mount)
        walk = walk or count
    with make() as mount:
        row["mount again s"] = mount.seconds
        step(mount, "find", ["find", *where, "-type", "f", "-name", "*.bin"],
             walk)
        row["peak MiB"] = mount.peak_mib()
    with make() as mount:
        step(mount, "ls -l", ["find", *where, "-name", "*.bin", "-printf",
                              "%s\n"], walk)
    with make() as mount:
        for name in ("stat cold", "stat warm"):
            step(mount, name, [ops, "stat", ".", paths], count)
    with make() as mount:
        for name in ("read cold", "read warm"):
            step(mount, name, [ops, "read", ".", paths, str(READS), "1"], READS)
    with make() as mount:
        wall, _ = step(mount, "16 threads",
                       [ops, "read", ".", paths, str(READS), "16"], READS)
        if wall:
            row["16 threads k/s"] = READS / wall / 1e3
        row["peak MiB"] = max(row["peak MiB"], mount.peak_mib())
    with make() as mount:
        _, text = step(mount, "tar", [
            "sh", "-c", f"tar -cf - . 2>/dev/null | {ops} sink 10"], 1)
        if text:  # of as many members as came in that time
            row["tar"] *= size / json.loads(text)["bytes"]
    with make() as mount:
        some = f"head -n {READS} {paths} | xargs cat | {ops} sink 20"
        step(mount, "cat", ["sh", "-c", some], min(READS, count))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default="rowfs")
    parser.add_argument("--smoke", action="store_true", help="a small pack")
    parser.add_argument("--members", type=int)
    parser.add_argument("--bytes", type=int, default=20_000)
    parser.add_argument("--only", help="names of mounts, by semicolon")
    args = parser.parse_args()
    count = args.members or (2_000 if args.smoke else 100_000)
    rowfs = os.path.abspath(shutil.which(args.rowfs) or args.rowfs)
    ops = str(pathlib.Path(rowfs).parent / "mount_ops")
    folder = tempfile.mkdtemp(prefix="rowfs-bench-")
    figures, notes = {}, []
    try:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        sources = mounts.make_pack(folder, count, args.bytes,
                                   {"tar", "loose", "squashfs"})
        for name, words, kind, below in mounts.candidates(rowfs):
            if args.only and name not in args.only.split(";"):
                continue
            if words and not shutil.which(words[0]):
                notes.append(f"{name}: not installed")
                continue
            if kind not in sources or mounts.seconds_left() < 20:
                notes.append(f"{name}: left out, no image or no time")
                continue
            try:
                figures[name] = measure(
                    lambda: mounts.Mount(words, sources, kind, below, folder),
                    args.bytes, count, folder, ops)
            except (mounts.Failed, OSError, ValueError) as error:
                notes.append(f"{name}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    mounts.print_table(figures, COLUMNS, LIMITS, notes)


if __name__ == "__main__":
    main()
