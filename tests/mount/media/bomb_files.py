"""Small files that claim, or decode to, far more than they are.

`make` fills a folder. None is larger than 3 MB, most have a few kB.
"""
import random
import struct
import zlib

ZEROS = bytes(1 << 20)
SLOW = ("form_tree.pdf", "form_loop.pdf", "content_bomb.pdf", "image_bomb.pdf")


def squeezed(size):
    """`size` zeros or a few more, as zlib has them: one block again and again."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(ZEROS) + packer.flush(zlib.Z_FULL_FLUSH)
    count = -(-size // len(ZEROS))
    checksum = count * len(ZEROS) % 65521 << 16 | 1
    return b"\x78\xda" + block * count + b"\3\0" + struct.pack(">I", checksum)


def pdf(objects):
    out, places = bytearray(b"%PDF-1.7\n"), {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table, count = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    for number in range(1, count):
        out += b"%010d 00000 n \n" % places.get(number, 0)
    return bytes(out) + (f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n"
                         f"{table}\n%%EOF\n").encode()


def stream(data, entries=""):
    return (f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data
            + b"\nendstream")


def page(box="[0 0 200 100]", more="", resources=""):
    return {1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            3: f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R "
               f"/Resources << {resources} >> {more} >>".encode()}


def documents(put):
    form = "/Type /XObject /Subtype /Form /BBox [0 0 90 90]"
    loop = "/XObject << /A 5 0 R /B 6 0 R >>"
    put("form_loop.pdf", pdf({
        **page(resources=loop), 4: stream(b"/A Do /B Do"),
        5: stream(b"/B Do /B Do", f"{form} /Resources << {loop} >>"),
        6: stream(b"/A Do /A Do", f"{form} /Resources << {loop} >>")}))
    deep = page(resources="/XObject << /A 5 0 R >>")
    deep[4] = stream(b"/A Do")
    for k in range(5, 45):  # each draws the next one ten times
        deep[k] = stream(b"/A Do " * 10, f"{form} /Resources << /XObject << /A "
                         f"{k + 1} 0 R >> >>")
    deep[45] = stream(b"0 0 9 9 re f", form)
    put("form_tree.pdf", pdf(deep))
    put("huge_page.pdf", pdf({**page("[0 0 1e9 1e9]"), 4: stream(b"0 0 9 9 re f")}))
    twice = zlib.compress(squeezed(1 << 30), 9)
    filters = "/Filter [/FlateDecode /FlateDecode]"
    put("content_bomb.pdf", pdf({**page(), 4: stream(twice, filters)}))
    image = ("/Type /XObject /Subtype /Image /Width 30000 /Height 30000 "
             "/ColorSpace /DeviceGray /BitsPerComponent 8 ")
    put("image_bomb.pdf", pdf({
        **page(resources="/XObject << /I 5 0 R >>"),
        4: stream(b"q 100 0 0 100 0 0 cm /I Do Q"),
        5: stream(twice, image + filters)}))
    tree = page()
    tree[2] = b"<< /Type /Pages /Count 1 /Kids [5 0 R] >>"
    tree[5] = b"<< /Type /Pages /Count 1 /Parent 2 0 R /Kids [2 0 R 5 0 R] >>"
    put("tree_loop.pdf", pdf({**tree, 4: stream(b"")}))
    many = page()
    many[2] = b"<< /Type /Pages /Count 2000000000 /Kids [3 0 R] >>"
    put("count_lies.pdf", pdf({**many, 4: stream(b"")}))
    put("nested.pdf", pdf({**page(more="/X " + "[" * 90000), 4: stream(b"")}))


def tag(number, kind, *values, order="<"):
    code = {3: "H", 4: "I"}[kind]
    body = struct.pack(f"{order}{len(values)}{code}", *values)
    return number, kind, len(values), body


def tiff(tags, data):
    """One directory; `data` lies at offset 8."""
    directory = 8 + len(data) + len(data) % 2
    out = b"II*\0" + struct.pack("<I", directory) + data + b"\0" * (len(data) % 2)
    more, at = b"", directory + 2 + 12 * len(tags) + 4
    out += struct.pack("<H", len(tags))
    for number, kind, count, body in sorted(tags):
        out += struct.pack("<HHI", number, kind, count)
        if len(body) <= 4:
            out += body.ljust(4, b"\0")
        else:
            out += struct.pack("<I", at + len(more))
            more += body
    return out + struct.pack("<I", 0) + more


def plane(width, height, compression, data, *more):
    return tiff([tag(256, 4, width), tag(257, 4, height), tag(258, 3, 8),
                 tag(259, 3, compression), tag(262, 3, 1), tag(273, 4, 8),
                 tag(277, 3, 1), tag(278, 4, height), tag(279, 4, len(data)),
                 *more], data)


def tiffs(put):
    put("deflate.tif", plane(30000, 30000, 8, squeezed(30000 * 30000)))
    # LZW: clear, then codes that each repeat all before them.
    codes, width = [256, 0] + list(range(258, 4094)), 9
    bits, value, count, out = 0, 0, 0, bytearray()
    for i, code in enumerate(codes):
        value, bits = value << width | code, bits + width
        while bits >= 8:
            bits -= 8
            out.append(value >> bits & 255)
        value &= (1 << bits) - 1
        count = i + 258
        width = 9 + (count >= 511) + (count >= 1023) + (count >= 2047)
    put("lzw.tif", plane(40000, 40000, 5, bytes(out)))
    put("packbits.tif", plane(40000, 40000, 32773, b"\x81\0" * 9000))
    put("zstd.tif", plane(60000, 60000, 50000, bytes.fromhex(
        "28b52ffd0058") + b"\x02\0\x10\0" * 4000))
    put("lzma.tif", plane(50000, 50000, 34925, b"\xfd7zXZ\0" + b"\0" * 400))
    jpeg = (b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc0\0\x0b\x08\xff\xdc"
            b"\xff\xdc\1\1\x11\0\xff\xc4\0\x14\0\1" + bytes(16) +
            b"\xff\xc4\0\x14\x10\1" + bytes(16) + b"\xff\xda\0\x08\1\1\0\0\x3f\0"
            + b"\0" * 500 + b"\xff\xd9")
    put("jpeg.tif", plane(65500, 65500, 7, jpeg))
    put("jpeg.jpg", jpeg)
    put("strips.tif", tiff([tag(256, 4, 2**31), tag(257, 4, 2**31), tag(258, 3, 8),
                            tag(259, 3, 1), tag(262, 3, 1), tag(277, 3, 1),
                            tag(278, 4, 1), (273, 4, 2**31, struct.pack("<I", 8)),
                            (279, 4, 2**31, struct.pack("<I", 8))], b"x" * 64))
    put("samples.tif", tiff([tag(256, 4, 1000), tag(257, 4, 1000), tag(258, 3, 8),
                             tag(259, 3, 1), tag(262, 3, 1), tag(273, 4, 8),
                             tag(277, 3, 65535), tag(279, 4, 64)], b"x" * 64))
    loop = bytearray(plane(8, 8, 1, b"x" * 64))
    at = len(loop) - 4
    loop[at:] = loop[4:8]
    put("directory_loop.tif", bytes(loop))
    chain = bytearray(b"II*\0\x08\0\0\0")  # 90,000 directories of nothing
    for k in range(90000):
        chain += struct.pack("<HI", 0, 8 + 6 * (k + 1))
    put("directories.tif", bytes(chain))


def png(width, height, data, *chunks, bits=1, color=0):
    out = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    for name, body in ((b"IHDR", head), *chunks, (b"IDAT", data), (b"IEND", b"")):
        out += struct.pack(">I", len(body)) + name + body + struct.pack(
            ">I", zlib.crc32(name + body))
    return out


def pictures(put):
    put("wide.png", png(30000, 30000, squeezed(3751 * 30000)))
    put("deep.png", png(30000, 30000, squeezed(64 << 20), bits=16, color=6))
    small = zlib.compress(b"\0\0" * 8)
    profile = b"icc\0\0" + squeezed(1 << 30)
    put("profile.png", png(8, 8, small, (b"iCCP", profile)))
    text = b"Comment\0\0" + squeezed(1 << 30)
    put("texts.png", png(8, 8, small, (b"zTXt", text), (b"zTXt", text)))
    put("frames.png", png(8, 8, small, (b"acTL", struct.pack(">II", 2**31 - 1, 0))))
    # A canvas of 16 megapixels in every one of 5,000 frames of a pixel.
    frame = (b"!\xf9\4\x08\1\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0")
    put("frames.gif", b"GIF89a" + struct.pack("<HHBBB", 4096, 4096, 0x80, 0, 0)
        + bytes(6) + frame * 5000 + b";")
    put("canvas.gif", b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0x80, 0, 0)
        + bytes(6) + frame + b";")
    webp = b"VP8L" + struct.pack("<I", 26) + b"/" + struct.pack(
        "<I", 16383 | 16383 << 14) + b"\0" * 21
    put("wide.webp", b"RIFF" + struct.pack("<I", 4 + len(webp)) + b"WEBP" + webp)
    siz = struct.pack(">HHHIIIIIIIIHBBB", 0xFF51, 41, 0, 60000, 60000, 0, 0, 60000,
                      60000, 0, 0, 1, 7, 1, 1)
    cod = bytes.fromhex("ff52000c00000001000504040001")
    qcd = bytes.fromhex("ff5c001340") + b"\x48" * 16
    put("wide.j2k", b"\xff\x4f" + siz + cod + qcd + bytes.fromhex(
        "ff90000a0000000000000001ff93") + b"\0" * 60 + b"\xff\xd9")
    bmp = b"BM" + struct.pack("<IHHI", 2**31, 0, 0, 54) + struct.pack(
        "<IiiHHIIiiII", 40, 60000, 60000, 1, 24, 0, 0, 0, 0, 0, 0)
    put("wide.bmp", bmp + b"x" * 900)
    put("wide.ppm", b"P6\n60000 60000\n255\n" + b"x" * 900)
    put("numbers.ppm", b"P3\n" + b"9" * 90000)


def dicoms(put):
    def element(group, number, kind, value):
        size = struct.pack("<HI", 0, len(value)) if kind in (
            b"OB", b"OW", b"SQ") else struct.pack("<H", len(value))
        return struct.pack("<HH", group, number) + kind + size + value

    def file(*elements):
        syntax = b"1.2.840.10008.1.2.1\0"
        return (bytes(128) + b"DICM" + element(2, 0x10, b"UI", syntax)
                + b"".join(elements))

    def number(at, value):
        return element(0x28, at, b"US", struct.pack("<H", value))
    shape = [number(2, 1), number(0x10, 65535), number(0x11, 65535),
             number(0x100, 16), number(0x101, 16)]
    lying = struct.pack("<HH", 0x7FE0, 0x10) + b"OW\0\0" + struct.pack(
        "<I", 0xFFFFFFF0)
    put("wide.dcm", file(*shape, lying, b"x" * 99))
    frames = element(0x28, 8, b"IS", b"2147483646")
    tiny = [number(2, 1), frames, number(0x10, 1), number(0x11, 1),
            number(0x100, 8), number(0x101, 8)]
    put("frames.dcm", file(*tiny, lying, b"x" * 99))
    open_sequence = struct.pack("<HH", 8, 0x1140) + b"SQ\0\0" + b"\xff" * 4
    item = b"\xfe\xff\x00\xe0" + b"\xff" * 4
    put("sequences.dcm", file((open_sequence + item) * 9000))


def boxes(kind, *bodies):
    body = b"".join(bodies)
    return struct.pack(">I", 8 + len(body)) + kind + body


def heifs(put):
    """A still whose item claims 30,000 pixels a side."""
    for brand, codec in ((b"avif", b"av01"), (b"heic", b"hvc1")):
        full = bytes(4)
        config = {b"av01": boxes(b"av1C", b"\x81\x08\x0c\0"),
                  b"hvc1": boxes(b"hvcC", b"\1" + bytes(22))}[codec]
        meta = boxes(
            b"meta", full, boxes(b"hdlr", full, bytes(4), b"pict", bytes(13)),
            boxes(b"pitm", full, b"\0\1"),
            boxes(b"iinf", full, b"\0\1", boxes(
                b"infe", b"\2\0\0\0", b"\0\1\0\0", codec, b"\0")),
            boxes(b"iprp", boxes(b"ipco", boxes(b"ispe", full, struct.pack(
                ">II", 30000, 30000)), config), boxes(
                    b"ipma", full, b"\0\0\0\1\0\1\2\1\x82")),
            boxes(b"iloc", full, b"\x44\0\0\1\0\1\0\0\0\1\0\0\1\0\0\0\0\x40"))
        put(f"wide.{brand.decode()}", boxes(
            b"ftyp", brand, bytes(4), b"mif1", brand) + meta + boxes(
                b"mdat", b"\x12\0" + b"\0" * 400))


def sounds(put, good):
    """`good`: bytes of a FLAC and an M4A file that are right."""
    flac = bytearray(good["flac"])
    at = flac.index(b"fLaC") + 8 + 13
    flac[at] |= 15  # 2^36 - 1 samples
    flac[at + 1:at + 5] = b"\xff" * 4
    put("samples.flac", bytes(flac))
    put("samples.m4a", lie(good["m4a"], b"stsz", 12, 2**32 - 1))
    put("chunks.m4a", lie(good["m4a"], b"stco", 8, 2**32 - 1))
    put("times.m4a", lie(good["m4a"], b"stts", 12, 2**32 - 1))
    put("scale.m4a", lie(good["m4a"], b"mdhd", 16, 1))
    fmt = struct.pack("<HHIIHH", 1, 65535, 2**32 - 1, 2**32 - 1, 65535, 16)
    body = b"WAVEfmt " + struct.pack("<I", 16) + fmt + b"data\xff\xff\xff\xff"
    put("channels.wav", b"RIFF" + struct.pack("<I", 2**32 - 1) + body + b"x" * 999)
    put("tag.mp3", b"ID3\4\0\0\x7f\x7f\x7f\x7f" + b"\0" * 3000)
    put("boxes.m4a", boxes(b"ftyp", b"M4A \0\0\0\0") + nested(b"moov", 3000))
    dice = random.Random(1)
    pages = b"".join(b"OggS\0\0" + dice.randbytes(20) + b"\xff" + b"\xff" * 255
                     for _ in range(3000))
    put("pages.ogg", b"OggS\0\2" + bytes(20) + b"\1\x13OpusHead\1\2" + bytes(9)
        + pages)
    put("elements.mka", b"\x1aE\xdf\xa3\x84\x42\x82\x81w\x18S\x80g\x01" + b"\xff" * 7
        + b"\x11M\x9bt\x01" + b"\xff" * 7 + b"\x16T\xaek\x88" * 9000)


def lie(data, box, offset, value):
    at = data.index(box) + 4 + offset - 4
    return data[:at] + struct.pack(">I", value) + data[at + 4:]


def nested(kind, depth):
    body = b""
    for _ in range(depth):
        body = struct.pack(">I", 8 + len(body)) + kind + body
    return body


def make(folder, good, slow):
    """`slow`: also what only a deadline, or the end of memory, stops."""
    def put(name, data):
        if name in SLOW and not slow:
            return
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)
    documents(put)
    tiffs(put)
    pictures(put)
    dicoms(put)
    heifs(put)
    sounds(put, good)
