"""Parquet and Arrow files as rowfs reads them, compared with pyarrow.

Usage: table_files.py ROWFS [FILE...]   (no FILE: all samples and made tables)
`rowfs scan` must give the same values in order, at scattered rows, and as JSON.
"""
import datetime
import decimal
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

ROWFS = sys.argv[1]
SHARED = os.environ["ROWFS_SHARED"]
# Readable for pyarrow only because it does not check checksums by default.
DAMAGED = {"datapage_v1-corrupt-checksum.parquet"}


def rowfs(*args):
    return subprocess.run([ROWFS, *args], capture_output=True, text=True)


def scan(source, out, *args):
    run = rowfs("scan", source, "--output", out, "--cache-dir", out + ".cache", *args)
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        assert run.returncode == 1 and 1 <= len(lines) <= 2, run.stderr
        assert not os.path.exists(out), "a partial file"
        raise RuntimeError(lines[0])
    return out


def read_arrow(path):
    with ipc.open_file(path) as file:
        return file.read_all()


def plain(value):
    """Values with NaN made comparable, and bytes-like made bytes."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def blob_bytes(value):
    """What --blobs makes of a media struct."""
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        return value["bytes"]
    if isinstance(value, dict):
        return {k: blob_bytes(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [blob_bytes(v) for v in value]
    return value


def column_values(column):
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):  # beyond what Python's datetime holds
        return column.cast(pa.int64()).to_pylist()


def same(name, want, got):
    assert want.num_rows == got.num_rows, f"{name}: rows"
    assert want.column_names == got.column_names, f"{name}: {got.column_names}"
    for i, column in enumerate(want.column_names):
        a = plain(blob_bytes(column_values(want.column(i))))
        b = plain(column_values(got.column(i)))
        assert a == b, f"{name}: {column}: {first_difference(a, b)}"


def first_difference(a, b):
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"row {i}: want {x!r:.200}, got {y!r:.200}"
    return f"{len(a)} and {len(b)} values"


def json_value(value, type_):
    """Design section 3, for what the made tables hold."""
    if value is None:
        return None
    if isinstance(value, float):
        if value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        return float(str(np.float32(value))) if pa.types.is_float32(type_) else value
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return {f.name: json_value(value[f.name], f.type) for f in type_}
    if pa.types.is_map(type_):
        return [[json_value(k, type_.key_type), json_value(v, type_.item_type)] for k, v in value]
    if isinstance(value, list):
        return [json_value(v, type_.value_type) for v in value]
    return value


def check(name, source, want, work):
    """All of `want` in order, at scattered rows, and as JSON."""
    out = os.path.join(work, "out.arrow")
    same(name, want, read_arrow(scan(source, out, "--blobs")))
    os.unlink(out)
    if want.num_rows > 1:
        rows = random.Random(name).sample(range(want.num_rows), min(want.num_rows, 40))
        got = read_arrow(scan(source, out, "--blobs", "--rows", ",".join(map(str, rows))))
        same(name + " scattered", want.take(rows), got)
        os.unlink(out)
    parquet = os.path.join(work, "out.parquet")
    try:
        same(name + " as parquet", want, pq.read_table(scan(source, parquet, "--blobs")))
    except RuntimeError as error:
        assert "nhandled type" in str(error) or "not supported" in str(error), error
    else:
        os.unlink(parquet)


def check_json(name, source, want, work):
    out = scan(source, os.path.join(work, "out.jsonl"))
    with open(out) as file:
        lines = [json.loads(line, parse_constant=None) for line in file]
    os.unlink(out)
    assert len(lines) == want.num_rows
    for i, line in enumerate(lines):
        for field in want.schema:
            value = want.column(field.name)[i].as_py()
            # A half has a shorter decimal than the double it becomes in Python.
            if (pa.types.is_temporal(field.type) or "binary" in str(field.type)
                    or field.type == pa.float16()):
                continue
            assert line[field.name] == json_value(value, field.type), (
                f"{name} row {i} {field.name}: {line[field.name]!r} {value!r}")


def check_ingest(name, source, want, work):
    """Through a Lance dataset and back; plain columns as pylance reads them."""
    target = os.path.join(work, name + ".lance")
    for command in ("ingest", "append"):
        run = rowfs(command, source, "--output", target)
        assert run.returncode == 0, run.stderr
    twice = pa.concat_tables([want, want])
    out = os.path.join(work, "out.arrow")
    same(name, twice, read_arrow(scan(target, out, "--blobs")))
    os.unlink(out)
    try:
        import lance
    except ImportError:
        return
    plain_columns = [f.name for f in want.schema
                     if "binary" not in str(f.type) and "bytes" not in str(f.type)]
    got = lance.dataset(target).to_table(columns=plain_columns)
    same(name + " pylance", twice.select(plain_columns), got)
    for column in plain_columns:
        assert got.schema.field(column).type == want.schema.field(column).type, column


def made_table(n=1000, seed=1):
    rng = random.Random(seed)
    maybe = lambda v: None if rng.random() < 0.1 else v
    text = lambda: "".join(rng.choice("abé 空\n\"\\") for _ in range(rng.randrange(12)))
    day = datetime.date(2000, 1, 1)
    struct = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    return pa.table({
        "i8": pa.array([maybe(rng.randrange(-128, 128)) for _ in range(n)], pa.int8()),
        "u64": pa.array([maybe(rng.randrange(2**64)) for _ in range(n)], pa.uint64()),
        "b": pa.array([maybe(rng.random() < 0.5) for _ in range(n)]),
        "f16": pa.array([maybe(rng.randrange(1000) / 8) for _ in range(n)], pa.float16()),
        "f32": pa.array([maybe(rng.choice([0.5, float("nan"), -1.25])) for _ in range(n)], pa.float32()),
        "f64": pa.array([maybe(rng.gauss(0, 1e9)) for _ in range(n)]),
        "s": pa.array([maybe(text()) for _ in range(n)]),
        "ls": pa.array([maybe(text()) for _ in range(n)], pa.large_string()),
        "bin": pa.array([maybe(rng.randbytes(rng.randrange(3000))) for _ in range(n)]),
        "lbin": pa.array([maybe(rng.randbytes(rng.randrange(9))) for _ in range(n)], pa.large_binary()),
        "fix": pa.array([maybe(rng.randbytes(5)) for _ in range(n)], pa.binary(5)),
        "d": pa.array([maybe(day + datetime.timedelta(rng.randrange(9999))) for _ in range(n)]),
        "t": pa.array([maybe(rng.randrange(86400 * 10**6)) for _ in range(n)], pa.time64("us")),
        "ts": pa.array([maybe(rng.randrange(2**60)) for _ in range(n)], pa.timestamp("ns", "Europe/Paris")),
        "dur": pa.array([maybe(rng.randrange(10**6)) for _ in range(n)], pa.duration("ms")),
        "dec": pa.array([maybe(decimal.Decimal(rng.randrange(10**12)).scaleb(-4)) for _ in range(n)], pa.decimal128(20, 4)),
        "dec256": pa.array([maybe(decimal.Decimal(rng.randrange(10**12))) for _ in range(n)], pa.decimal256(60, 2)),
        "dict": pa.array([maybe(rng.choice(["a", "b", "c"])) for _ in range(n)]).dictionary_encode(),
        "list": pa.array([maybe([maybe(rng.randrange(9)) for _ in range(rng.randrange(4))]) for _ in range(n)], pa.list_(pa.int64())),
        "deep": pa.array([maybe([maybe({"x": maybe(1), "y": maybe([maybe(text())])}) for _ in range(rng.randrange(3))]) for _ in range(n)], pa.list_(struct)),
        "map": pa.array([maybe([(text() + str(i), maybe(i)) for i in range(rng.randrange(3))]) for _ in range(n)], pa.map_(pa.string(), pa.int32())),
        "vec": pa.array([[rng.random(), 1.0, 2.0] for _ in range(n)], pa.list_(pa.float32(), 3)),
        "image": pa.array([maybe({"bytes": rng.randbytes(rng.randrange(2000)), "path": maybe("a.png")}) for _ in range(n)],
                          pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "images": pa.array([maybe([{"bytes": rng.randbytes(9), "path": None}] * rng.randrange(3)) for _ in range(n)],
                           pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
    })


PARQUET = {
    "default": {},
    "small-pages": dict(data_page_size=1000, write_batch_size=7, row_group_size=300),
    "index": dict(data_page_size=1000, write_batch_size=7, row_group_size=300, write_page_index=True),
    "v2": dict(data_page_version="2.0", data_page_size=2000, write_batch_size=11, use_dictionary=False),
    "zstd-index": dict(compression="zstd", write_page_index=True, data_page_size=500, write_batch_size=3),
    "plain": dict(compression="none", use_dictionary=False, row_group_size=70),
    "checksums": dict(write_page_checksum=True, data_page_size=1000, write_batch_size=10),
}


def write_ipc(table, path, new, **options):
    with new(path, table.schema, options=ipc.IpcWriteOptions(**options)) as out:
        for batch in table.to_batches(max_chunksize=130):
            out.write_batch(batch)


def made(work):
    table = made_table()
    for name, options in PARQUET.items():
        path = os.path.join(work, name + ".parquet")
        pq.write_table(table, path, **options)
        yield name, path, table
    views = table.select(["i8"]).append_column("sv", table["s"].cast(pa.string_view())).append_column(
        "bv", table["bin"].cast(pa.binary_view()))
    for name, columns, new, options in [
            ("file", table, ipc.new_file, {}), ("zstd", table, ipc.new_file, {"compression": "zstd"}),
            ("stream", table, ipc.new_stream, {}), ("views", views, ipc.new_file, {})]:
        path = os.path.join(work, name + ".arrow")
        write_ipc(columns, path, new, **options)
        yield name, path, columns
    path = os.path.join(work, "x.feather")
    feather.write_feather(table.drop(["map"]), path, compression="lz4")
    yield "feather", path, table.drop(["map"])
    folder = os.path.join(work, "hive")
    parts = table.select(["i8", "s", "bin"]).append_column("year", pa.array([2000 + i % 3 for i in range(1000)], pa.int32()))
    pq.write_to_dataset(parts, folder, partition_cols=["year"])
    yield "hive", folder, pq.read_table(folder).cast(pa.schema(list(parts.schema)))
    folder = os.path.join(work, "saved")
    os.mkdir(folder)
    names = ["data-0000%d-of-00002.arrow" % i for i in (1, 0)]
    for i, name in enumerate(names):
        write_ipc(table.slice(i * 500, 500), os.path.join(folder, name), ipc.new_stream)
    with open(os.path.join(folder, "state.json"), "w") as file:
        json.dump({"_data_files": [{"filename": n} for n in names]}, file)
    yield "saved", folder, table


def normal(table):
    """The types that rowfs shows for those it does not keep."""
    for i, field in enumerate(table.schema):
        for old, new in ((pa.string_view(), pa.string()), (pa.binary_view(), pa.binary())):
            if field.type == old:
                table = table.set_column(i, field.name, table.column(i).cast(new))
    return table


def main():
    bad = []

    def run(name, action):
        try:
            action()
        except Exception as error:  # pylint: disable=broad-except
            bad.append(name)
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)

    with tempfile.TemporaryDirectory() as work:
        files = sys.argv[2:] or sorted(glob.glob(SHARED + "/data/parquet/*.parquet"))
        for path in files:
            name = os.path.basename(path)
            try:
                # Spark's years do not fit nanoseconds.
                spark = b"org.apache.spark.version" in (pq.read_metadata(path).metadata or {})
                want = pq.read_table(path, coerce_int96_timestamp_unit="us" if spark else None)
            except Exception:  # pylint: disable=broad-except
                want = None
            if want is None or name in DAMAGED:
                def refused(path=path):
                    try:
                        scan(path, os.path.join(work, "bad.arrow"), "--blobs")
                    except RuntimeError as error:
                        assert os.path.basename(path) in str(error), error
                    else:
                        assert name not in DAMAGED
                run(name, refused)
                continue
            run(name, lambda path=path, want=want, name=name: check(name, path, want, work))
        if len(sys.argv) == 2:
            for name, path, table in made(work):
                run(name, lambda: check(name, path, normal(table), work))
                if name in ("default", "file"):
                    run(name + " ingest", lambda: check_ingest(name, path, table, work))
                    run(name + " json", lambda: check_json(name, path, table.slice(0), work))
    print("differences:", bad) if bad else print("all equal")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
