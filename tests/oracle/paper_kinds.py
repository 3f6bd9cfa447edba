"""The documents of papers.py: files of many layouts, by hand and by qpdf,
poppler, Pillow.

`make` fills a folder and returns name -> pages; 0 for those that are refused.
"""
import io
import os
import subprocess
import zlib

from PIL import Image

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def stream(data, entries=""):
    return (f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data +
            b"\nendstream")


def write(objects, root=1, more="", head=b"", tail=b"", shift=0):
    """A file of `objects` (number -> bytes) with a plain table."""
    out = bytearray(head + b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, body in sorted(objects.items()):
        places[number] = len(out) - len(head) + shift
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = len(out) - len(head) + shift
    count = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    for number in range(1, count):
        if number in places:
            out += b"%010d 00000 n \n" % places[number]
        else:
            out += b"0000000000 65535 f \n"
    out += (f"trailer\n<< /Size {count} /Root {root} 0 R {more} >>\nstartxref\n"
            f"{table}\n%%EOF\n").encode()
    return bytes(out + tail)


class Book:
    """Pages with a line of text and a red square each."""

    def __init__(self):
        self.objects = {3: FONT}
        self.kids, self.catalog, self.tree = [], "", ""

    def add(self, body, entries=""):
        number = max(self.objects) + 1
        self.objects[number] = body if isinstance(body, bytes) else stream(
            body.encode(), entries)
        return number

    def page(self, text, box="/MediaBox [0 0 300 200]", draw="", resources="",
             entries="", content=None):
        if content is None:
            content = (f"1 0 0 rg 10 10 20 20 re f 0 g {draw} BT /F1 18 Tf 40 50 Td "
                       f"({text}) Tj ET")
            content = f"{self.add(content)} 0 R"
        number = self.add(
            f"<< /Type /Page /Parent 2 0 R {box} /Contents {content} /Resources "
            f"<< /Font << /F1 3 0 R >> {resources} >> {entries} >>".encode())
        self.kids.append(number)
        return number

    def bytes(self, **more):
        kids = " ".join(f"{k} 0 R" for k in self.kids)
        self.objects[1] = f"<< /Type /Catalog /Pages 2 0 R {self.catalog} >>".encode()
        self.objects.setdefault(2, (
            f"<< /Type /Pages /Count {len(self.kids)} /Kids [{kids}] {self.tree} >>"
        ).encode())
        return write(self.objects, **more)


def plain(count=3):
    book = Book()
    for k in range(count):
        book.page(f"words of page {k + 1}")
    return book


def picture(book, data, entries):
    """A page that shows one picture."""
    image = book.add(stream(data, "/Type /XObject /Subtype /Image /Width 60 "
                            f"/Height 40 {entries}"))
    book.page("picture", draw="q 120 0 0 80 120 90 cm /I Do Q",
              resources=f"/XObject << /I {image} 0 R >>")


def pictures():
    book = Book()
    image = Image.radial_gradient("L").resize((60, 40))
    color = Image.merge("RGB", (image, image.rotate(180), image))

    def saved(picture, kind, **options):
        out = io.BytesIO()
        picture.save(out, kind, **options)
        return out.getvalue()
    gray8 = "/ColorSpace /DeviceGray /BitsPerComponent 8"
    rgb8 = "/ColorSpace /DeviceRGB /BitsPerComponent 8"
    picture(book, zlib.compress(image.tobytes()), gray8 + " /Filter /FlateDecode")
    picture(book, zlib.compress(color.tobytes()), rgb8 + " /Filter /FlateDecode")
    picture(book, saved(color, "JPEG"), rgb8 + " /Filter /DCTDecode")
    picture(book, saved(color.convert("CMYK"), "JPEG"),
            "/ColorSpace /DeviceCMYK /BitsPerComponent 8 /Filter /DCTDecode "
            "/Decode [1 0 1 0 1 0 1 0]")
    picture(book, saved(color, "JPEG2000"), "/Filter /JPXDecode")
    picture(book, color.tobytes().hex().encode() + b">",
            rgb8 + " /Filter /ASCIIHexDecode")
    picture(book, zlib.compress(color.quantize(16).tobytes()),
            "/ColorSpace [/Indexed /DeviceRGB 15 <" + bytes(
                color.quantize(16).getpalette()[:48]).hex() +
            ">] /BitsPerComponent 8 /Filter /FlateDecode")
    fax = io.BytesIO()
    image.convert("1").save(fax, "TIFF", compression="group4")
    with Image.open(fax) as tiff:
        at, size = tiff.tag_v2[273][0], tiff.tag_v2[279][0]
    picture(book, fax.getvalue()[at:at + size],
            "/ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /CCITTFaxDecode "
            "/DecodeParms << /K -1 /Columns 60 /Rows 40 /BlackIs1 true >>")
    mask = book.add(stream(zlib.compress(image.tobytes()),
                           "/Type /XObject /Subtype /Image /Width 60 /Height 40 "
                           + gray8 + " /Filter /FlateDecode"))
    picture(book, zlib.compress(color.tobytes()),
            f"{rgb8} /Filter /FlateDecode /SMask {mask} 0 R")
    return book


def boxes():
    book = Book()
    for entries in ("/MediaBox [0 0 300 200] /Rotate 90",
                    "/MediaBox [0 0 300 200] /Rotate 180",
                    "/MediaBox [0 0 300 200] /Rotate -90",
                    "/MediaBox [0 0 300 200] /Rotate 450",
                    "/MediaBox [0 0 300 200] /CropBox [5 5 155 105]",
                    "/MediaBox [-50 -40 250 160]", "/MediaBox [300 200 0 0]",
                    "/MediaBox [0 0 595.276 841.89]", "/MediaBox [0 0 200 70]",
                    "/MediaBox [0 0 200 3000] /Rotate 90 /CropBox [0 0 200 999]"):
        book.page("turned", entries)
    return book


def inherited():
    book = Book()
    book.objects[2] = b"<< /Type /Pages /Count 4 /Kids [20 0 R 21 0 R] >>"
    for number, rotate in ((20, 0), (21, 90)):
        kids = []
        for k in range(2):
            content, leaf = 4 + 2 * (number - 20) + k, 30 + 2 * (number - 20) + k
            book.objects[content] = stream(
                f"BT /F1 18 Tf 40 50 Td (leaf {number} {k}) Tj ET".encode())
            book.objects[leaf] = (f"<< /Type /Page /Parent {number} 0 R /Contents "
                                  f"[{content} 0 R] >>").encode()
            kids.append(f"{leaf} 0 R")
        book.objects[number] = (
            f"<< /Type /Pages /Parent 2 0 R /Count 2 /Kids [{' '.join(kids)}] "
            f"/MediaBox 40 0 R /Rotate {rotate} /Resources << /Font << /F1 3 0 R >> "
            ">> >>").encode()
    book.objects[40] = b"[0 0 240 160]"
    return book


def forms():
    book = Book()
    inner = book.add("0 0 1 rg 0 0 40 40 re f", "/Type /XObject /Subtype /Form "
                     "/BBox [0 0 40 40]")
    outer = book.add("q 1 0 0 1 10 10 cm /In Do Q", "/Type /XObject /Subtype /Form "
                     "/BBox [0 0 90 90] /Matrix [1 0 0 1 100 60] /Resources << "
                     f"/XObject << /In {inner} 0 R >> >>")
    book.page("nested", draw="/Fx Do", resources=f"/XObject << /Fx {outer} 0 R >>")
    looks = book.add("0 1 0 rg 0 0 80 20 re f", "/Type /XObject /Subtype /Form "
                     "/BBox [0 0 80 20]")
    field = book.add(f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (x) "
                     f"/Rect [150 100 230 120] /F 4 /AP << /N {looks} 0 R >> >>"
                     .encode())
    link = book.add(b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Border "
                    b"[0 0 0] /A << /S /URI /URI (file:///etc/passwd) >> >>")
    book.page("field", entries=f"/Annots [{field} 0 R {link} 0 R]")
    book.catalog = (f"/AcroForm << /Fields [{field} 0 R] >> /OpenAction << /S "
                    "/JavaScript /JS (app.alert\\(1\\)) >> /Names << >>")
    return book


def contents():
    book = Book()
    parts = [book.add(part) for part in ("1 0 0 rg 10 10 20", "20 re f 0 g BT /F1",
                                         "18 Tf 40 50 Td (pieces) Tj ET")]
    book.page("", content="[" + " ".join(f"{p} 0 R" for p in parts) + "]")
    text = b"BT /F1 18 Tf 40 50 Td (filters) Tj ET"
    hexed = book.add(stream(text.hex().encode() + b">", "/Filter /ASCIIHexDecode"))
    book.page("", content=f"{hexed} 0 R")
    twice = zlib.compress(text).hex().encode() + b">"
    book.page("", content=f"{book.add(stream(twice, '/Filter [/ASCIIHexDecode /FlateDecode]'))} 0 R")
    runs = b"".join(bytes([0, c]) for c in text) + b"\x80"
    book.page("", content=f"{book.add(stream(runs, '/Filter /RunLengthDecode'))} 0 R")
    book.page("nothing", content="[]")
    return book


def updated():
    """Pages of a file that was changed by appending to it."""
    first = plain().bytes()
    out = io.BytesIO(first)
    out.seek(0, 2)
    at = out.tell()
    out.write(b"4 0 obj\n" + stream(b"BT /F1 18 Tf 40 50 Td (changed) Tj ET")
              + b"\nendobj\n")
    table = out.tell()
    before = int(first.rsplit(b"startxref\n", 1)[1].split()[0])
    out.write(b"xref\n4 1\n%010d 00000 n \ntrailer\n<< /Size 10 /Root 1 0 R /Prev "
              b"%d >>\nstartxref\n%d\n%%%%EOF\n" % (at, before, table))
    return out.getvalue()


def make(folder, only):
    kinds = {}

    def put(name, data, pages):
        if not only or name in only:
            with open(f"{folder}/{name}", "wb") as file:
                file.write(data)
            kinds[name] = pages

    def tool(name, pages, *command):
        if not only or name in only:
            words = [w.replace("OUT", f"{folder}/{name}") for w in command]
            done = subprocess.run(words, capture_output=True)
            # qpdf says 3 for warnings.
            assert done.returncode in (0, 3), (words, done.stderr)
            kinds[name] = pages
    source = folder + ".source.pdf"
    with open(source, "wb") as file:
        file.write(plain(5).bytes())
    put("plain.pdf", plain().bytes(), 3)
    put("one.pdf", plain(1).bytes(), 1)
    put("many.pdf", plain(120).bytes(), 120)
    put("pictures.pdf", pictures().bytes(), 9)
    put("boxes.pdf", boxes().bytes(), 10)
    put("inherited.pdf", inherited().bytes(), 4)
    put("forms.pdf", forms().bytes(), 2)
    put("contents.pdf", contents().bytes(), 5)
    put("updated.pdf", updated(), 3)
    put("junk_first.pdf", plain().bytes(head=b"x" * 700), 3)
    put("junk_last.pdf", plain().bytes(tail=b"\n" * 900 + b"x" * 300), 3)
    put("wrong_places.pdf", plain().bytes(shift=37), 3)
    table, trailer = plain().bytes().rsplit(b"xref\n0", 1)[0], b"trailer\n"
    end = plain().bytes().rsplit(trailer, 1)[1]
    put("no_table.pdf", table + trailer + end, 3)
    put("cut.pdf", plain().bytes()[:-20], 3)
    put("half.pdf", table, 0)
    put("mac_lines.pdf", plain().bytes().replace(b" \n", b" \r"), 3)
    qpdf = ("qpdf", source, "OUT")
    for name, words in (("object_streams", "--object-streams=generate"),
                        ("linearized", "--linearize"),
                        ("linear_objects", "--linearize "
                         "--object-streams=generate"),
                        ("qdf", "--qdf"), ("recompressed", "--recompress-flate "
                                           "--compression-level=9"),
                        ("turned", "--rotate=90:1-3"),
                        ("old", "--force-version=1.3 --object-streams=disable")):
        tool(name + ".pdf", 5, *qpdf, *words.split())
    for name, words, more in (("aes256", "256", ()), ("aes128", "128 --use-aes=y",
                                                      ()),
                              ("rc4_128", "128 --use-aes=n",
                               ("--allow-weak-crypto",)),
                              ("rc4_40", "40", ("--allow-weak-crypto",))):
        tool(name + ".pdf", 5, "qpdf", *more, "--encrypt", "", "owner",
             *words.split(), "--", source, "OUT")
    tool("cleartext_metadata.pdf", 5, "qpdf", "--encrypt", "", "owner", "256",
         "--cleartext-metadata", "--", source, "OUT")
    tool("locked.pdf", 0, "qpdf", "--encrypt", "user", "owner", "256", "--", source,
         "OUT")
    tool("some_pages.pdf", 3, "qpdf", source, "--pages", source, "5,1,3", "--",
         "OUT")
    tool("same_page.pdf", 4, "qpdf", source, "--pages", source, "2,2,2,1", "--",
         "OUT")
    tool("attached.pdf", 5, "qpdf", source, "--add-attachment", source,
         "--key=x", "--", "OUT")
    tool("cairo.pdf", 5, "pdftocairo", "-pdf", source, "OUT")
    tool("united.pdf", 10, "pdfunite", source, source, "OUT")
    book = [Image.linear_gradient("L").rotate(90 * k).resize((200, 300))
            for k in range(3)]
    book[0].save(folder + "/pillow.pdf", save_all=True, append_images=book[1:],
                 resolution=100)
    kinds["pillow.pdf"] = 3
    os.remove(source)
    if only:
        kinds = {k: v for k, v in kinds.items() if k in only}
        for name in set(os.listdir(folder)) - set(kinds):
            os.remove(f"{folder}/{name}")
    return kinds
