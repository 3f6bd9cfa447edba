#!/usr/bin/env python3
"""What pylance makes of blob columns and of concurrent writers.

  blobs.py payloads DATASET FILE   the blobs of column "blob" equal FILE: for
                                   each row u64 size (all ones: null), bytes
  blobs.py kinds DATASET K,K,...   the descriptors' kinds, "-" for null
  blobs.py refused DATASET         it can neither be read nor written
  blobs.py append DATASET N FIRST  N appends of one row, "id" from FIRST on
  blobs.py columns DATASET A,B     it opens, empty, with these columns
  blobs.py ids DATASET COUNT       column "id" is 0..COUNT-1 in some order
"""
import struct
import sys

import lance
import pyarrow as pa


def payloads(path, wanted):
    ds = lance.dataset(path)
    raw = open(wanted, "rb").read()
    expected, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<Q", raw, at)
        at += 8
        if size == 2**64 - 1:
            expected.append(None)
            continue
        expected.append(raw[at:at + size])
        at += size
    assert ds.count_rows() == len(expected), ds.count_rows()
    blobs = ds.take_blobs("blob", indices=list(range(len(expected))))
    for i, (blob, want) in enumerate(zip(blobs, expected)):
        got = None if blob is None else blob.readall()
        assert got == want, "row %d differs" % i


def kinds(path, wanted):
    column = lance.dataset(path).to_table(columns=["blob"])["blob"]
    got = ["-" if row is None else str(row["kind"])
           for row in column.to_pylist()]
    assert ",".join(got) == wanted, got


def refused(path):
    for what in (lambda: lance.dataset(path).to_table(),
                 lambda: lance.write_dataset(
                     pa.table({"id": pa.array([1], pa.int64())}), path,
                     mode="append")):
        try:
            what()
        except Exception as e:
            assert "not supported" in str(e).lower() or \
                "feature" in str(e).lower(), str(e)
        else:
            raise SystemExit("pylance did not refuse")


def columns(path, wanted):
    table = lance.dataset(path).to_table()
    assert (len(table), ",".join(table.column_names)) == (0, wanted), table


def append(path, count, first):
    for i in range(count):
        table = pa.table({"id": pa.array([first + i], pa.int64())})
        lance.write_dataset(table, path, mode="append")


def ids(path, count):
    got = lance.dataset(path).to_table()["id"].to_pylist()
    assert sorted(got) == list(range(count)), sorted(got)


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "append":
        append(args[0], int(args[1]), int(args[2]))
    elif verb == "ids":
        ids(args[0], int(args[1]))
    else:
        {"payloads": payloads, "kinds": kinds, "refused": refused,
         "columns": columns}[verb](*args)
