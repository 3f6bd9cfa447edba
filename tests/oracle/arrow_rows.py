"""Rows of Arrow files that are one large record batch: right, and no more read.

Usage: arrow_rows.py ROWFS
The file has every layout a buffer can have; rows in several patterns must be
what pyarrow wrote, and one small value costs its own bytes and not the batch's.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

ROWFS = sys.argv[1]
ROWS = 300


def table():
    rng = random.Random(1)

    def some(value, i):
        return None if i % 7 == 3 else value

    columns = {
        "binary": (lambda i: some(rng.randbytes(30_000 + i), i), pa.binary()),
        "large": (lambda i: rng.randbytes(i % 50), pa.large_binary()),
        "text": (lambda i: some(f"text {i}", i), pa.string()),
        "number": (lambda i: some(i, i), pa.int32()),
        "flag": (lambda i: i % 2 == 0, pa.bool_()),
        "list": (lambda i: [i] * (i % 5) if i % 3 else None,
                 pa.list_(pa.int16())),
        "blobs": (lambda i: [b"%d" % i] * (i % 3), pa.list_(pa.binary())),
        "struct": (lambda i: {"x": i, "y": str(i)} if i % 4 else None,
                   pa.struct([("x", pa.int64()), ("y", pa.string())])),
        "fixed": (lambda i: [i, i + 1, i + 2], pa.list_(pa.float32(), 3)),
        "map": (lambda i: [(f"k{i}", i)], pa.map_(pa.string(), pa.int32())),
        "four": (lambda i: b"%04d" % i, pa.binary(4)),
        "view": (lambda i: f"view of the row {i}", pa.string_view()),
        "day": (lambda i: i, pa.date32())}
    return pa.table({name: pa.array([make(i) for i in range(ROWS)], kind)
                     for name, (make, kind) in columns.items()})


def check(folder, path, wanted):
    for rows in ([0], [5], [0, 1, 2, 17, ROWS - 1], list(range(ROWS))):
        out = folder + "/out.parquet"
        subprocess.run(
            [ROWFS, "scan", path, "--rows", ",".join(map(str, rows)), "--blobs",
             "--cache-dir", folder + "/cache", "--output", out], check=True)
        got = pq.read_table(out).to_pylist()
        os.remove(out)
        assert len(got) == len(rows)
        for row, values in zip(rows, got):
            for name, value in wanted[row].items():
                assert values[name] == value, (path, row, name)


def bytes_read(folder, path, inside):
    log = folder + "/calls"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=pread64,preadv2", "-o",
                    log, ROWFS, "cat", path, inside, "--cache-dir",
                    folder + "/cache"], check=True, capture_output=True)
    with open(log) as calls:
        return sum(int(n) for n in re.findall(r"= (\d+)$", calls.read(), re.M))


def main():
    with tempfile.TemporaryDirectory() as folder:
        made = table()
        wanted = made.to_pylist()
        for name, opener in (("file", ipc.new_file), ("stream", ipc.new_stream)):
            path = f"{folder}/{name}.arrow"
            with opener(path, made.schema) as writer:
                writer.write_table(made)
            check(folder, path, wanted)
            print(name, "ok")
            if shutil.which("strace"):
                read = bytes_read(folder, path, "rows/000016/row.json")
                size = os.path.getsize(path)
                assert read < size / 20, (read, size)
                print(name, read, "of", size, "bytes for a row")


if __name__ == "__main__":
    main()
