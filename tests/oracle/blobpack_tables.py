"""Tables for blobpack.py: Lance and Parquet, their cases, and what of the
outputs must be equal: the content of tables, not their bytes."""
import base64
import functools
import json
import pathlib
import shutil
import tempfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

JPEG, PNG = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"


def content(files, folder):
    """`files` with each table's files replaced by what it holds."""
    import lance
    kept = {}
    for name, data in files.items():
        parts = pathlib.PurePath(name).parts
        at = next((i for i, p in enumerate(parts) if p == "table.lance"), None)
        if at is not None and "_versions" in "".join(
                n for n in files if n.startswith("/".join(parts[:at + 1]))):
            name = "/".join(parts[:at + 1])
            if name not in kept:
                dataset = lance.dataset(str(folder / name))
                kept[name] = describe(dataset.to_table())
        elif name.endswith(".parquet") and "tables" in parts:
            file = pq.ParquetFile(folder / name)
            kept[name] = (describe(file.read()), file.num_row_groups)
        elif parts[-1] == "extraction.json":
            told = json.loads(data)
            for table, schema in told["source_schemas"].items():
                schema = pa.ipc.read_schema(pa.BufferReader(
                    base64.b64decode(schema)))
                told["source_schemas"][table] = (
                    schema.to_string(show_schema_metadata=True))
            kept[name] = list(told.items())
        else:
            kept[name] = data
    return kept


def describe(table):
    schema = table.schema
    metadata = sorted((schema.metadata or {}).items())
    fields = [(f.name, str(f.type), f.nullable,
               sorted((f.metadata or {}).items())) for f in schema]
    return metadata, fields, repr(table.to_pylist())


made = []  # folders to remove at the end


