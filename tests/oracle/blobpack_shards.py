"""Zip files for blobpack_cases.py: whole, damaged, forged, unusual."""
import io
import struct
import warnings
import zipfile


def shard(members, method=zipfile.ZIP_STORED, comment=b"", change=None):
    """Bytes of a zip; `change` edits each ZipInfo."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as bundle:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            if change:
                change(info)
            bundle.writestr(info, data)
        bundle.comment = comment
    return sink.getvalue()


GOOD = [("a.bin", b"A" * 64), ("d/é.txt", b"text"), ("empty", b""),
        ("big", bytes(range(256)) * 1000)]


def patched(data, *edits):
    """`data` with (offset, bytes) written over it; < 0 from the end."""
    out = bytearray(data)
    for offset, value in edits:
        at = offset if offset >= 0 else len(out) + offset
        out[at:at + len(value)] = value
    return bytes(out)


def entry_at(data, number):
    """Offset of directory entry `number`."""
    end = data.rfind(b"PK\5\6")
    at = struct.unpack_from("<I", data, end + 16)[0]
    for _ in range(number):
        sizes = struct.unpack_from("<HHH", data, at + 28)
        at += 46 + sum(sizes)
    return at


def damaged_shards():
    good = shard(GOOD)
    one = shard([("a", b"hello")])
    e0, e1 = entry_at(good, 0), entry_at(good, 1)
    end = good.rfind(b"PK\5\6")
    size = len(good)
    yield "nothing", b""
    yield "short", b"PK"
    yield "text", b"not a zip file at all, but longer than an end record" * 3
    yield "no-members", shard([])
    yield "good", good
    yield "comment", shard(GOOD, comment=b"hello")
    yield "comment-with-end", shard(GOOD, comment=b"xPK\5\6" + b"\0" * 30)
    yield "comment-with-short-end", shard(GOOD, comment=b"x" * 30 + b"PK\5\6")
    yield "junk-behind", good + b"junk"
    yield "much-junk-behind", good + bytes(70_000)
    yield "prefix", b"#!/bin/sh\n" + good
    yield "two", one + good
    yield "cut-end", good[:-1]
    yield "cut-directory", good[:e1 + 10] + good[end:]
    yield "cut-head", good[20:]
    yield "payload-bit", patched(good, (40, b"\1"))
    yield "crc", patched(good, (e0 + 16, b"\1\2\3\4"))
    yield "entry-magic", patched(good, (e1, b"XX"))
    yield "header-magic", patched(good, (0, b"XX"))
    yield "header-name", patched(good, (30, b"b"))
    yield "header-name-length", patched(good, (26, b"\4"))
    yield "header-method", patched(good, (8, b"\x08"))
    yield "header-encrypted", patched(good, (6, b"\1"))
    yield "header-extra", patched(good, (28, b"\x08"))
    yield "entry-method-8", patched(good, (e0 + 10, b"\x08"))
    yield "entry-method-99", patched(good, (e0 + 10, b"\x63"))
    yield "entry-encrypted", patched(good, (e0 + 8, b"\1"))
    yield "entry-strong", patched(good, (e0 + 8, b"\x40"))
    yield "entry-patched", patched(good, (e0 + 8, b"\x20"))
    yield "entry-descriptor", patched(good, (e0 + 8, b"\x08"))
    yield "entry-version", patched(good, (e0 + 6, b"\x40"))
    yield "entry-utf8-of-nothing", patched(good, (e0 + 8, b"\0\x08"))
    yield "entry-name-not-utf8", patched(
        good, (e1 + 46, b"\xff"), (e1 + 8, b"\0\x08"))
    yield "entry-name-cut-utf8", patched(
        good, (e0 + 8, b"\0\x08"), (e0 + 46, b"\xe2\x82"))
    yield "entry-name-end-utf8", patched(
        good, (e0 + 8, b"\0\x08"), (e0 + 49, b"\xe2\x82"))
    yield "entry-name-surrogate", patched(
        good, (e0 + 8, b"\0\x08"), (e0 + 46, b"\xed\xa0\x80"))
    yield "header-name-not-utf8", patched(
        good, (6, b"\0\x08"), (30, b"\xf0\x90\x41"))
    yield "entry-size", patched(good, (e0 + 24, b"\1\0"))
    yield "entry-packed-size", patched(good, (e0 + 20, b"\1\0"))
    yield "entry-size-large", patched(good, (e0 + 24, b"\xff\xff\xff\x7f"))
    yield "entry-both-large", patched(good, (e0 + 20, b"\xff\xff\xff\x7f" * 2))
    yield "entry-size-inside", patched(good, (e0 + 20, b"\x50\0\0\0" * 2))
    yield "entry-size-sentinel", patched(good, (e0 + 24, b"\xff\xff\xff\xff"))
    yield "entry-offset", patched(good, (e0 + 42, b"\5\0\0\0"))
    yield "entry-offset-shared", patched(
        good, (e1 + 42, b"\0\0\0\0"))
    yield "entry-offset-directory", patched(
        good, (e0 + 42, struct.pack("<I", e0)))
    yield "entry-offset-far", patched(good, (e0 + 42, b"\xf0\xff\xff\xff"))
    yield "entry-nul", patched(good, (e0 + 47, b"\0"))
    yield "entry-nul-first", patched(good, (e0 + 46, b"\0"))
    yield "entry-nul-both", patched(good, (e0 + 47, b"\0"), (31, b"\0"))
    yield "end-offset", patched(good, (end + 16, struct.pack("<I", e0 + 9)))
    yield "end-offset-less", patched(
        good, (end + 16, struct.pack("<I", e0 - 9)))
    yield "end-size", patched(good, (end + 12, b"\xff\xff\xff\0"))
    yield "end-size-0", patched(good, (end + 12, b"\0\0\0\0"))
    yield "end-size-less", patched(good, (end + 12, b"\x40\0\0\0"))
    yield "end-count", patched(good, (end + 8, b"\xff\xff\xff\xff"))
    yield "end-comment-length", patched(good, (-2, b"\5\0"))
    yield "deflated", shard(GOOD, zipfile.ZIP_DEFLATED)
    yield "deflated-bit", patched(
        shard([("a", bytes(range(256)) * 40)], zipfile.ZIP_DEFLATED),
        (60, b"\xff\xff\xff"))
    yield "deflated-cut", patched(
        shard([("a", b"abc" * 1000)], zipfile.ZIP_DEFLATED), (31, b"\x07"))
    yield "bzip2", shard(GOOD, zipfile.ZIP_BZIP2)
    yield "lzma", shard(GOOD, zipfile.ZIP_LZMA)
    yield "folders", shard([("d/", b""), ("d/a", b"1"), ("e/", b"")])
    yield "folder-with-bytes", shard([("d/", b"x"), ("d/a", b"1")])
    yield "cp437", patched(shard([("ab", b"x")]), (30, b"\x82"),
                           (entry_at(shard([("ab", b"x")]), 0) + 46, b"\x82"))
    yield "duplicates", duplicates()
    yield "extra", shard(GOOD, change=lambda i: setattr(
        i, "extra", b"\x99\x99\4\0abcd"))
    yield "extra-cut", patched(
        shard(GOOD, change=lambda i: setattr(i, "extra", b"\x99\x99\4\0abcd")),
        *[(entry_at(shard(GOOD, change=lambda i: setattr(
            i, "extra", b"\x99\x99\4\0abcd")), 0) + 46 + 5 + 2, b"\x09")])
    yield "zip64-extra-short", zip64_entry(b"\1\0\2\0ab")
    yield "zip64-extra-good", zip64_entry(
        b"\1\0\x10\0" + struct.pack("<QQ", 5, 5))
    yield "zip64-extra-half", zip64_entry(b"\1\0\x08\0" + struct.pack("<Q", 5))
    yield "zip64-extra-huge", zip64_entry(
        b"\1\0\x10\0" + struct.pack("<QQ", 1 << 63, 1 << 63))
    for name, data in zip64_ends(one):
        yield name, data
    yield "size-" + str(size % 7), good


def duplicates():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shard([("a", b"1"), ("b", b"2"), ("a", b"3")])


def zip64_entry(extra):
    """One member whose sizes are told by `extra`."""
    name, data = b"a", b"hello"
    crc = struct.pack("<I", zipfile.crc32(data))
    local = (b"PK\3\4" + struct.pack("<HHHHH", 45, 0, 0, 0, 33) + crc
             + struct.pack("<IIHH", 5, 5, 1, 0) + name + data)
    entry = (b"PK\1\2" + struct.pack("<HHHHHH", 45, 45, 0, 0, 0, 33) + crc
             + struct.pack("<IIHHHHHII", 0xffffffff, 0xffffffff, 1, len(extra),
                           0, 0, 0, 0, 0) + name + extra)
    return local + entry + b"PK\5\6" + struct.pack(
        "<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)


def zip64_ends(one):
    """`one` with a zip64 end record, right and wrong."""
    end = one.rfind(b"PK\5\6")
    size, offset = struct.unpack_from("<II", one, end + 12)

    def build(disks=1, disk=0, size=size, offset=offset, magic=b"PK\6\6"):
        record = magic + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1,
                                     size, offset)
        locator = b"PK\6\7" + struct.pack("<IQI", disk, end, disks)
        return one[:end] + record + locator + one[end:]
    yield "zip64-end", build()
    yield "zip64-end-disks", build(disks=2)
    yield "zip64-end-disk", build(disk=1)
    yield "zip64-end-magic", build(magic=b"PK\6\5")
    yield "zip64-end-size", build(size=1 << 60)
    yield "zip64-end-offset", build(offset=1 << 40)
    yield "zip64-end-offset-huge", build(offset=(1 << 64) - 1)
    yield "zip64-locator-alone", one[end:][:0] + b"PK\6\7" + struct.pack(
        "<IQI", 0, 0, 1) + one[end:]
