"""Columns of random nested types with random field metadata, built level by
level: every kind of type, null and shape of data that a Lance writer takes.

`column(r, rows, version)` is (field, make): make(rows) gives more of the column."""
import random
import string

import pyarrow as pa

UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Berlin", "+02:30", "-08:00", "America/New_York")
# How the values of a leaf are spread: what the writer's choices depend on.
SHAPES = ("random", "random", "narrow", "runs", "constant", "few", "sorted",
          "wide")
LENGTHS = ((0, 3), (0, 3), (1, 1), (0, 0), (0, 40), (200, 300))


def leaf_type(r):
    """A type without children."""
    return r.choice([
        lambda: getattr(pa, f"{r.choice(['', 'u'])}int{r.choice([8, 16, 32, 64])}")(),
        lambda: r.choice([pa.float16(), pa.float32(), pa.float64()]),
        lambda: r.choice([pa.string(), pa.large_string(), pa.binary(),
                          pa.large_binary()]),
        lambda: r.choice([pa.string(), pa.large_binary()]),
        lambda: pa.bool_(),
        lambda: pa.binary(r.choice([1, 2, 3, 8, 16, 100, 300])),
        lambda: pa.decimal128(r.choice([1, 9, 18, 19, 38]), 0),
        lambda: pa.decimal128(20, r.choice([-3, 0, 5, 20])),
        lambda: pa.decimal256(r.choice([1, 40, 76]), r.choice([0, 1, 7])),
        lambda: pa.timestamp(r.choice(UNITS), r.choice(ZONES)),
        lambda: r.choice([pa.date32(), pa.date64(), pa.time32("s"),
                          pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
        lambda: pa.duration(r.choice(UNITS)),
        lambda: pa.dictionary(
            r.choice([pa.int8(), pa.uint8(), pa.int16(), pa.int32(),
                      pa.uint32(), pa.int64()]),
            r.choice([pa.string(), pa.large_string(), pa.binary(), pa.int32(),
                      pa.float64(), pa.date32(), pa.timestamp("us", "UTC"),
                      pa.decimal128(9, 2), pa.binary(5)])),
        lambda: pa.null(),
    ])()


def hints(r, version):
    """Field metadata that steers the writer of a leaf."""
    out = {}

    def maybe(chance, name, *values):
        if r.random() < chance:
            out["lance-encoding:" + name] = r.choice(values)
    maybe(0.4, "compression", "zstd", "lz4", "fsst", "none")
    maybe(0.1, "compression-level", "1", "9")
    maybe(0.25, "structural-encoding", "miniblock", "fullzip",
          *(["sparse"] if version == "2.3" else []))
    maybe(0.2, "rle-threshold", "0.0", "0.5", "1.0")
    maybe(0.2, "bss", "on", "auto", "off")
    maybe(0.15, "dict-divisor", "1", "2", "1000")
    maybe(0.15, "dict-size-ratio", "0.1", "0.99")
    maybe(0.1, "dict-values-compression", "zstd", "lz4", "none")
    maybe(0.1, "minichunk-size", "512", "4096", "16384")
    return out


def fixed_type(r, depth, bits=True):
    """What a packed struct or a fixed-size list may be made of."""
    if depth and r.random() < 0.3:
        return pa.list_(pa.field("item", fixed_type(r, depth - 1, bits),
                                 r.random() < 0.5), r.randrange(1, 5))
    return r.choice([pa.int8(), pa.uint16(), pa.int32(), pa.int64(),
                     pa.float32(), pa.float64(),
                     pa.bool_() if bits else pa.uint64(), pa.binary(4),
                     pa.date32(), pa.decimal128(9, 2)])


def a_type(r, depth, version):
    if depth == 0 or r.random() < 0.25:
        return leaf_type(r)

    def child(name, deeper=depth - 1):
        type_ = a_type(r, deeper, version)
        leaf = not (pa.types.is_nested(type_))
        return pa.field(name, type_, r.random() < 0.7 or type_ == pa.null(),
                        hints(r, version) if leaf else None)
    kind = r.choice("list list large struct struct fixed map packed".split())
    if kind == "list":
        return pa.list_(child(r.choice(["item", "item", "element"])))
    if kind == "large":
        return pa.large_list(child("item"))
    if kind == "fixed":
        return pa.list_(pa.field("item", fixed_type(r, depth - 1),
                                 r.random() < 0.7), r.randrange(1, 20))
    if kind == "map" and version not in ("2.0", "2.1"):
        key = r.choice([pa.string(), pa.int32(), pa.large_binary(),
                        pa.date32(), pa.binary(4)])
        return pa.map_(key, child("value"))
    names = r.sample(["a", "b", "ü ß", "a.b", "it's", "x\ny", "A"],
                     r.randrange(1, 4))
    return pa.struct([child(n) for n in names])


def column(r, name, version):
    """A field, and a function from a count to an array of it."""
    if r.random() < 0.15:
        type_ = pa.struct([
            pa.field(n, r.choice([pa.string(), pa.binary()]) if
                     version not in ("2.0", "2.1") and r.random() < 0.3
                     else fixed_type(r, 1, False), r.random() < 0.5)
            for n in ("a", "b", "c")[:r.randrange(1, 4)]])
        metadata = {"lance-encoding:packed": "true"}
    else:
        type_ = a_type(r, r.choice([0, 1, 2, 3, 4]), version)
        metadata = hints(r, version) if not pa.types.is_nested(type_) else {}
    field = pa.field(name, type_, r.random() < 0.8 or type_ == pa.null(),
                     metadata)
    seed = r.random()
    plain = "lance-encoding:packed" in metadata
    state = random.Random(seed)
    return field, lambda rows: array(field, rows, state, plain)


def null_mask(field, rows, r):
    if not field.nullable:
        return None
    share = r.choice([0, 0, 0.1, 0.5, 0.95, 1.0])
    if share == 0:
        return None
    if r.random() < 0.2:  # nulls together
        cut = r.randrange(rows + 1)
        return pa.array([i < cut for i in range(rows)], pa.bool_())
    return pa.array([r.random() < share for _ in range(rows)], pa.bool_())


def offsets_of(rows, r, room):
    low, high = r.choice(LENGTHS)
    if high * rows > room:
        low, high = 0, max(1, room // max(rows, 1))
    out = [0]
    for _ in range(rows):
        out.append(out[-1] + r.choice([0, r.randint(low, high),
                                       r.randint(low, high)]))
    return out


def array(field, rows, r, whole=False, room=20000):
    """`rows` values of the field; whole: without nulls in children."""
    type_ = field.type
    types = pa.types
    mask = null_mask(field, rows, r)
    if types.is_null(type_):
        return pa.nulls(rows)
    if types.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        inner = [f.with_nullable(False) if whole else f for f in fields]
        return pa.StructArray.from_arrays(
            [array(f, rows, r, whole, room) for f in inner], fields=fields,
            mask=mask)
    if types.is_fixed_size_list(type_):
        item = type_.value_field
        if whole:
            item = item.with_nullable(False)
        values = array(item, rows * type_.list_size, r, whole, room)
        return pa.FixedSizeListArray.from_arrays(values, type=type_, mask=mask)
    if types.is_map(type_):
        offsets = offsets_of(rows, r, room)
        key = pa.field("key", type_.key_type, False)
        items = array(type_.item_field, offsets[-1], r, whole, room)
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()),
            array(key, offsets[-1], r, whole, room), items, type=type_,
            mask=mask)
    if types.is_list(type_) or types.is_large_list(type_):
        offsets = offsets_of(rows, r, room)
        large = types.is_large_list(type_)
        values = array(type_.value_field, offsets[-1], r, whole, room)
        make = pa.LargeListArray if large else pa.ListArray
        return make.from_arrays(
            pa.array(offsets, pa.int64() if large else pa.int32()), values,
            type=type_, mask=mask)
    return leaf(type_, rows, r, mask)


def leaf(type_, rows, r, mask):
    types = pa.types
    if types.is_dictionary(type_):
        count = r.choice([1, 2, 9, 100])
        words = leaf(type_.value_type, count, r, None).unique()
        index = pa.array([None if mask is not None and mask[i].as_py() else
                          r.randrange(len(words)) for i in range(rows)],
                         type_.index_type)
        return pa.DictionaryArray.from_arrays(index, words)
    shape = r.choice(SHAPES)
    few = [one(type_, r, shape) for _ in range(r.choice([2, 5, 60]))]
    if shape == "constant":
        values = [few[0]] * rows
    elif shape == "few":
        values = [r.choice(few) for _ in range(rows)]
    elif shape == "runs":
        values = []
        while len(values) < rows:
            values += [r.choice(few)] * r.choice([1, 3, 50, 700])
        values = values[:rows]
    else:
        values = [one(type_, r, shape) for _ in range(rows)]
    if shape == "sorted" and rows and isinstance(values[0], (int, bytes, str)):
        values.sort()
    if mask is not None:
        values = [None if m else v for v, m in zip(values, mask.to_pylist())]
    return typed(type_, values)


def typed(type_, values):
    types = pa.types
    if types.is_temporal(type_):
        width = pa.int32() if type_.bit_width == 32 else pa.int64()
        return pa.array(values, width).view(type_)
    if types.is_floating(type_):
        width = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
        return pa.array(values, width[type_.bit_width]).view(type_)
    if types.is_decimal(type_):
        return pa.array([None if v is None else
                         v.to_bytes(type_.byte_width, "little", signed=True)
                         for v in values],
                        pa.binary(type_.byte_width)).view(type_)
    return pa.array(values, type_)


def one(type_, r, shape):
    """A value as its bits: an int, bytes or str."""
    types = pa.types
    narrow = shape in ("narrow", "sorted", "few")
    if types.is_boolean(type_):
        return r.random() < 0.5
    if types.is_fixed_size_binary(type_) and not types.is_decimal(type_):
        return (bytes([r.randrange(3)]) * type_.byte_width if narrow else
                r.randbytes(type_.byte_width))
    if (types.is_string(type_) or types.is_large_string(type_) or
            types.is_binary(type_) or types.is_large_binary(type_)):
        size = r.choice({"wide": [0, 300, 5000], "narrow": [3]}.get(
            shape, [0, 1, 7, 30]))
        if shape == "wide" and r.random() < 0.02:
            size = 70000
        if types.is_binary(type_) or types.is_large_binary(type_):
            return r.randbytes(size) if r.random() < 0.5 else b"ab" * size
        letters = "ab " if narrow else string.ascii_letters + "äß漢\0\U0001F600"
        return "".join(r.choices(letters, k=min(size, 40))) * (1 + size // 40)
    if types.is_date64(type_):
        return 86400000 * r.randrange(-10000, 40000)
    if types.is_time32(type_) or types.is_time64(type_):
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]
        return r.randrange(86400 * unit)
    if types.is_decimal(type_):
        top = 10**type_.precision - 1
        return r.randint(-99, 99) % (top + 1) if narrow else r.randint(-top, top)
    bits = type_.bit_width
    if types.is_unsigned_integer(type_) or types.is_floating(type_):
        low, high = 0, (1 << bits) - 1
    else:
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if narrow:
        base = r.choice([0, 0, high // 2])
        return min(high, base + r.randrange(100))
    return r.choice([low, high, 0, r.randint(low, high), r.randint(low, high)])
