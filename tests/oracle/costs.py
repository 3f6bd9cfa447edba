"""What a random row costs, column by column, next to pylance on the same data:
costs.py LIBRARY. Requests and bytes of the first row, which opens the file, and
of rows of pages that were touched before. Exit 1 where rowfs needs more than it
promises. Prints Markdown."""
import random
import sys
import tempfile

import pyarrow as pa

from rowfs_arrow import Library

ROWS = 100_000
WIDE_ROWS = 10_000
TAKES = 20
# Reads of one value, once its page is known: name -> limit.
LIMITS = {"int64": 1, "int64 with nulls": 1, "string 20 B": 1,
          "string of 50 words": 1, "vector 256 x f32": 1, "list<string>": 2,
          "list<list<int32>>": 2, "struct of 3": 3, "packed struct": 1,
          "packed struct with string": 2, "binary 10 kB": 2,
          "struct of 3, field a": 1, "packed struct, field a": 1}


def columns(r):
    """name -> (array, field metadata)"""
    text = [r.randbytes(10).hex() for _ in range(ROWS)]
    whole = pa.array([r.getrandbits(60) for _ in range(ROWS)], pa.int64())
    real = pa.array([r.random() for _ in range(ROWS)])
    words = [f"word {i}" for i in range(50)]
    packed = {"lance-encoding:packed": "true"}
    wide = WIDE_ROWS * 256
    vector = pa.FixedSizeListArray.from_arrays(
        pa.array([r.random() for _ in range(wide)], pa.float32()), 256)
    struct = pa.StructArray.from_arrays([whole, real, pa.array(text)],
                                        ["a", "b", "c"])
    return {
        "int64": (whole, None),
        "int64 with nulls": (pa.array([None if r.random() < 0.1 else v
                                       for v in range(ROWS)]), None),
        "string 20 B": (pa.array(text), None),
        "string of 50 words": (pa.array(r.choices(words, k=ROWS)), None),
        "list<string>": (pa.array([text[k:k + k % 6] for k in range(ROWS)],
                                  pa.list_(pa.string())), None),
        "list<list<int32>>": (pa.array(
            [[[k] * (k % 3)] * (k % 4) for k in range(ROWS)],
            pa.list_(pa.list_(pa.int32()))), None),
        "struct of 3": (struct, None),
        "packed struct": (pa.StructArray.from_arrays([whole, real],
                                                     ["a", "b"]), packed),
        "packed struct with string": (struct, packed),
        "struct of 3, field a": (struct, None),
        "packed struct, field a": (pa.StructArray.from_arrays(
            [whole, real], ["a", "b"]), packed),
        "vector 256 x f32": (vector, None),
        "binary 10 kB": (pa.array([r.randbytes(10_000 + k % 100)
                                   for k in range(WIDE_ROWS)],
                                  pa.large_binary()), None),
    }


def write(lance, folder, name, array, metadata, version):
    path = f"{folder}/{name.replace('/', '')}-{version}.lance"
    field = pa.field("c", array.type, metadata=metadata)
    lance.write_dataset(pa.table([array], schema=pa.schema([field])), path,
                        data_storage_version=version)
    return path


def of_pylance(lance, path, rows, column):
    ds = lance.dataset(path)
    ds.io_stats_incremental()
    costs = []
    for row in rows:
        ds.take([row], columns=[column])
        stats = ds.io_stats_incremental()
        costs.append((stats.read_iops, stats.read_bytes))
    return costs


def of_rowfs(library, path, rows, column):
    table = library.open(path)
    table.select([column])
    table.cost()
    costs = []
    for row in rows:
        table.take([row])
        costs.append(table.cost())
    table.close()
    return costs


def summary(costs):
    """The first row; the most requests and mean bytes of the second round."""
    later = costs[TAKES:]
    return (*costs[0], max(c[0] for c in later),
            sum(c[1] for c in later) // len(later))


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    library = Library(sys.argv[1])
    r = random.Random(5)
    bad = 0
    print("| column | pylance: first | then | rowfs: first | then |\n"
          "| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, (array, metadata) in columns(r).items():
            path = write(lance, folder, name, array, metadata, "2.2")
            rows = 2 * [r.randrange(len(array)) for _ in range(TAKES)]
            column = "c.a" if name.endswith("field a") else "c"
            theirs = summary(of_pylance(lance, path, rows, column))
            ours = summary(of_rowfs(library, path, rows, column))
            print("| {} | {}, {:,} B | {}, {:,} B | {}, {:,} B | {}, {:,} B |"
                  .format(name, *theirs, *ours), flush=True)
            if ours[2] > LIMITS[name]:
                bad += 1
                print(f"{name}: {ours[2]} requests, at most {LIMITS[name]}")
            if name.endswith("field a") and ours[3] > theirs[3] * 1.1:
                bad += 1
                print(f"{name}: {ours[3]} bytes, {theirs[3]} for pylance")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