@functools.cache
def built(make):
    """The folder that `make` fills, made once."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-tables-"))
    made.append(folder)
    make(folder)
    return folder


def copy_of(make):
    def setup(folder):
        shutil.copytree(built(make), folder, dirs_exist_ok=True, symlinks=True)
    return setup


def forget():
    """Remove what built() made."""
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


# Lance.

def write_lance(folder):
    import lance
    from lance import blob_array, blob_field
    lance.write_dataset(pa.table({
        "id": pa.array(range(50), pa.int64()),
        "img": pa.array([None if i % 7 == 3 else JPEG + bytes([i]) * i
                         for i in range(50)], pa.binary()),
        "text": pa.array([None if i % 5 == 0 else f"t{i}" for i in range(50)]),
        "big": pa.array([PNG * (i % 3) for i in range(50)], pa.large_binary()),
        "nested": pa.array([[i, None] for i in range(50)],
                           pa.list_(pa.int32())),
        "é": pa.array([b"x"] * 50, pa.binary()),
    }), str(folder / "plain.lance"), max_rows_per_file=20)
    dataset = lance.dataset(str(folder / "plain.lance"))
    dataset.delete("id % 11 = 5")
    schema = pa.schema([pa.field("id", pa.int32()), blob_field("b"),
                        pa.field("c", pa.binary())])
    payloads = [b"fLaC", b"OggS" * 50, b"%PDF", b"RIFFxxxxWAVEy", b"BM",
                b"RIFFxxxxWEBPy", b"....ftypisom", b"PK\3\4", b"GIF8", b"?"]
    lance.write_dataset(
        pa.table([pa.array(range(10), pa.int32()), blob_array(payloads),
                  pa.array([b""] * 9 + [None], pa.binary())], schema=schema),
        str(folder / "blobs.lance"), data_storage_version="2.2")
    lance.write_dataset(pa.table({
        "id": pa.array([], pa.int64()), "b": pa.array([], pa.binary())}),
        str(folder / "empty.lance"))
    lance.write_dataset(pa.table({
        "b": pa.array([b"1", b"22"], pa.binary())}),
        str(folder / "only.lance"))
    lance.write_dataset(pa.table({
        "b": pa.array([None, None], pa.binary()),
        "with space ": pa.array([b"1", b"2"], pa.binary())}),
        str(folder / "nulls.lance"))
    lance.write_dataset(pa.table({"id": [1, 2], "f": pa.array(
        [b"ab", b"cd"], pa.binary(2))}), str(folder / "none.lance"))
    (folder / "taken" / "media").mkdir(parents=True)
    (folder / "taken" / "media" / "x.zip").write_bytes(b"")
    (folder / "there" / "table.lance").mkdir(parents=True)
    (folder / "there" / "table.lance" / "x").write_bytes(b"")
    (folder / "folder").mkdir()
    lance.write_dataset(pa.table({"id": [1]}),
                        str(folder / "done" / "table.lance"))


PAYLOADS = [b"OggS", b"", None, b"x" * 2000]


def write_nulls(folder):
    import lance
    from lance import blob_array, blob_field
    schema = pa.schema([pa.field("id", pa.int32()), blob_field("b")])
    lance.write_dataset(
        pa.table([pa.array(range(4), pa.int32()), blob_array(PAYLOADS)],
                 schema=schema),
        str(folder / "two.lance"), data_storage_version="2.2")
    schema = pa.schema([pa.field("id", pa.int32()), pa.field(
        "b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    lance.write_dataset(
        pa.table([pa.array(range(4), pa.int32()),
                  pa.array(PAYLOADS, pa.large_binary())], schema=schema),
        str(folder / "one.lance"), data_storage_version="2.1")


def payloads_moved(folder):
    """Whether `o` refers to PAYLOADS, nulls for nulls."""
    import lance
    rows = lance.dataset(str(folder / "o" / "table.lance")).to_table()
    found = []
    for reference in rows.column("b").to_pylist():
        if reference is None:
            found.append(None)
            continue
        key, shard = reference.removeprefix("zip://").split("::")
        with zipfile.ZipFile(folder / "o" / shard) as bundle:
            found.append(bundle.read(key))
    return found == PAYLOADS and rows.column("id").to_pylist() == [0, 1, 2, 3]


LANCE = [
    ["plain.lance", "o", "--column", "img", "--yes"],
    ["plain.lance", "o", "--column", "big", "--column", "img", "--yes"],
    ["plain.lance", "a/b/o", "--column", "é", "--column", "é", "--yes"],
    ["plain.lance", "o", "--column", "img", "--yes", "--ref-base", "x//y/"],
    ["plain.lance", "o", "--column", "img", "--yes", "--ref-base", ""],
    ["plain.lance", "o", "--column", "img", "--column", "big", "--yes",
     "--max-pack-bytes", "600"],
    ["plain.lance", "o", "--column", "img", "--yes", "--max-pack-bytes", "0"],
    ["plain.lance", "o", "--dry-run"],
    ["./plain.lance/", "o", "--dry-run", "--column", "big"],
    ["plain.lance", "o", "--yes"],
    ["plain.lance", "o", "--yes", "--column", "id"],
    ["plain.lance", "o", "--yes", "--column", "img", "--column", "zz"],
    ["plain.lance", "taken", "--yes", "--column", "img"],
    ["plain.lance", "there", "--yes", "--column", "img"],
    ["plain.lance", "done", "--yes", "--column", "img"],
    ["plain.lance", "plain.lance/data", "--yes", "--column", "nothing"],
    ["blobs.lance", "o", "--yes", "--column", "b"],
    ["blobs.lance", "o", "--yes", "--column", "b", "--column", "c"],
    ["blobs.lance", "o", "--dry-run"],
    ["empty.lance", "o", "--yes", "--column", "b"],
    ["empty.lance", "o", "--dry-run"],
    ["only.lance", "o", "--yes", "--column", "b"],
    ["nulls.lance", "o", "--yes", "--column", "b"],
    ["nulls.lance", "o", "--yes", "--column", "with space "],
    ["none.lance", "o", "--yes", "--column", "f"],
    ["none.lance", "o", "--dry-run"],
    ["folder", "o", "--dry-run"],
    ["nowhere", "o", "--dry-run"],
]
ANSWERS = ["1\ny\n", " ALL \n YES\n", "\n", "9\n", "0\n", "x, 1\n", "1,2\nn\n",
           "2 , 2\ny\n", "1\n", "", "1,\ny\n", "3\n\n"]


def lance_cases(case):
    for name in ("one", "two"):
        yield case(f"lance-nulls-{name}", [
            "convert-lance", f"{name}.lance", "o", "--column", "b", "--yes"],
            copy_of(write_nulls), better=payloads_moved)
    setup = copy_of(write_lance)
    for number, argv in enumerate(LANCE):
        yield case(f"lance-{number}", ["convert-lance", *argv], setup,
                   comparable=content)
    for number, answer in enumerate(ANSWERS):
        yield case(f"lance-answer-{number}", ["convert-lance", "plain.lance",
                                              "o"], setup, stdin=answer,
                   comparable=content)
    yield case("lance-answer-column", ["convert-lance", "plain.lance", "o",
                                       "--column", "img"], setup, stdin="y\n",
               comparable=content)


# Parquet.

def write_parquet(folder):
    rows = range(300)
    media = pa.struct([pa.field("bytes", pa.binary()),
                       pa.field("path", pa.string())])
    strict = pa.struct([
        pa.field("deep", pa.struct([
            pa.field("raw", pa.binary(), nullable=False),
            pa.field("n", pa.int32())])),
        pa.field("other", pa.string())])
    table = pa.table({
        "id": pa.array(rows, pa.int64()),
        "a": pa.array([None if i % 5 == 2 else bytes([i % 256]) * (i % 9)
                       for i in rows], pa.binary()),
        "large": pa.array([b"L" * (i % 4) for i in rows], pa.large_binary()),
        "fixed": pa.array([None if i % 3 == 0 else b"abcd" for i in rows],
                          pa.binary(4)),
        "image": pa.array([None if i % 7 == 0 else {
            "bytes": None if i % 4 == 0 else JPEG * (i % 3), "path": f"{i}.jpg"}
            for i in rows], media),
        "strict": pa.array([None if i % 6 == 0 else {
            "deep": None if i % 10 == 1 else {"raw": b"r" * (i % 2), "n": i},
            "other": "o"} for i in rows], strict),
        "list": pa.array([[b"x"] * (i % 3) for i in rows],
                         pa.list_(pa.binary())),
    }).replace_schema_metadata({
        "huggingface": "{}", "pandas": "{}", "mine": "kept"})
    pq.write_table(table, folder / "one.parquet", row_group_size=100)
    (folder / "many" / "sub").mkdir(parents=True)
    pq.write_table(table.slice(0, 10), folder / "many" / "b.parquet")
    pq.write_table(table.slice(10, 130), folder / "many" / "sub" / "a.parquet")
    pq.write_table(table.slice(0, 0), folder / "many" / "empty.parquet")
    (folder / "many" / "notes.txt").write_text("no table")
    (folder / "bad").mkdir()
    (folder / "bad" / "x.parquet").write_bytes(b"PAR1 nothing PAR1")
    (folder / "mixed").mkdir()
    pq.write_table(table.select(["a"]), folder / "mixed" / "a.parquet")
    pq.write_table(table.select(["id"]), folder / "mixed" / "b.parquet")
    (folder / "none").mkdir()
    (folder / "linked").mkdir()
    (folder / "linked" / "x.parquet").symlink_to("../one.parquet")
    (folder / "there").mkdir()
    twins = pa.Table.from_arrays(
        [pa.array([b"1"]), pa.array([b"2"])], names=["t", "t"])
    pq.write_table(twins, folder / "twins.parquet")


PARQUET = [
    ["one.parquet", "o", "--column", "a"],
    ["one.parquet", "o", "--column", "large", "--column", "a"],
    ["one.parquet", "o", "--column", "fixed"],
    ["one.parquet", "o", "--field", "image", "bytes"],
    ["one.parquet", "o", "--field", "strict", "deep", "raw"],
    ["one.parquet", "o", "--field", "strict", "deep", "raw", "--column", "a",
     "--field", "image", "bytes", "--max-pack-bytes", "2000"],
    ["many", "x/y/o", "--column", "a", "--field", "image", "bytes"],
    ["./many/", "o", "--column", "fixed"],
    ["one.parquet", "o"],
    ["one.parquet", "o", "--column", ""],
    ["one.parquet", "o", "--field", "image", ""],
    ["one.parquet", "o", "--column", "a", "--field", "a"],
    ["one.parquet", "o", "--column", "nothing"],
    ["one.parquet", "o", "--column", "id"],
    ["one.parquet", "o", "--column", "image"],
    ["one.parquet", "o", "--column", "list"],
    ["one.parquet", "o", "--field", "a", "b"],
    ["one.parquet", "o", "--field", "image", "it's"],
    ["one.parquet", "o", "--field", "image", "path"],
    ["twins.parquet", "o", "--column", "t"],
    ["one.parquet", "o", "--column", "a", "--max-pack-bytes", "0"],
    ["one.parquet", "there", "--column", "a"],
    ["one.parquet", "one.parquet", "--column", "a"],
    ["one.parquet", "one.parquet/o", "--column", "a"],
    ["many", "many/o", "--column", "a"],
    ["many", ".", "--column", "a"],
    ["bad", "o", "--column", "a"],
    ["mixed", "o", "--column", "a"],
    ["none", "o", "--column", "a"],
    ["linked", "o", "--column", "a"],
    ["nowhere", "o", "--column", "a"],
]


def parquet_cases(case):
    setup = copy_of(write_parquet)
    for number, argv in enumerate(PARQUET):
        # --yes right behind the operands: --field takes what follows it.
        whole = ["convert-parquet", *argv[:2], "--yes", *argv[2:]]
        yield case(f"parquet-{number}", whole, setup, comparable=content)
    for number in (0, 3, 6, 12):
        for options in (["--dry-run"], []):
            argv = PARQUET[number]
            yield case(f"parquet-{number}-{len(options)}", [
                "convert-parquet", *argv[:2], *options, *argv[2:]], setup,
                comparable=content)
