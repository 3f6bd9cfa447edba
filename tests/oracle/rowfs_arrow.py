"""rowfs's Lance reader as Python sees it: Arrow data through ctypes."""
import ctypes as c
import json

import pyarrow as pa

CODES = ("ok invalid_argument not_found already_exists out_of_range corruption "
         "unsupported changed permission_denied unavailable deadline_exceeded "
         "resource_exhausted cancelled internal").split()


class RowfsError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{CODES[code]}: {message}")
        self.code = CODES[code]


class _Error(c.Structure):
    _fields_ = [("text", c.c_char_p), ("size", c.c_size_t)]


class _Schema(c.Structure):
    _fields_ = [("words", c.c_int64 * 9)]


class _Array(c.Structure):
    _fields_ = [("words", c.c_int64 * 10)]


class _Stream(c.Structure):
    _fields_ = [("words", c.c_int64 * 5)]


class Library:
    def __init__(self, path):
        self.lib = c.CDLL(path)
        self.lib.RowfsRowCount.restype = c.c_uint64
        self.lib.RowfsColumnCount.restype = c.c_uint64
        self.lib.RowfsDescribe.restype = c.c_char_p

    def call(self, name, *args):
        text = c.create_string_buffer(4096)
        error = _Error(c.cast(text, c.c_char_p), len(text))
        code = getattr(self.lib, name)(*args, c.byref(error))
        if code:
            raise RowfsError(code, text.value.decode("utf-8", "replace"))

    def open(self, uri, version="", allow=()):
        return Table(self, uri, version, allow)

    def copy(self, source, target, minor, batch_rows=1024):
        self.call("RowfsCopy", source.encode(), target.encode(),
                  c.c_uint16(minor), c.c_uint64(batch_rows))

    def delete(self, uri, rows, version=0):
        out, rows = c.c_uint64(), list(rows)
        self.call("RowfsDelete", uri.encode(), c.c_uint64(version),
                  _numbers(rows, c.c_uint64), c.c_uint64(len(rows)),
                  c.byref(out))
        return out.value

    def compact(self, uri, rows_per_fragment=1 << 20):
        out = c.c_uint64()
        self.call("RowfsCompact", uri.encode(), c.c_uint64(rows_per_fragment),
                  c.byref(out))
        return out.value

    def collect(self, uri, grace_ms):
        out = c.c_uint64()
        self.call("RowfsCollect", uri.encode(), c.c_int64(grace_ms),
                  c.byref(out))
        return out.value

    def verify(self, uri):
        self.call("RowfsVerify", uri.encode())


def _numbers(values, kind):
    return (kind * len(values))(*values)


class Table:
    def __init__(self, library, uri, version, allow):
        self.library = library
        self.handle = c.c_void_p()
        library.call("RowfsOpen", uri.encode(), version.encode(),
                     "\n".join(allow).encode(), c.byref(self.handle))
        self.rows = library.lib.RowfsRowCount(self.handle)
        self.columns = library.lib.RowfsColumnCount(self.handle)

    def close(self):
        self.library.lib.RowfsClose(self.handle)
        self.handle = None

    def cost(self):
        """Requests and bytes read of data files since the last call."""
        requests, size = c.c_uint64(), c.c_uint64()
        self.library.lib.RowfsCost(self.handle, c.byref(requests),
                                   c.byref(size))
        return requests.value, size.value

    def _batch(self, name, *args):
        schema, array = _Schema(), _Array()
        self.library.call(name, *args, c.byref(schema), c.byref(array))
        return pa.RecordBatch._import_from_c(c.addressof(array),
                                             c.addressof(schema))

    def take(self, rows, columns=None):
        columns = range(self.columns) if columns is None else columns
        rows, columns = list(rows), list(columns)
        return self._batch("RowfsTake", self.handle,
                           _numbers(rows, c.c_uint64), c.c_uint64(len(rows)),
                           _numbers(columns, c.c_size_t),
                           c.c_uint64(len(columns)))

    def scan(self, batch_rows=1024, columns=None, begin=0, end=None):
        columns = list(range(self.columns) if columns is None else columns)
        end = self.rows if end is None else end
        reader = c.c_void_p()
        self.library.call("RowfsScan", self.handle, c.c_uint64(begin),
                          c.c_uint64(end), c.c_uint64(batch_rows),
                          _numbers(columns, c.c_size_t),
                          c.c_uint64(len(columns)), c.byref(reader))
        batches = []
        try:
            while True:
                batch = self._batch("RowfsNext", reader)
                batches.append(batch)
                if batch.num_rows == 0:
                    return pa.Table.from_batches(batches)
        finally:
            self.library.lib.RowfsEndScan(reader)

    def select(self, names):
        """Be a table of these columns, "s.a" for fields of structs."""
        self.library.call("RowfsSelect", self.handle, "\n".join(names).encode())
        self.columns = len(names)

    def stream(self, batch_rows=8192):
        """All rows as a pyarrow.RecordBatchReader; its errors are Arrow's."""
        out = _Stream()
        self.library.call("RowfsStream", self.handle, c.c_uint64(batch_rows),
                          c.byref(out))
        return pa.RecordBatchReader._import_from_c(c.addressof(out))

    def row_id(self, row):
        out = c.c_uint64()
        self.library.call("RowfsRowId", self.handle, c.c_uint64(row),
                          c.byref(out))
        return out.value

    def read_blob(self, cell):
        """The bytes of a cell as scan and take describe it."""
        size = -1 if cell["size"] is None else cell["size"]
        base = -1 if cell["base"] is None else cell["base"]
        data, count = c.c_void_p(), c.c_uint64()
        self.library.call("RowfsReadBlob", self.handle, c.c_uint8(cell["kind"]),
                          cell["object"].encode(), c.c_uint64(cell["offset"]),
                          c.c_int64(size), c.c_int64(base), c.byref(data),
                          c.byref(count))
        return c.string_at(data, count.value)

    def describe(self):
        return json.loads(self.library.lib.RowfsDescribe(self.handle))

    def versions(self):
        out = c.c_char_p()
        self.library.call("RowfsVersions", self.handle, c.byref(out))
        return json.loads(out.value)
