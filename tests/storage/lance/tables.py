#!/usr/bin/env python3
"""Random tables for the Lance writer's tests, and pylance's view of what became
of them.

  tables.py make DIR --seeds A-B [--big]   DIR/SEED.table: schema and buffers,
                                           for the test to write as Lance
  tables.py check DIR --seeds A-B          DIR/SEED.lance holds the same values
  tables.py sizes DIR --seeds A-B          the same tables written by pylance:
                                           bytes, next to ours

Values are a function of the seed. Big tables have several pages a column.
"""
import argparse
import decimal
import json
import os
import random
import shutil
import sys
import warnings

import numpy as np
import pyarrow as pa

warnings.filterwarnings("ignore")
WORDS = "amber birch cedar delta ember fjord glade heron inlet juniper".split()


# ------------------------------------------------------------------ schemas

def leaf_types(r):
    units = ["s", "ms", "us", "ns"]
    return [
        pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(),
        pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
        pa.float64(), pa.string(), pa.string(), pa.large_string(), pa.binary(),
        pa.large_binary(), pa.binary(r.randrange(1, 40)), pa.date32(),
        pa.date64(), pa.time32(r.choice(units[:2])),
        pa.time64(r.choice(units[2:])), pa.timestamp(r.choice(units)),
        pa.timestamp(r.choice(units), r.choice(["UTC", "+02:30"])),
        pa.duration(r.choice(units)), pa.decimal128(r.randrange(3, 39), 2),
        pa.decimal256(r.randrange(4, 77), 3),
    ]


def list_items(r):
    return r.choice([pa.float32(), pa.int8(), pa.float16(), pa.int64(),
                     pa.bool_(), pa.uint8()])


def random_type(r, depth):
    if depth > 0 and r.random() < 0.45:
        kind = r.randrange(5)
        if kind == 0:
            fields = [pa.field("f%d" % i, random_type(r, depth - 1),
                               r.random() < 0.8)
                      for i in range(r.randrange(1, 4))]
            return pa.struct(fields)
        if kind == 1:
            return pa.list_(pa.field("item", random_type(r, depth - 1), True))
        if kind == 2:
            return pa.large_list(
                pa.field("item", random_type(r, depth - 1), True))
        if kind == 3:
            return pa.map_(pa.string(), random_type(r, depth - 1))
        item = list_items(r)
        if r.random() < 0.2:
            item = pa.list_(item, r.randrange(1, 4))
        return pa.list_(item, r.choice([1, 2, 3, 8, 100]))
    if depth == 3 and r.random() < 0.08:
        return pa.dictionary(r.choice([pa.int8(), pa.int16(), pa.uint32()]),
                             r.choice([pa.string(), pa.int64(), pa.binary()]))
    if depth == 3 and r.random() < 0.03:
        return pa.null()
    return r.choice(leaf_types(r))


# ------------------------------------------------------------------- values

class Style:
    """How the values of one column are drawn."""

    def __init__(self, r):
        self.nulls = r.choice([0, 0, 0.1, 0.5, 0.97, 1.0])
        self.spread = r.choice(["any", "small", "constant", "runs", "few"])
        self.longest = r.choice([3, 12, 12, 60, 300, 5000])
        self.items = r.choice([1, 3, 8, 40])


def text(r, style):
    n = r.randrange(0, style.longest + 1)
    out = ""
    while len(out) < n:
        out += r.choice(WORDS) + " "
    return out[:n]


