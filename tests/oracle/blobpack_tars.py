"""Tar files for blobpack_cases.py: every dialect, damaged and cut."""
import io
import tarfile

from blobpack_shards import patched


def tar(members, form=tarfile.PAX_FORMAT, mode="w", pax=None):
    """members: (name, bytes) or TarInfo."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode, format=form,
                      pax_headers=pax) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return sink.getvalue()


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


SAMPLES = [("000.jpg", b"\xff\xd8" * 300), ("000.json", b"{}"),
           ("./001.jpg", b"j" * 512), ("d/002.txt", b""),
           ("d.e/003.a.b", b"x" * 1500)]


def tars():
    yield "pax", tar(SAMPLES)
    yield "gnu", tar(SAMPLES, tarfile.GNU_FORMAT)
    yield "ustar", tar(SAMPLES, tarfile.USTAR_FORMAT)
    for mode in ("w:gz", "w:bz2", "w:xz"):
        yield mode, tar(SAMPLES, mode=mode)
        yield mode + "-cut", tar(SAMPLES * 1, mode=mode)[:-20]
    yield "empty-archive", tar([])
    yield "nothing", b""
    yield "text", b"hello" * 300
    yield "short", b"hello"
    yield "zeros", bytes(1024)
    yield "dots", tar([("././a", b"1"), (".//b", b"2")])
    yield "dot-only", tar([("./.", b"1")])
    for name, key in (("up", "../a"), ("abs", "/a"), ("space", "a "),
                      ("back", "a\\b"), ("colons", "a::b"), ("slash", "a/")):
        yield f"name-{name}", tar([("ok", b"1"), (key, b"2")])
    yield "repeated", tar([("a", b"1"), ("a", b"2")])
    yield "repeated-dot", tar([("a", b"1"), ("./a", b"2")])
    yield "kinds", tar([
        ("f", b"1"), special("h", tarfile.LNKTYPE, "f"),
        special("s", tarfile.SYMTYPE, "f"), special("d", tarfile.DIRTYPE),
        special("p", tarfile.FIFOTYPE), special("c", tarfile.CHRTYPE),
        ("g", b"2")])
    long = [("n" * 90 + "/" + "m" * 150 + ".txt", b"z"), ("é" * 120, b"y"),
            ("k" * 100, b"1"), ("d" * 120 + "/" + "e" * 90, b"2")]
    yield "long-pax", tar(long)
    yield "long-gnu", tar(long, tarfile.GNU_FORMAT)
    yield "long-ustar", tar(long[3:], tarfile.USTAR_FORMAT)
    yield "global", tar(SAMPLES, pax={"comment": "hello", "path": "all/"})
    yield "hidden", tar([("d/._x.jpg", b"1"), (".DS_Store", b"2"),
                         ("__meta__", b"3")])
    yield "not-utf8", tar([("a", b"1"), ("b\udcff", b"2")], tarfile.GNU_FORMAT)
    whole = tar(SAMPLES, tarfile.GNU_FORMAT)
    for cut in (100, 512, 700, 1500, 1536, 1600, 2048, 2100, 3000, 4000):
        yield f"cut-{cut}", whole[:cut]
    yield "checksum-first", patched(whole, (0, b"X"))
    yield "checksum-later", patched(whole, (1536, b"X"))
    yield "number", patched(whole, (100, b"zzz"))
    yield "twice", tar([("1", b"a")]) + tar([("2", b"b")])
    for name, data in raw_tars():
        yield name, data


def header(name, size, kind=b"0", **fields):
    """A raw 512-byte header."""
    block = bytearray(512)
    block[:len(name)] = name
    for offset, width, value in ((100, 8, 0o644), (108, 8, 0), (116, 8, 0),
                                 (136, 12, 0)):
        block[offset:offset + width] = b"%0*o\0" % (width - 1, value)
    block[124:136] = fields.get("size_field") or b"%011o\0" % size
    block[156:157] = kind
    for offset, value in fields.get("at", {}).items():
        block[offset:offset + len(value)] = value
    block[148:156] = b" " * 8
    total = sum(block)
    if fields.get("signed"):
        total = sum(b - 256 if b > 127 else b for b in block)
    block[148:156] = b"%06o\0 " % total
    return bytes(block)


def padded(data):
    return data + bytes(-len(data) % 512)


def pax_record(key, value):
    body = b" %s=%s\n" % (key, value)
    size = len(body)
    while size != len(body) + len(str(size)):
        size = len(body) + len(str(size))
    return b"%d" % size + body


def raw_tars():
    end = bytes(1024)
    body = padded(b"hello")
    yield "raw", header(b"a", 5) + body + end
    yield "raw-nul-type", header(b"a", 5, b"\0") + body + end
    yield "raw-nul-folder", header(b"a/", 0, b"\0") + end
    yield "raw-contiguous", header(b"a", 5, b"7") + body + end
    yield "raw-unknown-type", header(b"a", 5, b"Z") + body + header(
        b"b", 0) + end
    yield "raw-label", header(b"vol", 0, b"V") + header(b"b", 5) + body + end
    yield "raw-signed", header(b"\xe9", 5, signed=True) + body + end
    yield "raw-base256", header(b"a", 5, size_field=b"\x80" + bytes(10) +
                                b"\5") + body + end
    yield "raw-base256-negative", header(
        b"a", 5, size_field=b"\xff" * 11 + b"\xfb") + body + end
    yield "raw-base256-huge", header(
        b"a", 5, size_field=b"\x80" + b"\x7f" * 11) + body + end
    yield "raw-size-spaces", header(b"a", 5, size_field=b"          5 ") \
        + body + end
    yield "raw-size-empty", header(b"a", 0, size_field=bytes(12)) + end
    yield "raw-size-bad", header(b"a", 5, size_field=b"zzz\0" * 3) + body + end
    yield "raw-prefix", header(b"a", 5, at={345: b"pre/fix"}) + body + end
    yield "raw-no-end", header(b"a", 5) + body
    pax = pax_record(b"path", b"long/name") + pax_record(b"size", b"5")
    yield "raw-pax", header(b"x", len(pax), b"x") + padded(pax) + header(
        b"a", 0) + body + header(b"z", 5) + body + end
    for name, text in (("zero", b"0 path=x\n"), ("junk", b"junk"),
                       ("long", b"9999 path=x\n"), ("short", b"3 path=x\n"),
                       ("size-bad", pax_record(b"size", b"x")),
                       ("size-neg", pax_record(b"size", b"-5")),
                       ("not-utf8", pax_record(b"path", b"a\xff")),
                       ("nul", pax_record(b"path", b"a\0b")),
                       ("slash", pax_record(b"path", b"a/b//"))):
        yield f"raw-pax-{name}", header(b"x", len(text), b"x") + padded(
            text) + header(b"a", 5) + body + end
    yield "raw-pax-alone", header(b"x", len(pax), b"x") + padded(pax) + end
    yield "raw-pax-cut", header(b"x", len(pax), b"x") + padded(pax)[:100]
    yield "raw-pax-damaged", header(b"x", len(pax), b"x") + padded(pax) \
        + b"X" * 512 + end
    text = pax_record(b"path", b"g/name")
    yield "raw-global-path", header(b"g", len(text), b"g") + padded(
        text) + header(b"a", 5) + body + end
    yield "raw-longname", header(b"L", 7, b"L") + padded(
        b"longer\0") + header(b"a", 5) + body + end
    yield "raw-longname-twice", (header(b"L", 3, b"L") + padded(b"one")
                                 + header(b"L", 3, b"L") + padded(b"two")
                                 + header(b"a", 5) + body + end)
    yield "raw-longname-alone", header(b"L", 7, b"L") + padded(b"longer\0")
    for name, data in sparse_tars():
        yield name, data


def sparse_tars():
    end = bytes(1024)

    def fields(*pairs):
        return b"".join(b"%011o\0%011o\0" % pair for pair in pairs)
    for name, pairs, size in (
            ("holes", [(512, 5), (2048, 7)], 3000),
            ("none", [(100, 0)], 100), ("whole", [(0, 12)], 12),
            ("beyond", [(0, 12)], 5)):
        data = padded(b"x" * sum(p[1] for p in pairs))
        stored = sum(p[1] for p in pairs)
        yield f"sparse-gnu-{name}", header(
            b"s", stored, b"S",
            at={386: fields(*pairs, *[(0, 0)] * (4 - len(pairs))),
                483: b"%011o\0" % size}) + data + header(b"z", 0) + end
    for name, extra in (("0.0", [(b"GNU.sparse.size", b"3000"),
                                 (b"GNU.sparse.numblocks", b"2"),
                                 (b"GNU.sparse.offset", b"512"),
                                 (b"GNU.sparse.numbytes", b"5"),
                                 (b"GNU.sparse.offset", b"2048"),
                                 (b"GNU.sparse.numbytes", b"7")]),
                        ("0.1", [(b"GNU.sparse.size", b"3000"),
                                 (b"GNU.sparse.map", b"512,5,2048,7"),
                                 (b"GNU.sparse.name", b"real")]),
                        ("0.1-bad", [(b"GNU.sparse.map", b"512,x")])):
        text = b"".join(pax_record(k, v) for k, v in extra)
        yield f"sparse-pax-{name}", header(b"x", len(text), b"x") + padded(
            text) + header(b"s", 12) + padded(b"y" * 12) + header(
                b"z", 0) + end
    text = b"".join(pax_record(k, v) for k, v in (
        (b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
        (b"GNU.sparse.name", b"real"), (b"GNU.sparse.realsize", b"3000")))
    data = padded(b"2\n512\n5\n2048\n7\n") + padded(b"y" * 12)
    yield "sparse-pax-1.0", header(b"x", len(text), b"x") + padded(
        text) + header(b"s", len(data)) + data + header(b"z", 0) + end
