#!/usr/bin/env python3
"""Isolated reads of single blobs of a pack: rowfs and blobpack side by side.

Packs random files with rowfs, reads every blob once by its key in an order of
no locality, with 8 threads, through the library, blobpack's read_many, and
plain files; then as a data loader does, with 8 processes, from a mount, from
blobpack and from plain files. Prints one line a figure: milliseconds a blob,
ours, the peer's, the ratio. Needs a Python with blobpack ($ROWFS_PYTHON).
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

THREADS = 8


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def report(name, ours, peer, unit="ms a blob"):
    print(json.dumps({"figure": name, "rowfs": round(ours, 4),
                      "peer": round(peer, 4), "unit": unit,
                      "ratio": round(ours / peer, 3) if peer else None}))


def forget(folder):
    """Drop the folder's files from the page cache."""
    os.sync()
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def make_files(folder, count, size, seed=3):
    rng = random.Random(seed)
    names = []
    for index in range(count):
        name = f"{index // 1000:03d}/{index:06d}.jpg"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.randint(size // 2, size * 3 // 2)))
        names.append(name)
    return names


def ours(program, pack):
    told = json.loads(run(program, str(pack), str(THREADS), "5"))
    return told["read_s"] / told["blobs"] * 1e3, told["bytes"]


def theirs(pack, keys):
    import blobpack
    with blobpack.PackSet(pack) as packs:
        len(packs)
        begin = time.perf_counter()
        total = sum(map(len, packs.read_many(keys, workers=THREADS)))
        return (time.perf_counter() - begin) / len(keys) * 1e3, total


def loose(folder, keys):
    def read(key):
        with open(folder / key, "rb") as file:
            return len(file.read())
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        begin = time.perf_counter()
        total = sum(pool.map(read, keys))
        return (time.perf_counter() - begin) / len(keys) * 1e3, total


# What a worker process of the loader reads from; set in each by open_source.
source = None


def open_source(kind, folder):
    global source
    if kind == "blobpack":
        import blobpack
        source = blobpack.PackSet(folder)
        len(source)
    else:
        source = folder


def load(key):
    if hasattr(source, "read"):
        return len(source.read(key))
    with open(os.path.join(source, key), "rb") as file:
        return len(file.read())


def loader(kind, folder, keys):
    with multiprocessing.Pool(THREADS, open_source, (kind, str(folder))) as pool:
        pool.map(load, keys[:THREADS], 1)  # the workers are up
        begin = time.perf_counter()
        total = sum(pool.imap_unordered(load, keys, 32))
        return (time.perf_counter() - begin) / len(keys) * 1e3, total


def measure_mount(args, pack, files, keys, folder):
    mount = folder / "mount"
    run(args.rowfs, "mount", "--format", "blobpack-members", str(pack),
        str(mount))
    try:
        paths = {}
        for line in open(mount / "metadata.jsonl", encoding="utf-8"):
            row = json.loads(line)
            paths[row.get("file_file_name") or row["file_name"]] = row
        by_base = {os.path.basename(p): p for p in paths}
        wanted = [by_base[os.path.basename(key)] for key in keys]
        ours_ms, total = loader("mount", mount, wanted)
    finally:
        run(args.rowfs, "umount", str(mount))
    peer_ms, peer_total = loader("blobpack", pack, keys)
    loose_ms, loose_total = loader("loose", files, keys)
    assert total == peer_total == loose_total, (total, peer_total, loose_total)
    report("loader, 8 processes: mount against blobpack", ours_ms, peer_ms)
    report("loader, 8 processes: mount against loose files", ours_ms, loose_ms)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    try:
        import blobpack  # noqa: F401
    except ImportError:
        python = os.environ.get("ROWFS_PYTHON")
        if python and python != sys.executable:
            os.execv(python, [python, *sys.argv])
        sys.exit("this Python has no blobpack: set ROWFS_PYTHON")
    count, size = (300, 20_000) if args.smoke else (10_000, 64_000)
    program = pathlib.Path(args.rowfs).parent / "blob_reads"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-bench-"))
    try:
        files = folder / "files"
        keys = make_files(files, count, size)
        pack = folder / "pack"
        begin = time.perf_counter()
        run(args.rowfs, "blobpack", "pack", str(files), str(pack))
        pack_s = time.perf_counter() - begin
        begin = time.perf_counter()
        run(sys.executable, "-m", "blobpack.cli", "pack", str(files),
            str(folder / "peer"))
        report("pack, seconds", pack_s, time.perf_counter() - begin, "s")
        random.Random(7).shuffle(keys)
        for label in ("cold", "warm"):
            cold = label == "cold"
            times = []
            for read in (lambda: ours(program, pack),
                         lambda: theirs(pack, keys),
                         lambda: loose(files, keys)):
                if cold:
                    forget(folder)
                times.append(read())
            assert len({total for _, total in times}) == 1, times
            report(f"{label}, 8 threads: rowfs against blobpack",
                   times[0][0], times[1][0])
            report(f"{label}, 8 threads: rowfs against loose files in Python",
                   times[0][0], times[2][0])
        measure_mount(args, pack, files, keys, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