def scalar(t, r, style):
    T = pa.types
    if T.is_boolean(t):
        return r.random() < 0.5
    if T.is_integer(t):
        bits = t.bit_width
        low, high = ((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
                     if T.is_signed_integer(t) else (0, (1 << bits) - 1))
        if style.spread != "any":
            low, high = 0, min(high, 90)
        return r.randint(low, high)
    if T.is_floating(t):
        v = r.choice([0.0, -0.0, 1.5, float("inf"), r.uniform(-9, 9)])
        return np.float16(v) if t.bit_width == 16 else v
    if T.is_decimal(t):
        m = 10 ** t.precision - 1
        v = r.choice([0, m, -m, r.randint(-m, m)])
        return decimal.Decimal(v).scaleb(-t.scale, decimal.Context(prec=90))
    if T.is_fixed_size_binary(t):
        return r.randbytes(t.byte_width)
    if T.is_string(t) or T.is_large_string(t):
        return text(r, style)
    if T.is_binary(t) or T.is_large_binary(t):
        return r.randbytes(r.randrange(0, style.longest + 1))
    if T.is_date32(t) or T.is_time32(t):
        return r.randrange(0, 80000)
    if T.is_date64(t):
        return r.randrange(0, 20000) * 86400000
    if T.is_time64(t):
        return r.randrange(0, 86400 * 10**6)
    return r.randrange(-10**12, 10**12)  # timestamps, durations


def leaf_array(t, n, r, style, nullable):
    T = pa.types
    if n > 6000:  # random enough, and quick to make
        part = leaf_array(t, 6000, r, style, nullable)
        return pa.concat_arrays([part] * (n // 6000 + 1)).slice(0, n)
    count = {"constant": 1, "few": 7}.get(style.spread)
    pool = [scalar(t, r, style) for _ in range(count)] if count else None
    values, last = [], scalar(t, r, style)
    for _ in range(n):
        if pool:
            last = r.choice(pool)
        elif style.spread != "runs" or r.random() < 0.02:
            last = scalar(t, r, style)
        null = nullable and r.random() < style.nulls
        values.append(None if null else last)
    if T.is_temporal(t):
        width = pa.int32() if t.bit_width == 32 else pa.int64()
        return pa.array(values, width).view(t)
    return pa.array(values, t)


def random_array(t, n, r, style, nullable=True):
    T = pa.types
    if T.is_null(t):
        return pa.nulls(n)
    if T.is_dictionary(t):
        few = Style(r)
        few.spread, few.longest = "few", 20
        few.nulls = style.nulls
        plain = leaf_array(t.value_type, n, r, few, nullable)
        coded = plain.dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices.cast(t.index_type),
                                              coded.dictionary)
    valid = [not (nullable and r.random() < style.nulls) for _ in range(n)]
    mask = pa.array([not v for v in valid], pa.bool_()) if nullable else None
    if T.is_struct(t):
        children = [random_array(f.type, n, r, style, f.nullable)
                    for f in t]
        return pa.StructArray.from_arrays(children, fields=list(t), mask=mask)
    if T.is_fixed_size_list(t):
        items = random_array(t.value_type, n * t.list_size, r, style)
        return pa.FixedSizeListArray.from_arrays(items, type=t, mask=mask)
    if T.is_list(t) or T.is_large_list(t) or T.is_map(t):
        offsets = [0]
        for v in valid:
            longest = style.items if n < 8000 else 1
            size = r.choice([0, 1, r.randrange(0, longest + 1)])
            offsets.append(offsets[-1] + (size if v else 0))
        total = offsets[-1]
        if T.is_map(t):
            keys = pa.array(["k%d" % i for i in range(total)],
                            pa.string())
            items = random_array(t.item_type, total, r, style)
            return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys,
                                           items, t, mask=mask)
        kind = pa.LargeListArray if T.is_large_list(t) else pa.ListArray
        width = pa.int64() if T.is_large_list(t) else pa.int32()
        items = random_array(t.value_type, total, r, style)
        return kind.from_arrays(pa.array(offsets, width), items, type=t,
                                mask=mask)
    return leaf_array(t, n, r, style, nullable)


def blob_array(n, r):
    """Payloads of a blob column, null and empty ones too."""
    sizes = [0, 1, 100, 5000, 65536, 65537, 200000]
    values = []
    for _ in range(n):
        size = r.choice(sizes) if r.random() < 0.1 else r.randrange(0, 300)
        values.append(None if r.random() < 0.2 else r.randbytes(size))
    return pa.array(values, pa.large_binary())


def random_table(seed, big):
    r = random.Random(seed)
    if big:
        return big_table(r)
    rows = r.choice([1, 2, 7, 100, 600, 1500, 3000])
    fields, arrays = [], []
    for i in range(r.randrange(1, 7)):
        t = random_type(r, 3)
        nullable = pa.types.is_null(t) or r.random() < 0.85
        fields.append(pa.field("c%d" % i, t, nullable))
        arrays.append(random_array(t, rows, r, Style(r), nullable))
    if r.random() < 0.4:
        fields.append(pa.field("blob", pa.large_binary(), True, {"blob": "1"}))
        arrays.append(blob_array(rows, r))
    return pa.table(arrays, schema=pa.schema(fields))


def big_table(r):
    n = 1_100_000
    g = np.random.default_rng(r.randrange(1 << 30))
    lists = pa.ListArray.from_arrays(
        np.arange(0, 2 * n + 1, 2, dtype=np.int32),
        pa.array(g.integers(0, 1000, 2 * n)))
    keys = np.char.add("key-", np.char.mod("%d", np.arange(n) * 7919 % 10**7))
    return pa.table({
        "number": pa.array(g.integers(0, 10**6, n), mask=g.random(n) < 0.1),
        "key": pa.array(keys),
        "list": lists,
    })


# --------------------------------------------------------------------- dump

def type_json(t):
    T = pa.types
    out = {"id": t.id}
    names = {
        "halffloat": "half_float",
    }
    name = str(t).split("[")[0].split("(")[0].split("<")[0]
    out["id"] = names.get(name, name)
    if T.is_fixed_size_list(t):
        out.update(id="fixed_size_list", width=t.list_size)
    elif T.is_fixed_size_binary(t) and not T.is_decimal(t):
        out.update(id="fixed_size_binary", width=t.byte_width)
    elif T.is_decimal(t):
        out.update(precision=t.precision, scale=t.scale)
    elif T.is_dictionary(t):
        out.update(id="dictionary", ordered=t.ordered)
        fields = [pa.field("index", t.index_type),
                  pa.field("value", t.value_type)]
        out["children"] = [field_json(f) for f in fields]
    if T.is_temporal(t) and not T.is_date(t):
        out["unit"] = t.unit
    if T.is_timestamp(t) and t.tz:
        out["zone"] = t.tz
    if T.is_struct(t):
        out["children"] = [field_json(f) for f in t]
    elif T.is_map(t):
        entries = pa.struct([t.key_field, t.item_field])
        out["children"] = [field_json(pa.field("entries", entries, False))]
    elif T.is_nested(t):
        out["children"] = [field_json(t.value_field)]
    return out


def field_json(f):
    meta = {k.decode(): v.decode() for k, v in (f.metadata or {}).items()}
    out = {"name": f.name, "nullable": f.nullable, "type": type_json(f.type)}
    if meta.pop("blob", None):
        out["type"] = {"id": "blob"}
    out["metadata"] = meta
    return out


class Dump:
    def __init__(self):
        self.blob = bytearray()

    def buffer(self, b, size=None):
        at = len(self.blob)
        data = b"" if b is None else memoryview(b)[:size]
        self.blob += data
        return [at, len(data)]

    def array(self, a):
        T, t = pa.types, a.type
        if a.offset != 0:
            a = pa.concat_arrays([a])
            assert a.offset == 0
        out = {"length": len(a), "null_count": a.null_count}
        if T.is_null(t):
            return out
        if T.is_dictionary(t):
            out = self.array(a.indices)
            out["dictionary"] = self.array(a.dictionary)
            return out
        buffers = a.buffers()
        if a.null_count:
            out["validity"] = self.buffer(buffers[0], (len(a) + 7) // 8)
        if T.is_struct(t):
            out["children"] = [self.array(a.field(i))
                               for i in range(t.num_fields)]
        elif T.is_fixed_size_list(t):
            out["children"] = [self.array(a.values)]
        elif T.is_list(t) or T.is_large_list(t) or T.is_map(t):
            width = 8 if T.is_large_list(t) else 4
            out["offsets"] = self.buffer(buffers[1], (len(a) + 1) * width)
            if T.is_map(t):
                entries = pa.StructArray.from_arrays(
                    [a.keys, a.items], fields=[t.key_field, t.item_field])
                out["children"] = [self.array(entries)]
            else:
                out["children"] = [self.array(a.values)]
        elif buffers and len(buffers) == 3:
            width = 8 if "large" in str(t) else 4
            out["offsets"] = self.buffer(buffers[1], (len(a) + 1) * width)
            out["data"] = self.buffer(buffers[2])
        else:
            size = ((len(a) + 7) // 8 if T.is_boolean(t)
                    else len(a) * t.bit_width // 8)
            out["data"] = self.buffer(buffers[1], size)
        return out


def dump(table, path):
    d = Dump()
    head = {"fields": [field_json(f) for f in table.schema],
            "rows": len(table),
            "columns": [d.array(c.combine_chunks() if c.num_chunks != 1
                                else c.chunk(0)) for c in table.columns]}
    text_ = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(len(text_).to_bytes(8, "little") + text_ + d.blob)


# -------------------------------------------------------------------- check

def is_blob(f):
    return bool(f.metadata and b"blob" in f.metadata)


def blob_bytes(ds, name, rows):
    """The payloads as pylance hands them out; None for null."""
    if not rows:
        return []
    out = []
    for blob in ds.take_blobs(name, indices=rows):
        out.append(None if blob is None else blob.readall())
    return out


def same(ours, wanted, what):
    ours = ours.combine_chunks() if isinstance(ours, pa.ChunkedArray) else ours
    wanted = (wanted.combine_chunks()
              if isinstance(wanted, pa.ChunkedArray) else wanted)
    if isinstance(ours, pa.ChunkedArray):
        ours = pa.concat_arrays(ours.chunks)
    if ours.type != wanted.type:
        raise SystemExit("%s: type %s, wanted %s"
                         % (what, ours.type, wanted.type))
    if not ours.equals(wanted):
        a, b = ours.to_pylist(), wanted.to_pylist()
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y and not (x != x and y != y):
                raise SystemExit("%s: row %d of %d is %r, wanted %r" % (
                    what, i, len(b), str(x)[:300], str(y)[:300]))
        if len(a) != len(b):
            raise SystemExit("%s: %d rows of %d" % (what, len(a), len(b)))


def check(path, table, seed, later):
    import lance
    ds = lance.dataset(path)
    plain = [f.name for f in table.schema if not is_blob(f)]
    blobs = [f.name for f in table.schema if is_blob(f)]
    r = random.Random(seed)
    whole = ds.to_table(columns=plain)
    picks = sorted(r.randrange(len(table)) for _ in range(20))
    part = ds.take(picks, columns=plain)
    for name in plain:
        what = "seed %s, %s (%s)" % (seed, name, table.schema.field(name).type)
        same(whole[name], table[name], what)
        same(part[name], table[name].take(picks), what + ", take")
    for name in blobs:
        rows = list(range(len(table)))
        if blob_bytes(ds, name, rows) != table[name].to_pylist():
            raise SystemExit("seed %s: blobs differ" % seed)
    if later:
        change(path, ds, table, plain, blobs, seed)


def change(path, ds, table, plain, blobs, seed):
    """What users do next: delete, append, compact."""
    import lance
    if len(table) > 1 and plain:
        keep = [i for i in range(len(table)) if i % 3 != 1]
        ids = ds.to_table(columns=[], with_row_id=True)["_rowid"].to_pylist()
        gone = ",".join(str(ids[i]) for i in range(len(table)) if i % 3 == 1)
        ds.delete("_rowid IN (%s)" % gone)
    else:
        keep = list(range(len(table)))
    wanted = table.select(plain).take(keep) if plain else None
    if not blobs:
        lance.write_dataset(table, path, mode="append")
        wanted = pa.concat_tables([wanted, table.select(plain)])
    ds = lance.dataset(path)
    ds.optimize.compact_files()
    ds = lance.dataset(path)
    if plain:
        whole = ds.to_table(columns=plain)
        for name in plain:
            same(whole[name], wanted[name],
                 "seed %s, %s after changes" % (seed, name))
    for name in blobs:
        rows = list(range(len(keep)))
        if blob_bytes(ds, name, rows) != table[name].take(keep).to_pylist():
            raise SystemExit("seed %s: blobs differ after changes" % seed)


def data_bytes(path):
    total = 0
    for folder, _, names in os.walk(os.path.join(path, "data")):
        total += sum(os.path.getsize(os.path.join(folder, n)) for n in names)
    return total


def sizes(directory, seeds, big, version):
    import lance
    ours_total = theirs_total = 0
    for seed in seeds:
        table = random_table(seed, big)
        if any(is_blob(f) for f in table.schema):
            continue
        ours = data_bytes(os.path.join(directory, "%d.lance" % seed))
        path = os.path.join(directory, "%d.pylance" % seed)
        shutil.rmtree(path, ignore_errors=True)
        try:
            lance.write_dataset(table, path, data_storage_version=version)
        except Exception as e:
            print("seed", seed, "pylance cannot:", str(e)[:100])
            continue
        theirs = data_bytes(path)
        ours_total += ours
        theirs_total += theirs
        print("%d %d %d %.3f" % (seed, ours, theirs, ours / theirs))
    print("total %d %d %.3f" % (ours_total, theirs_total,
                                ours_total / max(1, theirs_total)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verb", choices=["make", "check", "sizes"])
    p.add_argument("directory")
    p.add_argument("--seeds", default="0-9")
    p.add_argument("--big", action="store_true")
    p.add_argument("--no-changes", action="store_true")
    p.add_argument("--version", default="2.2")
    a = p.parse_args()
    first, last = (a.seeds.split("-") + [a.seeds])[:2]
    seeds = range(int(first), int(last) + 1)
    if a.verb == "sizes":
        return sizes(a.directory, seeds, a.big, a.version)
    failures = 0
    for seed in seeds:
        table = random_table(seed, a.big)
        base = os.path.join(a.directory, str(seed))
        if a.verb == "make":
            dump(table, base + ".table")
            continue
        try:
            check(base + ".lance", table, seed, not a.no_changes)
        except SystemExit as e:
            print(e)
            failures += 1
        except Exception as e:
            print("seed %d: %s: %s" % (seed, type(e).__name__, str(e)[:600]))
            failures += 1
    if failures:
        sys.exit("%d of %d tables differ" % (failures, len(seeds)))
    return None


if __name__ == "__main__":
    main()
