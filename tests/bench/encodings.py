#!/usr/bin/env python3
"""Columns of every shape: random access, scan and size, rowfs and its peers.

The experiments of the Lance 2.1 article in one run: random access by type and
by nesting depth, bytes on disk and full scan, packed against unpacked structs.
Contenders read the same values from local files: rowfs on file version 2.2 and
on 2.0 (Arrow-like buffers), pylance on 2.2, pyarrow on Parquet as it is written
by default and with small row groups and pages. Then decode throughput by
encoding and file version, rowfs and pylance in turns, processor time. Prints one
JSON object a figure, with the ratio to pylance where rowfs has a figure of the
same kind (above 1: rowfs is better), or with --markdown the tables that
storage/README.md has; --rows and --takes size the run. Needs pylance (set
ROWFS_PYTHON to a Python that has it) and a build with tests.
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

    @classmethod
    def at(cls, path):
        """A dataset that is there already."""
        peer = cls.__new__(cls)
        peer.path, peer.ds = path, lance.dataset(path)
        return peer

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
        self.library = library
        self.tables = {}
        self.table = library.open(self.path)

    def take(self, row, column):
        if column not in self.tables:
            self.tables[column] = self.library.open(self.path)
            self.tables[column].select([column])
        return self.tables[column].take([row])

    def scan(self):
        return sum(b.num_rows for b in self.table.stream(batch_rows=8192))

    def cost(self):
        costs = [table.cost() for table in self.tables.values()]
        return sum(c[0] for c in costs), sum(c[1] for c in costs)


def columns(rows, r):
    """name -> array, of the first two experiments."""
    wide = max(rows // 20, 50)
    images = max(rows // 100, 50)
    floats = pa.array([r.random() for _ in range(wide * 256)], pa.float32())
    numbers = [r.getrandbits(40) for _ in range(rows)]
    return {
        "type/int64": pa.array(numbers),
        "type/string": pa.array([f"value {n:x}" for n in numbers]),
        "type/vector": pa.FixedSizeListArray.from_arrays(floats, 256),
        "type/image": pa.array([r.randbytes(20_000) for _ in range(images)],
                               pa.large_binary()),
        "depth/scalar": pa.array([n % 1000 for n in numbers]),
        "depth/list": pa.array([[n % 1000] * (n % 4) for n in numbers]),
        "depth/list of list": pa.array([[[n % 1000] * (n % 3)] * (n % 3)
                                        for n in numbers],
                                       pa.list_(pa.list_(pa.int64()))),
        "depth/struct of list": pa.array([{"l": [n % 1000] * (n % 4)}
                                          for n in numbers]),
    }


SECONDS_MAX, TAKES_MIN = 1, 5  # of one contender's random access
SCANS = 3  # the best of them counts
DECODE_TURNS = 3
RATES = {}  # (figure, who) -> what is better when it is more
FIGURES = {}  # (figure, who) -> all of it


def report(figure, **values):
    FIGURES.setdefault((figure, values.get("who")), {}).update(values)
    if not MARKDOWN:
        print(json.dumps({"figure": figure, **values}), flush=True)


MARKDOWN = False
CONTENDERS = {"rowfs": "rowfs on 2.2", "rowfs 2.1": "rowfs on 2.1",
              "rowfs 2.0": "rowfs on 2.0", "pylance": "pylance on 2.2",
              "parquet": "Parquet",
              "parquet tuned": "Parquet, small groups and pages"}
ACCESS = {"type/int64": "int64", "type/string": "string",
          "type/vector": "vector 256 x f32", "type/image": "image, 20 kB",
          "depth/scalar": "scalar", "depth/list": "list",
          "depth/list of list": "list of list",
          "depth/struct of list": "struct of list",
          "struct/unpacked, all fields": "struct of 5, unpacked",
          "struct/unpacked, one field": "one field of it",
          "struct/packed, all fields": "struct of 5, packed",
          "struct/packed, one field": "one field of it"}
SCANNED = {**{name + ", scan": shown for name, shown in ACCESS.items()
              if not name.startswith("struct")},
           "struct/unpacked, scan": "struct of 5, unpacked",
           "struct/packed, scan": "struct of 5, packed"}


def print_table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("| " + " | ".join("---" for _ in heads) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def tables():
    """What storage/README.md has, in its order."""
    decoded = {}
    for (figure, _), values in FIGURES.items():
        if figure.startswith("decode/"):
            name, version = figure[len("decode/"):].rsplit(", ", 1)
            decoded.setdefault(name, {})[version] = f"{values['ratio']:.2f}"
    versions = ["2.1", "2.2", "2.3"]
    print_table(["column", *versions],
          [[name.replace("<", "\\<").replace(">", "\\>"),
            *(ratio[v] for v in versions)] for name, ratio in decoded.items()])

    def cells(figure, show):
        found = (FIGURES.get((figure, who)) for who in CONTENDERS)
        return [show(f) if f else "-" for f in found]
    print_table(["column", *CONTENDERS.values()],
          [[shown, *cells(name, lambda f: f"{f['requests']:g}, {f['bytes']:,} B"
                                          f", {f['us']:,.0f}")]
           for name, shown in ACCESS.items()])
    print_table(["column", *CONTENDERS.values()],
          [[shown, *cells(name, lambda f: f"{f['disk'] / 1e6:.2f} MB, "
                                          f"{f['mb_per_cpu_s']:,.0f}")]
           for name, shown in SCANNED.items()])


def ratios():
    """rowfs to pylance, of all figures that have a rate."""
    for (figure, who), rate in RATES.items():
        theirs = RATES.get((figure, "pylance"))
        if theirs and who.startswith("rowfs"):
            report(figure, who=who, ratio=round(rate / theirs, 2))


def by_encoding(rows, r):
    """name -> array whose pages pylance encodes so."""
    whole = [r.getrandbits(40) for _ in range(rows)]
    words = [f"word {i} of a text about something " for i in range(3000)]
    real = [r.random() for _ in range(rows)]
    runs = [v % 1000 for v in whole[:rows // 20] for _ in range(20)]

    def text(size, count):
        return ["".join(r.choices(words, k=size // 30))[:size]
                for _ in range(count)]

    return {
        "int64, bit-packed": pa.array(whole),
        "int64 with nulls": pa.array([v if v % 10 else None for v in whole]),
        "int32, runs": pa.array(runs, pa.int32()),
        "double": pa.array(real),
        "bool": pa.array([v % 3 == 0 for v in whole]),
        "string, FSST": pa.array([f"value {v}" for v in whole]),
        "string, dictionary": pa.array([words[v % 50] for v in whole]),
        "binary": pa.array([b"value %d" % v for v in whole]),
        "list<int64>": pa.array([[v % 1000] * (v % 5) for v in whole],
                                pa.list_(pa.int64())),
        "list<string>": pa.array([[str(v)] * (v % 5)
                                  for v in whole[:rows // 3]],
                                 pa.list_(pa.string())),
        "struct of int64, double": pa.StructArray.from_arrays(
            [pa.array(whole), pa.array(real)], ["a", "b"]),
        "vector 16 x f32": pa.FixedSizeListArray.from_arrays(
            pa.array(real[:rows // 16 * 16], pa.float32()), 16),
        "vector 256 x f32": pa.FixedSizeListArray.from_arrays(
            pa.array((real * 16)[:rows // 16 * 256], pa.float32()), 256),
        "large binary 10 kB": pa.array([r.randbytes(10_000)
                                  for _ in range(rows // 100)],
                                 pa.large_binary()),
        "text of 1 kB, zipped FSST": pa.array(text(1000, rows // 20)),
        "text of 40 kB, zipped zstd": pa.array(text(40_000, rows // 500)),
    }


def decode_rates(library, folder, rows, r):
    """Processor time of whole scans; the best of some turns each."""
    for name, array in by_encoding(rows, r).items():
        table = pa.table({"c": array})
        for version in ("2.1", "2.2", "2.3"):
            at = f"{folder}/decode"
            os.mkdir(at)
            peers = {"rowfs": Rowfs(library, at, table, version)}
            peers["pylance"] = Lance.at(peers["rowfs"].path)
            best = dict.fromkeys(peers, 1e9)
            for _ in range(DECODE_TURNS):
                for who, peer in peers.items():
                    begin = time.process_time()
                    assert peer.scan() == len(array)
                    best[who] = min(best[who], time.process_time() - begin)
            shutil.rmtree(at)
            rate = {w: round(table.nbytes / s / 1e6) for w, s in best.items()}
            report(f"decode/{name}, {version}",
                   rowfs_mb_per_cpu_s=rate["rowfs"],
                   pylance_mb_per_cpu_s=rate["pylance"],
                   ratio=round(best["pylance"] / best["rowfs"], 2))


def contenders(library, folder, table, metadata=None):
    field = table.schema.field(0).with_metadata(metadata)
    marked = table.cast(pa.schema([field])) if metadata else table
    makers = {
        "rowfs": lambda at: Rowfs(library, at, marked, "2.2"),
        "rowfs 2.1": lambda at: Rowfs(library, at, marked, "2.1"),
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
    for done, row in enumerate(picked):
        if done >= TAKES_MIN and time.perf_counter() - begin > SECONDS_MAX:
            takes = done  # whole row groups for a row: no use in more
            break
        peer.take(row, column)
    seconds = time.perf_counter() - begin
    requests, size = peer.cost()
    RATES[figure, who] = takes / seconds
    report(figure, who=who, requests=round(requests / takes, 2),
           bytes=size // takes, us=round(seconds / takes * 1e6, 1))


def scan(figure, who, peer, table):
    seconds = 1e9
    for _ in range(SCANS):
        begin = time.process_time()
        rows = peer.scan()
        seconds = min(seconds, time.process_time() - begin)
        assert rows == table.num_rows, (who, rows)
    RATES[figure, who] = 1 / max(seconds, 1e-6)
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
            access(f"struct/{name}, one field", who, peer, "c.f2", rows, takes,
                   r)
            scan(f"struct/{name}, scan", who, peer, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default=shutil.which("rowfs") or "build/rowfs")
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--takes", type=int, default=100)
    parser.add_argument("--markdown", action="store_true",
                        help="the tables of storage/README.md")
    args = parser.parse_args()
    global MARKDOWN
    MARKDOWN = args.markdown
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
        ratios()
        decode_rates(library, folder, 2 * rows, r)
    if MARKDOWN:
        tables()


if __name__ == "__main__":
    main()
