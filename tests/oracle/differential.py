"""Random tables with random histories, written by pylance and read by rowfs:
differential.py LIBRARY FROM-TO. A seed is one table; same seed, same history.
Prints a line for each that rowfs reads otherwise; exit 1 when there is one."""
import contextlib
import os
import random
import sys
import tempfile

import pyarrow as pa

from golden import text_json
from rowfs_arrow import Library
from same import Different, check_types, combined, is_cell, same

VERSIONS = ["2.0", "2.1", "2.1", "2.2", "2.2", "2.2", "2.3"]
# What pylance itself cannot write or read back beside other columns.
ODD = {"struct0", "fsl_struct", "ts_off", "null"}
ODD_20 = {"dict_i32", "fsl_fsl", "list_fsl", "fsl_bool"}


class History:
    """One table, changed step by step."""

    def __init__(self, seed, folder, generate):
        self.r = random.Random(f"differential/{seed}")
        self.generate = generate
        self.version = self.r.choice(VERSIONS)
        self.path = f"{folder}/{seed}.lance"
        self.next_key = 0
        self.blobs = self.version in ("2.2", "2.3") and self.r.random() < 0.4
        self.types = self.pick_types(self.r.randrange(1, 7))
        self.log = []
        self.tags = {}
        self.branch = None

    def pick_types(self, count):
        known = self.generate.all_types()
        names = [n for n in known if n not in ODD and
                 not (self.version == "2.0" and
                      (n in ODD_20 or "struct" in n or "map" in n)) and
                 not (self.version == "2.1" and "map" in n)]
        return {n: known[n] for n in self.r.sample(names, count)}

    def column(self, type_, rows, lance_path=False):
        nulls = self.r.choice([0, 0.1, 0.5, 1.0 if self.r.random() < 0.2 else 0])
        shape = self.r.choice([{}, {"narrow": True}, {"lens": (0, 9)}])
        return self.generate.array(type_, rows, self.r, nulls, **shape)

    def rows(self, count):
        import lance
        keys = pa.array(range(self.next_key, self.next_key + count), pa.int64())
        self.next_key += count
        fields = [pa.field("key", pa.int64())]
        arrays = [keys]
        for name, type_ in self.types.items():
            fields.append(pa.field(name, type_))
            arrays.append(self.column(type_, count))
        if self.blobs:
            fields.append(lance.blob_field("blob"))
            sizes = [0, 1, 40, 300, 5000, 70000]
            arrays.append(lance.blob_array(
                [None if self.r.random() < 0.2 else
                 self.r.randbytes(self.r.choice(sizes)) for _ in range(count)]))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def create(self):
        import lance
        stable = self.r.random() < 0.4
        data = self.rows(self.r.choice([1, 7, 100, 1500, 3000]))
        self.log.append(f"create {self.version} {len(data)} rows "
                        f"{list(self.types)} stable={stable}")
        return lance.write_dataset(
            data, self.path, data_storage_version=self.version,
            max_rows_per_file=self.r.choice([50, 400, 100000]),
            enable_stable_row_ids=stable)

    def some_keys(self):
        low = self.r.randrange(self.next_key)
        return self.r.choice([f"key % {self.r.randrange(2, 9)} = 0",
                              f"key < {low}", f"key >= {low}",
                              f"key = {low}"])

    def step(self, ds):
        import lance
        kind = self.r.choice("append append delete delete update merge add "
                             "drop rename compact tag overwrite".split())
        self.log.append(kind)
        if kind == "append":
            lance.write_dataset(self.rows(self.r.randrange(1, 300)), ds.uri,
                                mode="append")
        elif kind == "delete":
            ds.delete(self.some_keys())
        elif kind == "update" and not self.blobs:
            ds.update({"key": "key"}, where=self.some_keys())
        elif kind == "merge" and not self.blobs:
            keys = self.r.sample(range(self.next_key + 20), 10)
            data = self.rows(10).set_column(0, "key", pa.array(keys, pa.int64()))
            (ds.merge_insert("key").when_matched_update_all()
             .when_not_matched_insert_all().execute(data))
        elif kind == "add":
            name = f"x{len(self.log)}"
            ds.add_columns({name: "key * 2"})
            self.types[name] = pa.int64()
        elif kind == "drop" and len(self.types) > 1:
            name = self.r.choice(list(self.types))
            ds.drop_columns([name])
            del self.types[name]
        elif kind == "rename" and self.types:
            name = self.r.choice(list(self.types))
            ds.alter_columns({"path": name, "name": name + "_r"})
            self.types = {(n + "_r" if n == name else n): t
                          for n, t in self.types.items()}
        elif kind == "compact":
            ds.optimize.compact_files(target_rows_per_fragment=1000)
        elif kind == "tag":
            name = f"t{len(self.log)}"
            ds.tags.create(name, ds.version)
            self.tags[name] = ds.version
        elif kind == "overwrite" and self.r.random() < 0.3:
            lance.write_dataset(self.rows(self.r.randrange(1, 200)), ds.uri,
                                mode="overwrite",
                                data_storage_version=self.version)
        return lance.dataset(self.path)


def blob_bytes(ds, name, rows):
    """Bytes of every row of a blob column, None for null."""
    out = []
    for file in ds.take_blobs(name, indices=list(range(rows))):
        if file is None:
            out.append(None)
            continue
        with contextlib.closing(file):
            out.append(file.readall())
    return out


def compare(ds, table):
    names = [f.name for f in ds.schema]
    # Pylance's own type for blobs refuses the descriptors that a scan gives.
    want = ds.to_table([n for n in names if n != "blob"], with_row_id=True)
    got = table.scan(batch_rows=333)
    if got.schema.names != names:
        raise Different(f"columns {got.schema.names}, expected {names}")
    if got.num_rows != want.num_rows:
        raise Different(f"{got.num_rows} rows, expected {want.num_rows}")
    rows = got.num_rows
    order = random.Random(rows).choices(range(rows), k=min(rows, 60))
    taken = table.take(order)
    for i, name in enumerate(names):
        type_, column = got.column(i).type, combined(got.column(i))
        if is_cell(type_):
            if blob_bytes(ds, name, rows) != [
                    None if c is None else table.read_blob(c)
                    for c in column.to_pylist()]:
                raise Different(f"{name}: other blobs")
        elif "json" in str(want.schema.field(name).type):
            if text_json(want.column(name)) != text_json(column):
                raise Different(f"{name}: other JSON")
        else:
            check_types(want.schema.field(name).type, type_, name)
            same(want.column(name), column, name)
            same(column.take(pa.array(order, pa.int64())), taken.column(i),
                 name + " taken")
    ids = want.column("_rowid").to_pylist()
    for row in order[:20]:
        if table.row_id(row) != ids[row]:
            raise Different(f"row {row} has id {table.row_id(row)}, "
                            f"expected {ids[row]}")


def run(library, seed, folder, generate):
    import lance
    history = History(seed, folder, generate)
    try:
        ds = history.create()
    except OSError:
        return  # what its own writer cannot do is no table
    for _ in range(history.r.randrange(0, 9)):
        try:
            ds = history.step(ds)
        except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
            history.log.append(f"({str(error)[:60]})")
            ds = lance.dataset(history.path)
    try:
        specs = [("", None)] + [(t, v) for t, v in history.tags.items()]
        older = history.r.choice(ds.versions())["version"]
        specs.append((f"v{older}", older))
        for spec, version in specs:
            at = ds if version is None else lance.dataset(history.path, version)
            table = library.open(history.path, spec)
            compare(at, table)
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
