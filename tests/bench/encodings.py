#!/usr/bin/env python3
"""Columns of every shape: random access, scan and size, rowfs and its peers.

The experiments of the Lance 2.1 article in one run: random access by type and
by nesting depth, bytes on disk and full scan, packed against unpacked structs.
Contenders read the same values from local files: rowfs on file version 2.2 and
on 2.0 (Arrow-like buffers), pylance on 2.2, pyarrow on Parquet as it is written
by default and with small row groups and pages. Prints one JSON object a figure;
--rows and --takes size the run. Needs pylance (set ROWFS_PYTHON to a Python
that has it) and a build with tests.
"""
import argparse
import io
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

try:
    import lance
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    other = os.environ.get("ROWFS_PYTHON")
    if not other or os.environ.get("ROWFS_BENCH_TRIED"):
        sys.exit("pylance and pyarrow are needed: set ROWFS_PYTHON")
    os.environ["ROWFS_BENCH_TRIED"] = "1"
    os.execv(other, [other, *sys.argv])

TUNED = {"row_group_size": 1000, "data_page_size": 8192,
         "write_page_index": True}


class CountingFile(io.FileIO):
    """A local file that counts what is read of it."""

    def __init__(self, path):
        super().__init__(path)
        self.requests = self.size = 0

    def readinto(self, buffer):
        count = super().readinto(buffer)
        self.requests += 1
        self.size += count
        return count

    def read(self, size=-1):
        data = super().read(size)
        self.requests += 1
        self.size += len(data)
        return data


class Parquet:
    def __init__(self, folder, table, **options):
        self.path = f"{folder}/t.parquet"
        pq.write_table(table, self.path, **options)
        self.file = CountingFile(self.path)
        self.reader = pq.ParquetFile(self.file)
        self.starts = [0]
        for i in range(self.reader.num_row_groups):
            rows = self.reader.metadata.row_group(i).num_rows
            self.starts.append(self.starts[-1] + rows)

    def take(self, row, column):
        group = max(i for i, s in enumerate(self.starts) if s <= row)
        part = self.reader.read_row_group(group, columns=[column])
        return part.slice(row - self.starts[group], 1)

    def scan(self):
        return pq.ParquetFile(self.path).read(use_threads=False).num_rows

    def cost(self):
        cost = self.file.requests, self.file.size
        self.file.requests = self.file.size = 0
        return cost

    def bytes(self):
        return os.path.getsize(self.path)


class Lance:
    """pylance on its own dataset."""

    def __init__(self, folder, table, version):
        self.path = f"{folder}/t-{version}.lance"
        lance.write_dataset(table, self.path, data_storage_version=version)
        self.ds = lance.dataset(self.path)

    def take(self, row, column):
        return self.ds.take([row], columns=[column])

    def scan(self):
        return sum(b.num_rows for b in self.ds.to_batches(batch_size=8192))

    def cost(self):
        stats = self.ds.io_stats_incremental()
        return stats.read_iops, stats.read_bytes

    def bytes(self):
        return sum(f.stat().st_size for f in
                   pathlib.Path(self.path, "data").rglob("*"))


class Rowfs(Lance):
    """rowfs on a dataset that pylance wrote."""

    def __init__(self, library, folder, table, version):
        super().__init__(folder, table, version)
        self.table = library.open(self.path)
        self.names = table.column_names

    def take(self, row, column):
        name = column.split(".")[0]
        return self.table.take([row], [self.names.index(name)])

    def scan(self):
        return self.table.scan(batch_rows=8192).num_rows

    def cost(self):
        return self.table.cost()


