"""Every golden dataset, every snapshot of it, read by rowfs and compared with
what its writer's own reader saw: golden.py LIBRARY [NAME ...]"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import traceback

import pyarrow as pa

from rowfs_arrow import Library, RowfsError
from same import Different, check_types, same

# External blobs that must be refused: they lie outside what the dataset may
# point to, or below a base path that means something else for every reader.
REFUSED = {"blob2_22_abs": "permission_denied", "blob2_22_rel": "corruption"}
EXTERNAL = 3


def load(folder, snapshot):
    """The expected table of a snapshot."""
    path = os.path.join(folder, snapshot["arrow"])
    with open(path, "rb") as file:
        data = file.read()
    if "offset" in snapshot:
        begin = snapshot["offset"]
        data = data[begin:begin + snapshot["length"]]
        return pa.ipc.open_stream(data).read_all()
    return pa.ipc.open_file(data).read_all()


def compare_blobs(table, column, want, cells, refused):
    for row, (entry, cell) in enumerate(zip(want, cells, strict=True)):
        where = f"{column} row {row}"
        if (entry is None) != (cell is None):
            raise Different(f"{where}: null {cell is None}, not {entry is None}")
        if entry is None or "sha256" not in entry:
            continue
        if refused and cell["kind"] == EXTERNAL:
            try:
                table.read_blob(cell)
            except RowfsError as error:
                if error.code == refused:
                    continue
            raise Different(f"{where}: not refused: {cell}")
        data = table.read_blob(cell)
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise Different(f"{where}: {len(data)} other bytes, expected "
                            f"{entry['size']}: {cell}")


def text_json(array):
    return [None if v is None else json.loads(v) for v in array.to_pylist()]


def compare(table, want, snapshot, about):
    if table.rows != snapshot["rows"]:
        raise Different(f"{table.rows} rows, expected {snapshot['rows']}")
    got = table.scan(batch_rows=700)
    blobs = snapshot.get("blobs", {})
    names = [f["name"] for f in snapshot["schema"]]
    if got.schema.names != names:
        raise Different(f"columns {got.schema.names}, expected {names}")
    skipped = about.get("unsupported", {})
    order = list(range(table.rows)) + list(range(0, table.rows, 7))
    random.Random(1).shuffle(order)
    order = order[:400]
    taken = table.take(order)
    for i, name in enumerate(names):
        column, sample = got.column(i), taken.column(i)
        if name in blobs:
            compare_blobs(table, name, blobs[name], column.to_pylist(),
                          REFUSED.get(about["name"]))
            again = column.take(pa.array(order, pa.int64())).to_pylist()
            if again != sample.to_pylist():
                raise Different(f"{name}: take is not what scan is")
            continue
        places = want.schema.get_all_field_indices(name)
        if not places or name in skipped:
            continue
        field = want.schema.field(places[0])
        if column.type != pa.large_binary() and "json" in str(field.metadata):
            if text_json(want.column(places[0])) != text_json(column):
                raise Different(f"{name}: other JSON")
            continue
        check_types(field.type, column.type, name)
        if field.nullable != got.schema.field(i).nullable:
            raise Different(f"{name}: nullable, or not")
        same(want.column(places[0]), column, name)
        same(column.take(pa.array(order, pa.int64())), sample, name + " taken")
    if "_rowid" in want.schema.names and table.rows:
        ids = want.column("_rowid").to_pylist()
        mine = [table.row_id(row) for row in range(table.rows)]
        if ids != mine:
            raise Different(f"row ids {mine[:9]}, expected {ids[:9]}")


def snapshots(about):
    yield "", about["latest"]
    for version, snapshot in about.get("versions", {}).items():
        yield "v" + version, snapshot
    for branch, entry in about.get("branches", {}).items():
        snapshot = entry.get("latest", entry) if isinstance(entry, dict) else None
        if snapshot and "arrow" in snapshot:
            yield branch, snapshot
    for tag, entry in about.get("tags", {}).items():
        if isinstance(entry, dict) and "arrow" in entry:
            yield tag, entry


def check(library, folder, name, about, allow):
    uri = os.path.join(folder, name + ".lance")
    for version, snapshot in snapshots(about):
        try:
            table = library.open(uri, version, allow)
            compare(table, load(folder, snapshot), snapshot, about)
            table.close()
        except (Different, RowfsError) as error:
            raise Different(f"@{version or 'latest'}: {error}") from error


def check_source(library, folder, name):
    """Values alone, against what was written."""
    want = pa.ipc.open_file(f"{folder}/{name}.arrow").read_all()
    got = library.open(f"{folder}/{name}.lance").scan()
    for column in want.schema.names:
        same(want.column(column), got.column(column), column)


def refused(library, folder, name):
    try:
        table = library.open(os.path.join(folder, name + ".lance"))
        table.scan()
    except RowfsError as error:
        return error.code == "unsupported"
    return False


def main():
    library = Library(sys.argv[1])
    golden = os.environ["ROWFS_SHARED"] + "/data/lance-golden"
    names = sys.argv[2:] or sorted(
        f[:-len(".expected.json")] for f in os.listdir(golden)
        if f.endswith(".expected.json"))
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            with open(f"{golden}/{name}.expected.json", encoding="utf-8") as f:
                about = json.load(f)
            folder = golden
            if about.get("absolute", "").startswith("Manifest.base_paths"):
                folder = f"{scratch}/{name}"
                family = name[:name.index("_22") + 3]
                for member in {name, family}:
                    subprocess.run(
                        [sys.executable, f"{golden}/generate.py", "relocate",
                         golden, member, folder], check=True,
                        stdout=subprocess.DEVNULL)
                for file in os.listdir(golden):
                    if file.startswith(name) and file.count(".arrow"):
                        os.symlink(f"{golden}/{file}", f"{folder}/{file}")
            try:
                if name == "refuse_23_old":
                    # Its reader refuses the earlier form of 2.3; we read it.
                    check_source(library, folder, name)
                    continue
                if about.get("expect") == "refuse":
                    if not refused(library, folder, name):
                        raise Different("was not refused")
                    continue
                check(library, folder, name, about, [])
            except Exception as error:  # every dataset gets its line
                bad += 1
                print(f"{name}: {error}", flush=True)
                if not isinstance(error, Different):
                    traceback.print_exc()
    print(f"{len(names) - bad} of {len(names)} golden datasets are equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
