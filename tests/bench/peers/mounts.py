"""Mounts of packs for the benchmarks: what can be mounted with what, up and
down again, and what a step costs.

A step's cost is processor time of the mount's processes and of the command that
asks, which is steadier than wall time on a machine that others use.
"""
import glob
import hashlib
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

TICK = os.sysconf("SC_CLK_TCK")
STEP_SECONDS = 60  # a step that takes longer is given up
BENCH_SECONDS = 285  # by then a whole benchmark ends
started = time.monotonic()


def seconds_left():
    return BENCH_SECONDS - (time.monotonic() - started)


class Failed(Exception):
    """The program did not do it; the text says why."""


def payload(index, size):
    head = b"%012d" % index
    if size <= 1 << 20:
        return head + hashlib.shake_128(head).digest(size - len(head))
    block = hashlib.shake_128(head).digest(1 << 20)
    return (head + block * (size // len(block) + 1))[:size]


def make_pack(folder, count, size, kinds):
    """The same members as a zip, a tar, loose files and a squashfs image; two
    indexes of the zip for bare_mount: flat, and with a folder a row as rowfs
    shows it. Returns {kind: path}."""
    folder = pathlib.Path(folder)
    made = {kind: folder / name for kind, name in (
        ("zip", "pack.zip"), ("tar", "wds/pack-000000.tar"),
        ("loose", "loose"), ("squashfs", "pack.squashfs"),
        ("flat", "pack.flat"), ("rows", "pack.rows"))}
    made["tar"].parent.mkdir(parents=True)
    tar = open(made["tar"], "wb", 1 << 22) if "tar" in kinds else None
    central, flat, rows = [], [], []
    with open(made["zip"], "wb", 1 << 22) as out:
        for i in range(count):
            data, name = payload(i, size), b"%07d.bin" % i
            fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33,
                                 zlib.crc32(data), size, size, len(name), 0)
            at = out.tell()
            out.write(b"PK\3\4" + fields + name + data)
            central.append(b"PK\1\2" + struct.pack("<BB", 20, 3) + fields +
                           struct.pack("<HHHII", 0, 0, 0, 0o600 << 16, at) +
                           name)
            place = f"\t{at + 30 + len(name)}\t{size}\n"
            flat.append(name.decode() + place)
            row = f"{i // 1000:03d}/{i:06d}/" if count > 10_000 else f"{i:06d}/"
            rows.append(f"{row}row.json\t0\t100\n{row}{name.decode()}{place}")
            if tar:
                write_tar_member(tar, name, data)
            if "loose" in kinds or "squashfs" in kinds:
                made["loose"].mkdir(exist_ok=True)
                (made["loose"] / name.decode()).write_bytes(data)
        write_zip_end(out, central)
    if tar:
        tar.write(bytes(1024))
        tar.close()
    made["flat"].write_text("".join(flat))
    made["rows"].write_text("".join(rows))
    if "squashfs" in kinds and shutil.which("mksquashfs"):
        subprocess.run(["mksquashfs", made["loose"], made["squashfs"], "-noI",
                        "-noD", "-noF", "-noX", "-no-fragments", "-quiet",
                        "-no-progress"], check=True, capture_output=True)
    return {kind: str(path) for kind, path in made.items() if path.exists()}


def write_tar_member(tar, name, data):
    head = bytearray(512)
    head[:len(name)] = name
    head[100:156] = b"%07o\0%07o\0%07o\0%011o\0%011o\0        " % (
        0o444, 0, 0, len(data), 0)
    head[156:157] = b"0"
    head[257:265] = b"ustar\x0000"
    head[148:156] = b"%06o\0 " % sum(head)
    tar.write(head + data + bytes(-len(data) % 512))


def write_zip_end(out, central):
    start, body, count = out.tell(), b"".join(central), len(central)
    out.write(body)
    if count > 0xffff or start > 0xffffffff:
        out.write(b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count,
                                          count, len(body), start))
        out.write(b"PK\6\7" + struct.pack("<IQI", 0, start + len(body), 1))
    few = min(count, 0xffff)
    out.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, few, few, len(body),
                                      min(start, 0xffffffff), 0))


