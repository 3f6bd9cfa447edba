"""Values that pyarrow or pylance read, as the text of RenderValue.

  lance_oracle.py golden FOLDER OUTPUT   compare OUTPUT/NAME.txt, written by the
      test, with FOLDER/NAME.arrow and the descriptors in NAME.expected.json
  lance_oracle.py make OUTPUT FROM TO    write a random dataset a seed in
      [FROM, TO), SEED.lance, and what pylance reads from it, SEED.txt

Prints what differs; exit code 1 when anything does.
"""
import decimal
import json
import os
import random
import re
import sys

import pyarrow as pa


def fixed(arr, width):
    buf = arr.buffers()[1]
    data = buf.to_pybytes() if buf is not None else b''
    at = arr.offset * width
    return [data[at + i * width:at + (i + 1) * width] for i in range(len(arr))]


def values(arr):
    t = arr.type
    if isinstance(t, pa.ExtensionType) or hasattr(t, 'storage_type'):
        text = values(arr.storage)
        if 'json' in str(t):
            return ['j' + canonical(v) if v != '~' else v for v in text]
        return text
    n = len(arr)
    null = arr.is_null().to_pylist()
    if pa.types.is_null(t):
        return ['~'] * n
    if pa.types.is_dictionary(t):
        items = values(arr.dictionary)
        out = [items[k] if k is not None else '~' for k in arr.indices.to_pylist()]
    elif pa.types.is_boolean(t):
        out = ['t' if v else 'f' for v in arr.to_pylist()]
    elif pa.types.is_struct(t):
        kids = [values(arr.field(i)) for i in range(t.num_fields)]
        out = ['{' + ','.join(k[i] for k in kids) + '}' for i in range(n)]
    elif pa.types.is_map(t):
        keys, items = values(arr.keys), values(arr.items)
        base = arr.offsets[0].as_py() if n else 0
        off = [o.as_py() for o in arr.offsets]
        shift = 0 if len(keys) >= (off[-1] if off else 0) else base
        out = ['[' + ','.join('{%s,%s}' % (keys[k - shift], items[k - shift]) for k in range(off[i], off[i + 1])) + ']' for i in range(n)]
    elif pa.types.is_fixed_size_list(t):
        w = t.list_size
        items = values(arr.values.slice(arr.offset * w, n * w))
        out = ['[' + ','.join(items[i * w:(i + 1) * w]) + ']' for i in range(n)]
    elif pa.types.is_list(t) or pa.types.is_large_list(t):
        items = values(arr.values)
        off = arr.offsets.to_pylist()
        out = ['[' + ','.join(items[off[i]:off[i + 1]]) + ']' for i in range(n)]
    elif pa.types.is_string(t) or pa.types.is_large_string(t):
        out = ['s' + v.encode().hex() if v is not None else '~' for v in arr.to_pylist()]
    elif pa.types.is_binary(t) or pa.types.is_large_binary(t):
        out = ['s' + v.hex() if v is not None else '~' for v in arr.to_pylist()]
    elif pa.types.is_floating(t) or pa.types.is_decimal(t) or pa.types.is_fixed_size_binary(t):
        width = t.byte_width if pa.types.is_fixed_size_binary(t) else t.bit_width // 8
        out = ['x' + v.hex() for v in fixed(arr, width)]
    else:
        width = t.bit_width // 8
        signed = not pa.types.is_unsigned_integer(t)
        out = [str(int.from_bytes(v, 'little', signed=signed)) for v in fixed(arr, width)]
    return ['~' if null[i] else out[i] for i in range(n)]


def canonical(text):
    return json.dumps(json.loads(bytes.fromhex(text[1:])), sort_keys=True)


def column(table, name):
    out = []
    for chunk in table.column(name).chunks:
        out += values(chunk)
    return out


def sidecar(path, blob_id):
    return path[:-6] + '/' + ''.join(str(blob_id >> b & 1) for b in range(32)) + '.blob'


def same_blob(text, entry):
    """A rendered cell against a descriptor; data file names are not known here."""
    if entry is None or text == '~':
        return entry is None and text == '~'
    kind, offset, size, rest = text[5:-1].split(',', 3)
    uri, base = rest.rsplit(',', 1)
    d = entry['descriptor']
    if 'kind' not in d:
        return (offset, size) == (str(d['position']), str(d['size']))
    if int(kind) != d['kind'] or size != ('end' if d['kind'] == 3 and d['size'] == 0 else str(d['size'])):
        return False
    if d['kind'] != 2 and int(offset) != d['position']:
        return False
    if d['kind'] in (1, 2):
        return uri.endswith(sidecar('x.lance', d['blob_id'])[1:])
    if d['kind'] >= 3 and uri != d['blob_uri']:
        return False
    if d['kind'] == 3:
        return base == (str(d['blob_id']) if d['blob_id'] else '')
    return True


