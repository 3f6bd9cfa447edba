"""`rowfs scan` of Lance tables, compared with pylance: scan.py ROWFS [NAME...]

Types and values of all plain columns as pylance shows them, as Arrow and as
Parquet; and row.json of the tree agrees with the JSON lines.
"""
import glob
import os
import subprocess
import sys
import tempfile

import lance
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from same import check_types, same
from table_files import column_values, plain

# What pylance 14 itself reads wrongly (an empty struct shifts its neighbours),
# and what rowfs says it does not read.
LEFT_OUT = {"types_struct0_22", "refuse_legacy_01"}
ROWFS = sys.argv[1]
GOLDEN = os.environ["ROWFS_SHARED"] + "/data/lance-golden"


def rowfs(*args):
    run = subprocess.run([ROWFS, *args], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    return run.stdout


def read(path):
    if path.endswith(".parquet"):
        return pq.read_table(path)
    with ipc.open_file(path) as file:
        return file.read_all()


def compare(source, work):
    try:
        want = lance.dataset(source).to_table()
    except Exception:  # pylint: disable=broad-except
        return "unreadable for pylance"
    columns = [f.name for f in want.schema if "blob" not in str(f.type) and
               b"lance-encoding:blob" not in (f.metadata or {})]
    if not columns:
        return "blobs only"
    cache = os.path.join(work, "cache")
    flags = [flag for name in columns for flag in ("--columns", name)]
    for end in ("arrow", "parquet"):
        out = os.path.join(work, "out." + end)
        try:
            rowfs("scan", source, *flags, "--blobs", "--output", out, "--cache-dir", cache)
        except RuntimeError as error:
            if end == "parquet" and "nhandled type" in str(error):
                continue  # Parquet has no such type
            raise
        got = read(out)
        for name in columns:
            if end == "arrow":
                check_types(want.schema.field(name).type, got.schema.field(name).type, name)
                same(want.column(name), got.column(name), name)
            elif plain(column_values(want.column(name))) != plain(column_values(got.column(name))):
                raise AssertionError(f"{name}: other values in Parquet")
        os.unlink(out)
    compare_fields(source, columns, work)
    out = os.path.join(work, "out.jsonl")
    rowfs("scan", source, "--output", out, "--cache-dir", cache)
    with open(out) as file:
        lines = file.read().splitlines()
    assert len(lines) == want.num_rows
    if lines:
        row = want.num_rows // 2
        path = f"rows/{row}/row.json"
        assert lines[row] + "\n" == rowfs("cat", source, path, "--cache-dir", cache), path
    os.unlink(out)
    return None


def fields_below(name, type_):
    """Dotted names of all fields of a struct."""
    if not pa.types.is_struct(type_):
        return
    for field in type_:
        if "." not in field.name and "`" not in field.name:
            yield f"{name}.{field.name}"
            yield from fields_below(f"{name}.{field.name}", field.type)


def compare_fields(source, columns, work):
    """Fields of structs read as columns of their own."""
    ds = lance.dataset(source)
    names = [n for c in columns for n in fields_below(c, ds.schema.field(c).type)]
    if not names or any("." in c for c in columns):
        return
    try:
        want = ds.to_table(columns=names)
    except Exception:  # pylint: disable=broad-except
        return  # more than pylance does
    out = os.path.join(work, "fields.arrow")
    rowfs("scan", source, "--columns", ",".join(names), "--output", out)
    got = read(out)
    assert got.column_names == names, got.column_names
    for name in names:
        check_types(want.schema.field(name).type, got.schema.field(name).type, name)
        same(want.column(name), got.column(name), name)


def main():
    names = sys.argv[2:] or sorted(
        os.path.basename(p)[:-6] for p in glob.glob(GOLDEN + "/*.lance") if os.path.basename(p)[:-6] not in LEFT_OUT)
    bad = []
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            try:
                skipped = compare(os.path.join(GOLDEN, name + ".lance"), work)
            except Exception as error:  # pylint: disable=broad-except
                bad.append(name)
                print(f"FAIL {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            else:
                if skipped:
                    print(f"{name}: {skipped}")
    print("differences:", bad) if bad else print("all equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