def columns(rows, r):
    """name -> array, of the first two experiments."""
    wide = max(rows // 20, 50)
    floats = pa.array([r.random() for _ in range(wide * 256)], pa.float32())
    numbers = [r.getrandbits(40) for _ in range(rows)]
    return {
        "type/int64": pa.array(numbers),
        "type/string": pa.array([f"value {n:x}" for n in numbers]),
        "type/vector": pa.FixedSizeListArray.from_arrays(floats, 256),
        "type/image": pa.array([r.randbytes(20_000) for _ in range(wide)],
                               pa.large_binary()),
        "depth/scalar": pa.array([n % 1000 for n in numbers]),
        "depth/list": pa.array([[n % 1000] * (n % 4) for n in numbers]),
        "depth/list of list": pa.array([[[n % 1000] * (n % 3)] * (n % 3)
                                        for n in numbers],
                                       pa.list_(pa.list_(pa.int64()))),
        "depth/struct of list": pa.array([{"l": [n % 1000] * (n % 4)}
                                          for n in numbers]),
    }


def report(figure, **values):
    print(json.dumps({"figure": figure, **values}), flush=True)


def contenders(library, folder, table, metadata=None):
    field = table.schema.field(0).with_metadata(metadata)
    marked = table.cast(pa.schema([field])) if metadata else table
    makers = {
        "rowfs": lambda at: Rowfs(library, at, marked, "2.2"),
        "rowfs 2.0": lambda at: Rowfs(library, at, marked, "2.0"),
        "pylance": lambda at: Lance(at, marked, "2.2"),
        "parquet": lambda at: Parquet(at, table),
        "parquet tuned": lambda at: Parquet(at, table, **TUNED)}
    for who, make in makers.items():
        at = f"{folder}/{who.replace(' ', '-')}"
        os.mkdir(at)
        try:
            yield who, make(at)
        except (OSError, ValueError, NotImplementedError) as error:
            report("left out", who=who, why=str(error)[:100])
        shutil.rmtree(at)


def access(figure, who, peer, column, rows, takes, r):
    picked = [r.randrange(rows) for _ in range(takes)]
    peer.take(picked[0], column)  # tables of the column are at hand
    peer.cost()
    begin = time.perf_counter()
    for row in picked:
        peer.take(row, column)
    seconds = time.perf_counter() - begin
    requests, size = peer.cost()
    report(figure, who=who, requests=round(requests / takes, 2),
           bytes=size // takes, us=round(seconds / takes * 1e6, 1))


def scan(figure, who, peer, table):
    begin = time.process_time()
    rows = peer.scan()
    seconds = time.process_time() - begin
    assert rows == table.num_rows, (who, rows)
    report(figure, who=who, disk=peer.bytes(),
           mb_per_cpu_s=round(table.nbytes / max(seconds, 1e-6) / 1e6, 1))


def packed(library, folder, rows, takes, r):
    struct = pa.StructArray.from_arrays(
        [pa.array([r.getrandbits(40) for _ in range(rows)]) for _ in range(5)],
        [f"f{i}" for i in range(5)])
    table = pa.table({"c": struct})
    for name, metadata in (("unpacked", None),
                           ("packed", {"lance-encoding:packed": "true"})):
        for who, peer in contenders(library, folder, table, metadata):
            access(f"struct/{name}, all fields", who, peer, "c", rows, takes, r)
            if not who.startswith("rowfs"):  # it takes whole columns
                access(f"struct/{name}, one field", who, peer, "c.f2", rows,
                       takes, r)
            scan(f"struct/{name}, scan", who, peer, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default=shutil.which("rowfs") or "build/rowfs")
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--takes", type=int, default=200)
    args = parser.parse_args()
    rows, takes = (2000, 20) if args.smoke else (args.rows, args.takes)
    here = pathlib.Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parent / "oracle"))
    from rowfs_arrow import Library
    path = pathlib.Path(args.rowfs).resolve().parent / "librowfs_arrow.so"
    if not path.exists():
        parser.error(f"{path} is not built: configure with BUILD_TESTING=ON")
    library = Library(str(path))
    r = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="rowfs-bench-") as folder:
        for name, array in columns(rows, r).items():
            table = pa.table({"c": array})
            for who, peer in contenders(library, folder, table):
                access(name, who, peer, "c", len(array), takes, r)
                scan(name + ", scan", who, peer, table)
        packed(library, folder, rows, takes, r)


if __name__ == "__main__":
    main()