def descriptor(match):
    """A rendered blob as the struct that pylance shows of a nested one."""
    kind, offset, size, uri, base = match.groups()
    blob_id = int(base or 0)
    if kind in '12':
        blob_id = int(uri[-37:-5][::-1], 2)
    text = uri.encode().hex() if kind not in '012' else ''
    return '{%s,%s,%s,%d,s%s}' % (kind, offset, size, blob_id, text)


def read_lines(path):
    got = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            name, _, value = line.rstrip('\n').partition('\t')
            got.setdefault(bytes.fromhex(name).decode(), []).append(value)
    return got


def is_json(t):
    return hasattr(t, 'storage_type') and 'json' in str(t)


def compare(label, got, want, blobs, json_columns=()):
    bad = 0
    for name in sorted(set(want) | set(blobs)):
        mine = got.get(name, [])
        if name in json_columns:
            mine = [v if v == '~' else 'j' + canonical(v) for v in mine]
        theirs = want.get(name)
        if theirs is not None:
            mine = [re.sub(r'blob\((\d),(\d+),(\w+),([^,]*),(\d*)\)', descriptor, v) for v in mine]
        if theirs is None:
            theirs = blobs[name]
            wrong = [i for i in range(len(theirs)) if i >= len(mine) or not same_blob(mine[i], theirs[i])]
        else:
            wrong = [i for i in range(len(theirs)) if i >= len(mine) or mine[i] != theirs[i]]
        if len(mine) != len(theirs):
            print('%s: column %s: %d rows, not %d' % (label, name, len(mine), len(theirs)))
            bad += 1
        if wrong:
            i = wrong[0]
            print('%s: column %s: %d of %d differ, row %d: %.200s | %.200s' % (
                label, name, len(wrong), len(theirs), i, mine[i] if i < len(mine) else 'missing', theirs[i]))
            bad += 1
    return bad


def golden(folder, output):
    bad = 0
    for file in sorted(os.listdir(output)):
        name = file[:-4]
        with open(os.path.join(folder, name + '.expected.json')) as f:
            snapshot = json.load(f)['latest']
        table = pa.ipc.open_file(os.path.join(folder, name + '.arrow')).read_all()
        want = {c: column(table, c) for c in table.column_names}
        json_columns = [c for c in table.column_names if is_json(table.schema.field(c).type)]
        bad += compare(name, read_lines(os.path.join(output, file)), want, snapshot.get('blobs', {}), json_columns)
    return bad


