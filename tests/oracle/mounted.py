"""Packs and tables as they are mounted, compared with unzip, tar and pyarrow.

Usage: mounted.py ROWFS [FILE...]     (no FILE: all samples)
Every sample file is mounted alone: what it shows equals what the other tool
extracts, or the mount is refused with one line that names the file. A pack is
read without an open reaching the mount, and a shard that is replaced under a
mount is never mixed with the new one.
"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import pyarrow.parquet as pq

ROWFS = sys.argv[1]
SHARED = os.environ["ROWFS_SHARED"]
# unzip believes the directory, or decodes a method that is refused here; or
# takes another archive inside the file for it.
REFUSED = {
    "incons-central-compsize-larger-toolarge.zip",
    "incons-central-compsize-smaller.zip", "incons-central-size-larger.zip",
    "incons-local-filename-missing.zip", "incons-local-filename.zip",
    "zip-in-archive-comment.zip", "zip64-in-archive-comment.zip"}


class Mount:
    """`with Mount(source, *options) as root:`; .refused says why there is none."""

    def __init__(self, folder, source, *options):
        self.root = os.path.join(folder, "mnt")
        self.words = [ROWFS, "mount", source, self.root, "--cache-dir",
                      folder + "/cache", *options]

    def __enter__(self):
        done = subprocess.run(self.words, capture_output=True, text=True)
        self.refused = done.stderr if done.returncode else ""
        return self

    def __exit__(self, *_):
        if not self.refused:
            subprocess.run([ROWFS, "umount", self.root], check=True)

    def files(self):
        for folder, _, names in os.walk(os.path.join(self.root, "rows")):
            for name in names:
                if name != "row.json":
                    yield os.path.join(folder, name)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def shown(mount):
    """Digests of all files that can be read, and how many cannot."""
    found, failed = set(), 0
    for path in mount.files():
        try:
            found.add(digest(path))
        except OSError:
            failed += 1
    return found, failed


def extracted(folder, *words):
    out = os.path.join(folder, "out")
    os.makedirs(out)
    if subprocess.run([*words], cwd=out, capture_output=True).returncode:
        return set()  # it is not sure of its own bytes
    return {digest(os.path.join(root, name))
            for root, _, names in os.walk(out) for name in names
            if os.path.isfile(os.path.join(root, name))}


def check_refusal(path, mount):
    lines = mount.refused.strip().splitlines()
    assert 1 <= len(lines) <= 2, (path, lines)
    assert os.path.basename(path) in lines[0], (path, lines)


def check_sample(path):
    kind = os.path.basename(os.path.dirname(path))
    with tempfile.TemporaryDirectory() as folder:
        wanted = set()
        if kind == "zip":
            wanted = extracted(folder, "unzip", "-qq", "-o", "-P", "", path)
        elif kind == "tar":
            wanted = extracted(folder, "tar", "-xf", path)
        with Mount(folder, path) as mount:
            if mount.refused:
                check_refusal(path, mount)
                return "refused"
            found, failed = shown(mount)
            if kind == "parquet":
                check_table(path, mount)
            elif os.path.basename(path) not in REFUSED:
                missing = wanted - found
                assert not missing or failed, (path, len(missing))
            assert os.path.isdir(mount.root + "/rows"), "the mount has died"
    return "same"


def check_table(path, mount):
    try:
        pq.read_table(path, page_checksum_verification=True)
    except Exception:  # what pyarrow refuses, rowfs may read as far as it goes
        return
    rows = pq.read_metadata(path).num_rows
    count = sum(1 for _ in open(mount.root + "/metadata.jsonl", "rb"))
    # One sample states fewer rows than it holds.
    assert count == rows or rows == 0, (path, count, rows)


def make_zip(path, count, tag):
    with zipfile.ZipFile(path, "w") as out:
        for i in range(count):
            out.writestr(f"{i:05d}.bin", f"{tag} {i} ".encode() * 700)


def check_requests():
    """What the kernel asks of the mount of a pack."""
    count = 300
    with tempfile.TemporaryDirectory() as folder:
        make_zip(folder + "/p.zip", count, "member")
        root = folder + "/mnt"
        with open(folder + "/log", "w+") as log:
            daemon = subprocess.Popen(
                [ROWFS, "mount", "--foreground", "-o", "debug", "--cache-dir",
                 folder + "/cache", folder + "/p.zip", root],
                stdout=log, stderr=log)
            while not os.path.isdir(root + "/rows"):
                assert daemon.poll() is None, "it did not come up"
                time.sleep(0.01)
            for _ in range(2):
                for i in range(count):
                    path = f"{root}/rows/{i:06d}/{i:05d}.bin"
                    assert open(path, "rb").read() == (
                        f"member {i} ".encode() * 700)
            for folder_ in os.scandir(root + "/rows"):
                assert len(os.listdir(folder_.path)) == 2
            subprocess.run([ROWFS, "umount", root], check=True)
            assert daemon.wait() == 0
            log.seek(0)
            asked = re.findall(r"opcode: ([A-Z]+)", log.read())
    counts = {name: asked.count(name) for name in set(asked)}
    assert counts.get("OPEN", 0) <= 1, counts
    assert counts.get("OPENDIR", 0) <= 1, counts
    assert counts.get("READ", 0) <= count, counts
    assert counts.get("LOOKUP", 0) <= 2 * count + 10, counts
    print("requests", counts)


def check_replaced():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/p.zip"
        make_zip(path, 50, "old")
        with Mount(folder, path) as mount:
            first = f"{mount.root}/rows/000000/00000.bin"
            assert open(first, "rb").read() == b"old 0 " * 700
            make_zip(folder + "/new.zip", 50, "new")
            os.rename(folder + "/new.zip", path)
            for i in range(1, 50):
                try:
                    data = open(f"{mount.root}/rows/{i:06d}/{i:05d}.bin",
                                "rb").read()
                    assert data == f"old {i} ".encode() * 700, data[:20]
                except OSError:
                    pass


def main():
    files = sys.argv[2:]
    if not files:
        for kind in ("zip", "tar", "parquet"):
            files += sorted(f for f in glob.glob(f"{SHARED}/data/{kind}/*")
                            if os.path.isfile(f))
        check_requests()
        check_replaced()
    results = {}
    for path in files:
        results.setdefault(check_sample(path), []).append(path)
    print({name: len(paths) for name, paths in results.items()})
    assert len(results.get("same", [])) > len(results.get("refused", []))


if __name__ == "__main__":
    main()