def candidates(rowfs):
    """(name, words, source, where the members are below the mount point)."""
    bare = str(pathlib.Path(rowfs).parent / "bare_mount")
    beside = os.path.dirname(sys.executable)
    os.environ["PATH"] += os.pathsep + beside
    python = os.environ.get("ROWFS_PYTHON")
    if python:
        os.environ["PATH"] += os.pathsep + os.path.dirname(python)
    zipped = [("limit", [bare, "SRC", "FLAT", "MNT"], ""),
              ("limit, threads", [bare, "SRC", "FLAT", "MNT", "threads"], ""),
              ("limit, a folder a row", [bare, "SRC", "ROWS", "MNT", "kept"],
               ""),
              ("rowfs", [rowfs, "mount", "SRC", "MNT"], "rows"),
              ("rowfs members", [rowfs, "mount", "--format", "blobpack-members",
                                 "SRC", "MNT"], "rows"),
              ("mount-zip", ["mount-zip", "SRC", "MNT"], ""),
              ("fuse-zip", ["fuse-zip", "-r", "SRC", "MNT"], ""),
              ("fuse-archive", ["fuse-archive", "SRC", "MNT"], ""),
              ("ratarmount", ["ratarmount", "SRC", "MNT"], ""),
              ("rclone archive", ["rclone", "mount", "--read-only", "--daemon",
                                  ":archive:SRC", "MNT"], "")]
    return ([(n, w, "zip", r) for n, w, r in zipped] +
            [("squashfuse_ll", ["squashfuse_ll", "SRC", "MNT"], "squashfs", ""),
             ("squashfuse", ["squashfuse", "SRC", "MNT"], "squashfs", ""),
             ("archivemount", ["archivemount", "-o", "readonly", "SRC", "MNT"],
              "tar", ""),
             ("energon", ["energon", "mount", "DIR", "MNT"], "tar", ""),
             ("loose files", None, "loose", "")])


class Mount:
    """`with Mount(...) as m:` m.root has the members, m.seconds says how long
    the first listing took to come."""

    def __init__(self, words, sources, kind, below, folder):
        source = sources[kind]
        self.base = folder + "/mnt"
        self.words = words and [
            {"SRC": source, "MNT": self.base, "DIR": os.path.dirname(source),
             "FLAT": sources["flat"], "ROWS": sources["rows"]}.get(
                 w, w.replace("SRC", source)) for w in words]
        self.root = os.path.join(self.base, below) if words else source
        self.process = None

    def __enter__(self):
        self.seconds = 0
        if not self.words:
            return self
        os.makedirs(self.base, exist_ok=True)
        self.log = tempfile.TemporaryFile()
        begin = time.monotonic()
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True)
        while not self.answers():
            if self.process.poll() or time.monotonic() - begin > 2 * STEP_SECONDS:
                self.log.seek(0)
                text = self.log.read().decode(errors="replace").strip()
                self.__exit__()
                raise Failed(text[-200:] or "did not come up")
            time.sleep(0.001)
        self.seconds = time.monotonic() - begin
        return self

    def answers(self):
        try:
            if not os.path.ismount(self.base):
                return False
            with os.scandir(self.root) as entries:
                return next(entries, None) is not None
        except OSError:
            return False

    def pids(self):
        found = set()
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                if self.base.encode() in open(path, "rb").read().split(b"\0"):
                    found.add(int(path.split("/")[2]))
            except OSError:
                pass
        return found

    def cpu(self):
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = own.ru_utime + own.ru_stime
        for pid in self.pids() if self.words else ():
            try:
                stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
                total += (int(stat[11]) + int(stat[12])) / TICK
            except OSError:
                pass
        return total

    def peak_mib(self):
        total = 0
        for pid in self.pids():
            try:
                total += sum(int(line.split()[1]) for line in
                             open(f"/proc/{pid}/status")
                             if line.startswith("VmHWM"))
            except OSError:
                pass
        return total / 1024

    def step(self, words, **more):
        """(processor seconds, wall seconds, standard output) of a command."""
        before, begin = self.cpu(), time.monotonic()
        limit = min(STEP_SECONDS, seconds_left())
        if limit < 1:
            raise Failed("no time")
        try:
            done = subprocess.run(words, cwd=self.root, capture_output=True,
                                  timeout=limit, **more)
        except subprocess.TimeoutExpired:
            raise Failed(f">{limit:.0f} s") from None
        if done.returncode:
            raise Failed(done.stderr.decode(errors="replace")[-120:])
        wall = time.monotonic() - begin
        return self.cpu() - before, wall, done.stdout.decode()

    def __exit__(self, *_):
        if not self.words:
            return
        pids = self.pids()
        for words in (["fusermount3", "-u"], ["fusermount3", "-uz"]):
            if os.path.ismount(self.base):
                subprocess.run(words + [self.base], capture_output=True)
        end = time.monotonic() + 5
        while self.pids() & pids and time.monotonic() < end:
            time.sleep(0.01)
        for pid in self.pids() & pids:  # those that name this mount point
            os.kill(pid, 9)
        self.process.wait()


def print_table(figures, columns, limits, notes):
    """`figures`: {candidate: {column: value}}; in brackets times worse than the
    candidates in `limits`."""
    print("| | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in figures.items():
        cells = []
        for column in columns:
            value = row.get(column, "-")
            if not isinstance(value, (int, float)):
                cells.append(str(value))
                continue
            ratios = [f"{value / figures[other][column]:.2f}"
                      for other in limits if other != name and isinstance(
                          figures.get(other, {}).get(column), (int, float))
                      and figures[other][column] > 0]
            text = f"{value:.3g}"
            cells.append(text + (" (" + ", ".join(ratios) + ")" if ratios
                                 else ""))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for note in notes:
        print(note)
    print(json.dumps(figures))