class Maker:
    """A random table: the seed decides types, values, nulls and encodings."""

    PLAIN = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
             pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(5), pa.binary(20),
             pa.date32(), pa.timestamp('us', 'UTC'), pa.time64('ns'), pa.duration('ms'), pa.decimal128(12, 3), pa.decimal256(50, 2)]
    HINTS = [{}, {}, {}, {'lance-encoding:structural-encoding': 'fullzip'}, {'lance-encoding:structural-encoding': 'miniblock'},
             {'lance-encoding:compression': 'zstd'}, {'lance-encoding:compression': 'lz4'}, {'lance-encoding:compression': 'none'},
             {'lance-encoding:bss': 'on', 'lance-encoding:compression': 'zstd'}, {'lance-encoding:rle-threshold': '0.9'},
             {'lance-encoding:structural-encoding': 'sparse'}]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.version = ['2.1', '2.2', '2.3', '2.0'][seed % 4]
        self.rows = self.random.choice([1, 3, 40, 300, 1025, 2500])

    def leaf(self):
        r = self.random.random()
        if r < 0.08:
            return pa.list_(self.random.choice([pa.float32(), pa.int16(), pa.uint8()]), self.random.choice([2, 3, 80]))
        if r < 0.12:
            return pa.dictionary(pa.int16(), self.random.choice([pa.string(), pa.int64()]))
        return self.random.choice(self.PLAIN)

    def type(self, depth):
        r = self.random.random()
        if depth == 0 or r < 0.5:
            return self.leaf()
        if r < 0.75:
            kind = pa.list_ if self.random.random() < 0.7 else pa.large_list
            return kind(pa.field('item', self.type(depth - 1), metadata=self.hint()))
        if r < 0.9 or self.version in ('2.0', '2.1'):
            return pa.struct([pa.field('abc'[i], self.type(depth - 1), metadata=self.hint()) for i in range(self.random.randint(1, 3))])
        return pa.map_(pa.string(), self.type(depth - 1))

    def hint(self):
        hint = self.random.choice(self.HINTS)
        return None if self.version == '2.0' or (self.version != '2.3' and 'sparse' in hint.values()) else hint or None

    def raw(self, t, style):
        rnd = self.random
        if pa.types.is_boolean(t):
            return rnd.random() < 0.5
        if pa.types.is_integer(t):
            bits = t.bit_width - (0 if pa.types.is_unsigned_integer(t) else 1)
            return rnd.getrandbits(bits) if style == 'wide' else rnd.randrange(5) if style == 'few' else rnd.randrange(1 << min(bits, 6))
        if pa.types.is_floating(t):
            return float(rnd.randrange(4)) if style == 'few' else rnd.choice([0.0, -0.0, 1.5, float('inf')]) if style == 'small' else rnd.uniform(-1e4, 1e4)
        if pa.types.is_decimal(t):
            return decimal.Decimal(rnd.randrange(-10**9, 10**9)).scaleb(-t.scale)
        if pa.types.is_fixed_size_binary(t):
            return bytes(rnd.randrange(3) for _ in range(t.byte_width))
        if pa.types.is_string(t) or pa.types.is_large_string(t):
            return rnd.choice(WORDS) if style == 'few' else ' '.join(rnd.choice(WORDS) for _ in range(rnd.randrange(0, 60 if style == 'wide' else 5)))
        if pa.types.is_binary(t) or pa.types.is_large_binary(t):
            return rnd.randbytes(rnd.randrange(0, 600 if style == 'wide' else 9))
        return rnd.randrange(86400) if pa.types.is_time(t) or pa.types.is_date(t) else rnd.randrange(1 << 40)

    def value(self, t, style, nulls, nullable=True):
        if nullable and self.random.random() < nulls:
            return None
        if pa.types.is_fixed_size_list(t):
            return [self.value(t.value_type, style, nulls / 4) for _ in range(t.list_size)]
        if pa.types.is_list(t) or pa.types.is_large_list(t):
            n = self.random.choice([0, 1, 2, 3, 3, 40 if self.random.random() < 0.05 else 1])
            return [self.value(t.value_type, style, nulls) for _ in range(n)]
        if pa.types.is_map(t):
            return [('k%d' % k, self.value(t.item_type, style, nulls)) for k in range(self.random.randrange(3))]
        if pa.types.is_struct(t):
            return {f.name: self.value(f.type, style, nulls) for f in t}
        if pa.types.is_dictionary(t):
            return self.raw(t.value_type, 'few')
        return self.raw(t, style)

    def table(self):
        fields, columns = [], []
        for i in range(self.random.randint(1, 5)):
            t = self.type(self.random.choice([0, 0, 1, 2, 3]))
            style = self.random.choice(['wide', 'small', 'few', 'few'])
            nulls = self.random.choice([0, 0, 0.1, 0.5, 0.97, 1])
            if self.version == '2.0' and has_struct(t):
                nulls = 0  # the format has no null structs
            metadata = self.hint() or {}
            if pa.types.is_struct(t) and self.version == '2.2' and self.random.random() < 0.3 and all(not pa.types.is_nested(f.type) for f in t):
                metadata = {'lance-encoding:packed': 'true'}
                nulls = 0
            one = self.value(t, style, 0)
            same = self.random.random() < 0.15
            values_ = [None if nulls and self.random.random() < nulls else one for _ in range(self.rows)] if same else [
                self.value(t, style, nulls) for _ in range(self.rows)]
            fields.append(pa.field('c%d' % i, t, metadata=metadata or None))
            columns.append(pa.array(values_, t))
        return pa.table(columns, schema=pa.schema(fields))


def has_struct(t):
    return pa.types.is_struct(t) or pa.types.is_map(t) or any(has_struct(t.field(i).type) for i in range(t.num_fields))


WORDS = ['nettle', 'ox', 'quay', 'tern', 'umber', 'vole', 'wren', 'yew', 'zinc', '', 'a much longer word than the others', 'Ümlaut']


def make(output, first, last):
    import lance
    for seed in range(first, last):
        maker = Maker(seed)
        path = os.path.join(output, '%d.lance' % seed)
        try:
            table = maker.table()
            lance.write_dataset(table, path, data_storage_version=maker.version,
                                max_rows_per_file=maker.random.choice([1 << 20, 700]))
            read = lance.dataset(path).to_table()
        except BaseException as error:  # what pylance cannot write or read is no oracle
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        with open(os.path.join(output, '%d.txt' % seed), 'w', encoding='utf-8') as f:
            for name in read.column_names:
                for value in column(read, name):
                    f.write('%s\t%s\n' % (name.encode().hex(), value))


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        sys.exit(0)
    if sys.argv[1] == 'golden':
        sys.exit(1 if golden(sys.argv[2], sys.argv[3]) else 0)
    sys.exit('usage: see the source')
