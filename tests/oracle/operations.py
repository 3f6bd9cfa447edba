"""Tables that pylance and rowfs change in turn: operations.py LIBRARY FROM-TO.
After every step both must read the same, and what rowfs deleted or compacted
must be what was meant, with stable row ids and blobs kept."""
import os
import random
import sys
import tempfile

import pyarrow as pa

from differential import History, blob_bytes, compare
from rowfs_arrow import Library, RowfsError
from same import Different, same


def state(ds, with_ids):
    names = [f.name for f in ds.schema if f.name != "blob"]
    return ds.to_table(names, with_row_id=with_ids)


def expect(ds, want, blobs, path):
    got = state(ds, "_rowid" in want.schema.names)
    for name in want.schema.names:
        same(want.column(name), got.column(name), f"{path}: {name}")
    if blobs is not None and blob_bytes(ds, "blob", len(blobs)) != blobs:
        raise Different(f"{path}: other blobs")


def rowfs_step(library, history, ds, r):
    import lance
    stable = ds.has_stable_row_ids
    rows = ds.count_rows()
    before = state(ds, stable)
    blobs = blob_bytes(ds, "blob", rows) if history.blobs else None
    kind = r.choice(["delete", "compact", "collect"])
    history.log.append("rowfs " + kind)
    keep = list(range(rows))
    if kind == "delete":
        gone = set(r.sample(keep, r.choice([0, 1, rows // 3, rows - 1])))
        version = ds.version  # that the row numbers belong to
        if r.random() < 0.3:
            ds.delete("key % 7 = 3")  # somebody else, meanwhile
            keys = before.column("key").to_pylist()
            keep = [i for i in keep if keys[i] % 7 != 3]
        library.delete(history.path, sorted(gone), version if len(
            keep) != rows else 0)
        keep = [i for i in keep if i not in gone]
    elif kind == "compact":
        try:
            library.compact(history.path, r.choice([60, 1000, 1 << 20]))
        except RowfsError as error:
            if error.code != "unsupported":
                raise
            history.log.append(f"({error})")
    else:
        library.collect(history.path, 0)
    library.verify(history.path)
    ds = lance.dataset(history.path)
    expect(ds, before.take(pa.array(keep, pa.int64())),
           blobs and [blobs[i] for i in keep], kind)
    return ds


def run(library, seed, folder, generate):
    import lance
    history = History(seed, folder, generate)
    r = random.Random(f"operations/{seed}")
    try:
        ds = history.create()
    except OSError:
        return
    try:
        for _ in range(r.randrange(2, 8)):
            if r.random() < 0.5:
                try:
                    ds = history.step(ds)
                except (OSError, ValueError, RuntimeError,
                        NotImplementedError) as error:
                    history.log.append(f"({str(error)[:60]})")
                    ds = lance.dataset(history.path)
            elif ds.count_rows():
                ds = rowfs_step(library, history, ds, r)
            table = library.open(history.path)
            compare(ds, table)
            table.close()
    except Exception as error:
        raise Different(f"{type(error).__name__}: {error} after "
                        f"{history.log}") from error


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
                run(library, seed, folder, generate)
            except Different as error:
                bad += 1
                print(f"seed {seed}: {error}"[:900], flush=True)
    print(f"{last - first + 1 - bad} of {last - first + 1} tables are equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
