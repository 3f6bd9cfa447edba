"""Whether two Arrow arrays hold the same values, bit for bit; and what else the
scripts with seeds share."""
import pyarrow as pa
import pyarrow.compute as pc

CELL = ["kind", "object", "offset", "size", "base", "blob_type", "stream_info",
        "entries"]


class Different(Exception):
    pass


def seeds_of(text):
    """The numbers of "0-49,65"."""
    out = []
    for part in text.split(","):
        ends = [int(x) for x in part.split("-")]
        out += range(ends[0], ends[-1] + 1)
    return out


def combined(array):
    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks
        if pa.types.is_dictionary(array.type):
            # Chunks have dictionaries of their own.
            chunks = [chunk.dictionary_decode() for chunk in chunks]
        array = (pa.concat_arrays(chunks) if chunks
                 else pa.array([], array.type))
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def is_cell(type_):
    return (pa.types.is_struct(type_) and
            [type_.field(i).name for i in range(type_.num_fields)] == CELL)


def check_types(want, got, path):
    """Same type; our blob cells stand where descriptors are wanted."""
    if isinstance(want, pa.BaseExtensionType):
        want = want.storage_type
    if isinstance(got, pa.BaseExtensionType):
        got = got.storage_type
    if is_cell(got):
        return
    if want.id != got.id:
        raise Different(f"{path}: type {got}, expected {want}")
    if pa.types.is_nested(want):
        if want.num_fields != got.num_fields:
            raise Different(f"{path}: type {got}, expected {want}")
        for i in range(want.num_fields):
            a, b = want.field(i), got.field(i)
            if a.name != b.name or a.nullable != b.nullable:
                raise Different(f"{path}: field {b}, expected {a}")
            check_types(a.type, b.type, f"{path}.{a.name}")
    elif want != got:
        raise Different(f"{path}: type {got}, expected {want}")


def same(want, got, path):
    want, got = combined(want), combined(got)
    if len(want) != len(got):
        raise Different(f"{path}: {len(got)} values, expected {len(want)}")
    if is_cell(got.type):
        same_cells(want, got, path)
        return
    if not want.is_null().equals(got.is_null()):
        raise Different(f"{path}: nulls differ: {first(want, got)}")
    type_ = want.type
    if pa.types.is_map(type_):
        same(entries(want.drop_null()), entries(got.drop_null()), path)
    elif pa.types.is_struct(type_):
        want, got = want.drop_null(), got.drop_null()
        for i, (a, b) in enumerate(zip(want.flatten(), got.flatten())):
            same(a, b, f"{path}.{type_.field(i).name}")
    elif pa.types.is_fixed_size_list(type_):
        want, got = want.drop_null(), got.drop_null()
        same(want.flatten(), got.flatten(), path + ".item")
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        want, got = want.drop_null(), got.drop_null()
        if not pc.list_value_length(want).equals(pc.list_value_length(got)):
            raise Different(f"{path}: list lengths differ")
        same(want.flatten(), got.flatten(), path + ".item")
    else:
        same_values(bits(want.drop_null()), bits(got.drop_null()), path)


def entries(maps):
    pairs = pa.StructArray.from_arrays([maps.keys, maps.items],
                                       ["key", "value"])
    return pa.ListArray.from_arrays(maps.offsets, pairs)


def bits(array):
    widths = {pa.float16(): pa.int16(), pa.float32(): pa.int32(),
              pa.float64(): pa.int64()}
    return array.view(widths[array.type]) if array.type in widths else array


def same_values(want, got, path):
    if want.equals(got):
        return
    raise Different(f"{path}: {first(want, got)}")


def same_cells(want, got, path):
    """Descriptors: kind, position, size; only where one is there."""
    if not want.is_null().equals(got.is_null()):
        raise Different(f"{path}: null blobs differ: {first(want, got)}")
    for a, b in zip(want.to_pylist(), got.to_pylist()):
        if a is None:
            continue
        if "kind" in a and (a["kind"], a["size"] or 0) != (b["kind"],
                                                           b["size"] or 0):
            raise Different(f"{path}: blob {b}, expected {a}")


def readable(value):
    try:
        return value.as_py()
    except UnicodeDecodeError:  # text that damage made something else
        return value.cast(pa.binary()).as_py()


def first(want, got):
    for i in range(len(want)):
        a, b = readable(want[i]), readable(got[i])
        if repr(a) != repr(b):
            return f"value {i} is {b!r:.200}, expected {a!r:.200}"
    return "values differ"
