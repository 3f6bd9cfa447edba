"""Random tables that pylance wrote, written anew by rowfs and read by pylance:
written.py LIBRARY FROM-TO [--sizes]. Prints a line for each that pylance reads
otherwise; exit 1 when there is one. --sizes: bytes of both, and the ratio."""
import os
import random
import sys
import tempfile

import pyarrow as pa

from differential import History, blob_bytes
from golden import text_json
from rowfs_arrow import Library, RowfsError
from same import Different, combined, same


def extension_columns(generate, r, rows):
    """JSON, bfloat16 and packed structs: what a type alone does not say."""
    out = list(generate.ext_columns(rows, r, r.choice([0, 0.2])))
    packed = r.choice([
        pa.struct([("a", pa.int32()), ("b", pa.float64())]),
        pa.struct([("a", pa.int64()), ("s", pa.string())]),
        pa.struct([("v", pa.list_(pa.float32(), 4)), ("s", pa.binary())])])
    values = [{f.name: generate.array(f.type, 1, r, 0)[0].as_py()
               for f in packed} for _ in range(rows)]
    if r.random() < 0.5:
        values = [None if r.random() < 0.3 else v for v in values]
    field = pa.field("packed", packed, metadata={"lance-encoding:packed": "true"})
    out.append((field, pa.array(values, packed)))
    return [c for c in out if r.random() < 0.5]


def make(seed, folder, generate):
    """A dataset of one or more fragments, in any file version."""
    import lance
    history = History(f"written/{seed}", folder, generate)
    r = history.r
    count = r.choice([1, 7, 100, 1500, 6000])
    data = history.rows(count)
    if history.version in ("2.2", "2.3"):
        for field, array in extension_columns(generate, r, count):
            data = data.append_column(field, array)
    return lance.write_dataset(data, history.path, max_rows_per_file=5000,
                               data_storage_version=history.version)


def compare(want, got):
    names = [f.name for f in want.schema]
    if [f.name for f in got.schema] != names:
        raise Different(f"columns {got.schema.names}, expected {names}")
    for name in names:
        if name == "blob":
            rows = want.count_rows()
            if blob_bytes(want, name, rows) != blob_bytes(got, name, rows):
                raise Different("blob: other blobs")
            continue
        left = want.to_table([name]).column(0)
        right = got.to_table([name]).column(0)
        if left.type != right.type:
            raise Different(f"{name}: {right.type}, expected {left.type}")
        if "json" in str(left.type):
            if text_json(left) != text_json(combined(right)):
                raise Different(f"{name}: other JSON")
        else:
            same(left, combined(right), name)
        order = random.Random(name).choices(range(len(left)),
                                            k=min(len(left), 20))
        same(got.take(order, [name]).column(0),
             combined(right).take(pa.array(order, pa.int64())),
             name + " taken")


def folder_bytes(path):
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path + "/data")
               for name in names)


def run(library, seed, folder, generate, sizes):
    import lance
    try:
        source = make(seed, folder, generate)
    except (OSError, ValueError, NotImplementedError):
        return
    r = random.Random(seed)
    minor = r.choice([2, 3])
    target = source.uri + ".copy"
    try:
        library.copy(source.uri, target, minor, r.choice([100, 1024, 100000]))
    except RowfsError as error:
        raise Different(f"not written: {error}") from error
    try:
        got = lance.dataset(target)
        compare(source, got)
        got.validate()
    except Different:
        raise
    except Exception as error:
        raise Different(f"{type(error).__name__}: {error} in 2.{minor}, "
                        f"columns {source.schema}") from error
    if sizes and source.data_storage_version == f"2.{minor}":
        before, after = folder_bytes(source.uri), folder_bytes(target)
        print(f"{seed} 2.{minor} {before} {after} {after / before:.3f} "
              f"{source.schema.names}")


def main():
    try:
        import lance  # noqa: F401
    except ImportError:
        print("skipped: no pylance")
        return 77
    library = Library(sys.argv[1])
    sys.path.insert(0, os.environ["ROWFS_SHARED"] + "/data/lance-golden")
    import generate
    first, last = (int(x) for x in sys.argv[2].split("-"))
    bad = 0
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(library, seed, folder, generate, "--sizes" in sys.argv)
            except Different as error:
                bad += 1
                print(f"seed {seed}: {error}"[:900], flush=True)
    print(f"{last - first + 1 - bad} of {last - first + 1} tables are equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
