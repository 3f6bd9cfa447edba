"""Tables of random nested types with random field metadata, both ways:
wild.py LIBRARY SEEDS, as 0-49,65. Pylance writes a table, rowfs reads it; rowfs writes it
anew, pylance reads that. Prints a line for each that is read otherwise; exit 1
when there is one. A column that pylance itself refuses or misreads is left
out."""
import os
import random
import sys
import tempfile

import pyarrow as pa

import differential
import written
from rowfs_arrow import Library, RowfsError
from same import Different, same, seeds_of
from wild_columns import column

VERSIONS = ["2.0", "2.1", "2.2", "2.2", "2.2", "2.3"]
ROWS = [0, 1, 2, 7, 100, 1023, 1024, 1025, 3000]


def attempt(function):
    """(result, None) or (None, what pylance said): its panics are no Exception."""
    try:
        return function(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pylint: disable=broad-except
        return None, f"{type(error).__name__}: {error}"[:80]


def table_of(columns, rows):
    return pa.Table.from_arrays([make(rows) for _, make in columns],
                                schema=pa.schema([f for f, _ in columns]))


def write(table, path, version, rows_per_file=1 << 20, stable=False):
    import lance
    ds = lance.write_dataset(table, path, data_storage_version=version,
                             max_rows_per_file=rows_per_file,
                             enable_stable_row_ids=stable)
    got = ds.to_table()
    for name in table.schema.names:
        same(table.column(name), got.column(name), name)
    return ds


def columns_of(r, version, rows, folder):
    """Columns that pylance writes and reads back, each alone."""
    out = []
    for i in range(r.randrange(1, 6)):
        made = column(r, f"c{i}", version)
        data = table_of([made], rows)
        data.validate(full=True)
        alone = f"{folder}/alone{i}"
        _, error = attempt(lambda d=data, p=alone: write(d, p, version))
        if not error:
            out.append((made[0], made[1], data.column(0)))
    return out


def cast_of(type_):
    wider = {pa.int32(): pa.int64(), pa.int8(): pa.int16(),
             pa.string(): pa.large_string(), pa.binary(): pa.large_binary(),
             pa.float32(): pa.float64(), pa.int64(): pa.float64(),
             pa.list_(pa.int64()): pa.list_(pa.float64())}
    return wider.get(type_)


def change(ds, r, columns):
    """One step of history; columns loses what is no longer there."""
    import lance
    kind = r.choice("append append delete drop rename cast add nulls compact "
                    "update".split())
    rows = ds.count_rows()
    if kind == "append":
        names = {f.name for f in ds.schema}
        if names == {f.name for f, _ in columns}:
            lance.write_dataset(table_of(columns, r.choice(ROWS)), ds.uri,
                                mode="append")
    elif kind == "delete":
        ds.delete(f"_rowid % {r.randrange(2, 9)} = 1")
    elif kind == "drop" and len(columns) > 1:
        gone = columns.pop(r.randrange(len(columns)))
        ds.drop_columns([gone[0].name])
    elif kind == "rename":
        name = r.choice(columns)[0].name
        columns[:] = [(f.with_name(name + "n") if f.name == name else f, m)
                      for f, m in columns]
        ds.alter_columns({"path": name, "name": name + "n"})
    elif kind == "cast":
        for field, _ in columns:
            wider = cast_of(field.type)
            if wider:
                ds.alter_columns({"path": field.name, "data_type": wider})
                break
    elif kind == "add":
        ds.add_columns({f"x{rows}": f"{r.randrange(9)}"})
    elif kind == "nulls":
        ds.add_columns(pa.schema([pa.field(f"n{rows}", r.choice(columns)[0].type)]))
    elif kind == "compact":
        ds.optimize.compact_files(target_rows_per_fragment=1500)
    elif kind == "update":
        name = r.choice(columns)[0].name
        ds.update({f"`{name}`": f"`{name}`"}, where=f"_rowid % 7 = {r.randrange(7)}")
    return kind


def read_by_rowfs(library, ds, log):
    try:
        table = library.open(ds.uri)
        differential.compare(ds, table)
        table.close()
    except (RowfsError, Different, ValueError) as error:
        raise Different(f"read: {error} after {log}") from error


def written_by_rowfs(library, source, r, log):
    import lance
    target, minor = source.uri + ".copy", r.choice([2, 3])
    try:
        library.copy(source.uri, target, minor, r.choice([100, 1024, 100000]))
    except RowfsError as error:
        raise Different(f"write 2.{minor}: {error} after {log}") from error
    try:
        written.compare(source, lance.dataset(target))
        lance.dataset(target).validate()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Different(f"written 2.{minor}: {type(error).__name__} {error} "
                        f"after {log}") from error


def run(library, seed, folder):
    import lance
    r = random.Random(f"wild/{seed}")
    version, rows = r.choice(VERSIONS), r.choice(ROWS)
    made = columns_of(r, version, rows, folder)
    if not made:
        return
    data = pa.Table.from_arrays([a for _, _, a in made],
                                schema=pa.schema([f for f, _, _ in made]))
    log = [f"{version} {rows} rows"]
    ds, error = attempt(lambda: write(data, f"{folder}/t", version,
                                      r.choice([60, 700, 1 << 20]),
                                      r.random() < 0.3))
    if error:
        return
    columns = [(f, m) for f, m, _ in made]
    for _ in range(r.choice([0, 0, 1, 2, 5])):
        kind, error = attempt(lambda: change(ds, r, columns))
        log.append(kind or f"({error})")
        ds = lance.dataset(ds.uri)
    _, error = attempt(ds.to_table)
    if error:
        return  # nothing to compare with
    log.append(str(ds.schema).replace("\n", " "))
    read_by_rowfs(library, ds, log)
    written_by_rowfs(library, ds, r, log)


def main():
    try:
        import lance  # noqa: F401
    except ImportError:
        print("skipped: no pylance")
        return 77
    library = Library(sys.argv[1])
    seeds = seeds_of(sys.argv[2])
    bad = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(library, seed, folder)
            except Different as error:
                bad += 1
                print(f"seed {seed}: {error}"[:900], flush=True)
    print(f"{len(seeds) - bad} of {len(seeds)} tables are equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
