#!/usr/bin/env python3
"""A pack through the mount against the other mounts of archives, in one run.

Makes a zip of STORED members and a WebDataset tar, mounts them with rowfs and
with every rival that is installed, and prints one JSON object a figure. Times
are of the wall; `cpu` is processor time of the daemon and of the reader, which
is steadier on a machine that others use.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import tempfile
import time
import zipfile

TICK = os.sysconf("SC_CLK_TCK")
# Name, program, how it mounts SRC at MNT, the command that unmounts.
RIVALS = [
    ("mount-zip", ["mount-zip", "SRC", "MNT"]),
    ("fuse-zip", ["fuse-zip", "-r", "SRC", "MNT"]),
    ("ratarmount", ["ratarmount", "SRC", "MNT"]),
    ("archivemount", ["archivemount", "-o", "readonly", "SRC", "MNT"]),
    ("squashfuse", ["squashfuse", "SQUASHFS", "MNT"]),
    ("squashfuse_ll", ["squashfuse_ll", "SQUASHFS", "MNT"]),
]


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, **more)


def make_zip(path, count, size):
    base = random.Random(1).randbytes(size + 4096)
    with zipfile.ZipFile(path, "w") as file:
        for i in range(count):
            info = zipfile.ZipInfo("d%03d/m%07d.bin" % (i // 1000, i))
            data = b"%08d" % i + base[i % 4096:i % 4096 + size - 8]
            with file.open(info, "w") as member:
                member.write(data)


def processes(mount):
    """Process numbers of the daemon that serves `mount`."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(mount).encode() in status.read_bytes().split(b"\0"):
                found.append(status.parent)
        except OSError:
            pass
    return found


def cpu_of(mount):
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    for process in processes(mount):
        try:
            fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICK
        except OSError:
            pass
    return total


def peak_mib(mount):
    peak = 0
    for process in processes(mount):
        try:
            for line in (process / "status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    peak = max(peak, int(line.split()[1]) / 1024)
        except OSError:
            pass
    return round(peak, 1)


class Measure:
    def __init__(self, mount):
        self.mount = mount

    def __enter__(self):
        self.cpu, self.begin = cpu_of(self.mount), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.wall = time.perf_counter() - self.begin
        self.cpu = cpu_of(self.mount) - self.cpu


def files_below(folder, wanted):
    for root, _, names in os.walk(folder):
        for name in names:
            if name.endswith(wanted):
                yield os.path.join(root, name)


def measure(name, words, sources, mount, report):
    program = shutil.which(words[0])
    if program is None:
        report(name, "skipped", words[0] + " is not installed")
        return
    words = [program] + [sources.get(w, w) for w in words[1:]]
    if None in words:
        report(name, "skipped", "its image could not be made")
        return
    os.makedirs(mount, exist_ok=True)
    for turn in ("first", "again"):
        begin = time.perf_counter()
        run(*words)
        root = mount + "/rows" if name == "rowfs" else mount
        while not next(os.scandir(root), None):
            time.sleep(0.002)
        report(name, "mount_to_ls_" + turn + "_s",
               time.perf_counter() - begin)
        if turn == "first":
            run("fusermount3", "-u", mount)
            while os.path.ismount(mount):
                time.sleep(0.01)
            time.sleep(0.2)
    with Measure(mount) as sweep:
        paths = list(files_below(root, ".bin"))
        for path in paths:
            os.stat(path)
    report(name, "members", len(paths))
    report(name, "walk_and_stat_cold_us", sweep.wall / len(paths) * 1e6)
    report(name, "walk_and_stat_cold_cpu_us", sweep.cpu / len(paths) * 1e6)
    chosen = random.Random(2).sample(paths, min(1000, len(paths)))
    for turn in ("cold", "warm"):
        with Measure(mount) as read:
            for path in chosen:
                with open(path, "rb", buffering=0) as file:
                    file.readall()
        report(name, f"read_{turn}_us", read.wall / len(chosen) * 1e6)
        report(name, f"read_{turn}_cpu_us", read.cpu / len(chosen) * 1e6)
    report(name, "peak_mib", peak_mib(mount))
    run("fusermount3", "-u", mount)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default="rowfs")
    parser.add_argument("--smoke", action="store_true", help="a small pack")
    parser.add_argument("--members", type=int)
    parser.add_argument("--bytes", type=int, default=20_000)
    arguments = parser.parse_args()
    count = arguments.members or (2_000 if arguments.smoke else 20_000)

    def report(name, figure, value):
        value = round(value, 4) if isinstance(value, float) else value
        print(json.dumps({"name": name, "figure": figure, "value": value}),
              flush=True)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        sources = {"SRC": folder + "/pack.zip", "MNT": folder + "/mnt",
                   "SQUASHFS": None}
        make_zip(sources["SRC"], count, arguments.bytes)
        if shutil.which("mksquashfs") and shutil.which("squashfuse"):
            with zipfile.ZipFile(sources["SRC"]) as file:
                file.extractall(folder + "/loose")
            sources["SQUASHFS"] = folder + "/pack.squashfs"
            run("mksquashfs", folder + "/loose", sources["SQUASHFS"],
                "-noI", "-noD", "-noF", "-quiet")
            shutil.rmtree(folder + "/loose")
        candidates = [("rowfs", [arguments.rowfs, "mount", "SRC", "MNT"])]
        for name, words in candidates + RIVALS:
            try:
                measure(name, words, sources, sources["MNT"], report)
            except (OSError, subprocess.SubprocessError) as error:
                report(name, "failed", str(error))
                subprocess.run(["fusermount3", "-uz", sources["MNT"]],
                               capture_output=True)


if __name__ == "__main__":
    main()
