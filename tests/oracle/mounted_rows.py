"""A mounted Lance table of many rows and 20 columns: mounted_rows.py ROWFS ROWS.

`ls rows` and rows by number ask nothing of the store, whatever the number of
rows; `row.json` of a row costs the reads its columns promise (storage/README.md)
and no more, and says what pylance says. Prints times; exit 1 when a count is
larger than promised."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import pyarrow as pa

# Columns by kind, and the reads of one value once its page is known.
KINDS = {"int": (6, 1), "real": (4, 1), "text": (4, 1), "word": (2, 1),
         "list": (2, 2), "pair": (1, 2), "vector": (1, 1)}
# One value brings one chunk: 8 KiB of values and what they are compressed to.
CHUNK_BYTES = 40_000


def make_column(kind, keys, r):
    if kind == "int":
        return pa.array([k * 7919 % 1_000_003 for k in keys])
    if kind == "real":
        return pa.array([k / 7 for k in keys])
    if kind == "text":
        return pa.array([f"row {k} of {k * 31 % 99_991}" for k in keys])
    if kind == "word":
        return pa.array([f"word {k % 40}" for k in keys])
    if kind == "list":
        return pa.array([[k] * (k % 3) for k in keys], pa.list_(pa.int64()))
    if kind == "pair":
        return pa.StructArray.from_arrays(
            [pa.array(keys), pa.array([str(k) for k in keys])], ["a", "b"])
    items = pa.array([r.random() for _ in range(8)] * len(keys), pa.float32())
    return pa.FixedSizeListArray.from_arrays(items, 8)


def batches(rows, r):
    step = 50_000
    for begin in range(0, rows, step):
        keys = range(begin, min(rows, begin + step))
        made = {kind: make_column(kind, list(keys), r) for kind in KINDS}
        yield pa.record_batch({f"{kind}{i}": made[kind] for kind in KINDS
                               for i in range(KINDS[kind][0])})


class Mount:
    def __init__(self, program, source, point):
        self.program, self.point = program, point
        os.mkdir(point)
        begin = time.perf_counter()
        subprocess.run([program, "mount", source, point], check=True)
        self.seconds = time.perf_counter() - begin

    def close(self):
        subprocess.run([self.program, "umount", self.point], check=False)

    def asked(self):
        """Requests and bytes of the store so far."""
        with open(self.point + "/.rowfs/stats", encoding="utf-8") as file:
            text = file.read()
        return [sum(int(float(value)) for value in re.findall(
            r"^rowfs_store_%s_total\{[^}]*\} (\S+)$" % what, text, re.M))
            for what in ("requests", "bytes")]

    def cost(self, action):
        before, begin = self.asked(), time.perf_counter()
        result = action()
        seconds = time.perf_counter() - begin
        after = self.asked()
        return result, after[0] - before[0], after[1] - before[1], seconds


def check_listing(mount, rows):
    problems = []

    def first_name():
        with os.scandir(mount.point + "/rows") as entries:
            return next(entries).name

    name, requests, _, seconds = mount.cost(first_name)
    print(f"ls rows starts after {seconds * 1e3:.1f} ms, with {name}")
    if requests:
        problems.append(f"ls rows asks the store {requests} times")
    number = rows * 7 // 9
    _, requests, _, seconds = mount.cost(
        lambda: os.stat(f"{mount.point}/rows/{number}"))
    print(f"rows/{number} is there after {seconds * 1e3:.2f} ms")
    if requests:
        problems.append(f"rows/{number} asks the store {requests} times")
    return problems


def check_rows(mount, rows, ds, r):
    promised = sum(count * reads for count, reads in KINDS.values())
    picked = r.sample(range(rows), 30)
    problems, slowest, total = [], 0.0, 0

    def read(row):
        with open(f"{mount.point}/rows/{row}/row.json", encoding="utf-8") as f:
            return json.load(f)

    for row in picked:  # learns the pages
        for near in (row - 1, row + 1):
            if 0 <= near < rows and near not in picked:
                read(near)
    for row in picked:
        got, requests, size, seconds = mount.cost(lambda n=row: read(n))
        slowest, total = max(slowest, seconds), total + requests
        if requests > promised or size > promised * CHUNK_BYTES:
            problems.append(f"row {row} costs {requests} requests, {size} "
                            f"bytes; promised are {promised} requests")
        want = ds.take([row]).to_pylist()[0]
        if got["int0"] != want["int0"] or got["list1"] != want["list1"] or \
                got["pair0"] != want["pair0"] or got["text3"] != want["text3"]:
            problems.append(f"row {row} is {got}, expected {want}")
    print(f"row.json: {total / len(picked):.1f} requests of {promised} "
          f"promised, {slowest * 1e3:.1f} ms at most")
    if total == 0:
        problems.append("the mount counts no requests")
    return problems


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    if not os.path.exists("/dev/fuse"):
        print("skipped: no /dev/fuse")
        return 77
    program, rows = sys.argv[1], int(sys.argv[2])
    r = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        first = next(batches(1, r))
        reader = pa.RecordBatchReader.from_batches(first.schema,
                                                   batches(rows, r))
        ds = lance.write_dataset(reader, folder + "/t.lance")
        mount = Mount(program, folder + "/t.lance", folder + "/mnt")
        print(f"{rows} rows of {len(first.schema)} columns, mounted after "
              f"{mount.seconds:.2f} s")
        try:
            problems = check_listing(mount, rows)
            problems += check_rows(mount, rows, ds, r)
        finally:
            mount.close()
    for problem in problems:
        print(problem[:600])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
