"""Values that pyarrow or pylance read, as the text of RenderValue.

  lance_oracle.py golden FOLDER OUTPUT   compare OUTPUT/NAME.txt, written by the
      test, with FOLDER/NAME.arrow and the descriptors in NAME.expected.json
  lance_oracle.py make OUTPUT SEED...    write a dataset a seed and its text

Prints what differs; exit code 1 when anything does.
"""
import json
import os
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


if __name__ == '__main__':
    if sys.argv[1] == 'golden':
        sys.exit(1 if golden(sys.argv[2], sys.argv[3]) else 0)
    sys.exit('usage: see the source')
