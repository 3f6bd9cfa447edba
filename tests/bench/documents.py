#!/usr/bin/env python3
"""A page of a 500-page PDF, in one run with peers: as picture and as text, from
disk and from an HTTP server with latency, ingested and as it lies.

Prints one line a figure: ours, the peer's, the ratio; on the network requests
and bytes too. Peers (PyMuPDF, pypdfium2, pdftoppm; over fsspec on the network)
that are not installed are left out. Needs numpy and pillow.
"""
import argparse
import io
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np
from PIL import Image

from images import Server, compare, over_fsspec, report, run


def make(path, pages):
    """A scan with a line of text a page, each page behind its picture."""
    noise = np.random.default_rng(1).integers(0, 255, (700, 500), np.uint8)
    objects = {1: b"<< /Type /Catalog /Pages 2 0 R >>",
               3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}

    def stream(entries, data):
        return (f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data
                + b"\nendstream")
    kids = []
    for i in range(pages):
        picture = io.BytesIO()
        Image.fromarray(np.roll(noise, i)).save(picture, "JPEG", quality=85)
        at = 4 + 3 * i
        kids.append(f"{at + 2} 0 R")
        objects[at] = stream(
            "/Type /XObject /Subtype /Image /Width 500 /Height 700 "
            "/ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode",
            picture.getvalue())
        objects[at + 1] = stream(
            "", f"q 500 0 0 700 0 0 cm /I Do Q BT /F 30 Tf 40 40 Td (page "
            f"number {i + 1}) Tj ET".encode())
        objects[at + 2] = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 500 700] /Contents "
            f"{at + 1} 0 R /Resources << /Font << /F 3 0 R >> /XObject << /I "
            f"{at} 0 R >> >> >>").encode()
    objects[2] = (f"<< /Type /Pages /Count {pages} /Kids [{' '.join(kids)}] >>"
                  ).encode()
    with open(path, "wb") as out:
        out.write(b"%PDF-1.7\n")
        places = {}
        for number, body in sorted(objects.items()):
            places[number] = out.tell()
            out.write(b"%d 0 obj\n" % number + body + b"\nendobj\n")
        table = out.tell()
        out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
        for number in sorted(objects):
            out.write(b"%010d 00000 n \n" % places[number])
        out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
                  % (len(objects) + 1, table))


def ms(work, items):
    times = []
    for item in items:
        begin = time.perf_counter()
        work(item)
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def reader(row, pattern):
    def read(i):
        with open(f"{row}/{pattern.format(i + 1)}", "rb") as file:
            file.read()
    return read


def with_pdftoppm(source):
    def draw(i):
        subprocess.run(["pdftoppm", "-r", "150", "-png", "-f", str(i + 1), "-l",
                        str(i + 1), source], check=True,
                       stdout=subprocess.DEVNULL)

    def text(i):
        subprocess.run(["pdftotext", "-f", str(i + 1), "-l", str(i + 1), source,
                        "-"], check=True, stdout=subprocess.DEVNULL)
    return draw, text


def with_pdfium(source):
    import pypdfium2

    def document():
        return pypdfium2.PdfDocument(source() if callable(source) else source)

    def draw(i):
        picture = document()[i].render(scale=150 / 72).to_pil()
        picture.save(io.BytesIO(), "png", compress_level=1)

    def text(i):
        document()[i].get_textpage().get_text_bounded()
    return draw, text


def with_mupdf(source):
    import pymupdf

    def draw(i):
        pymupdf.open(source)[i].get_pixmap(dpi=150).tobytes("png")

    def text(i):
        pymupdf.open(source)[i].get_text()
    return draw, text


def peers(source):
    for name, make_peer in (("pdftoppm", with_pdftoppm),
                            ("pypdfium2", with_pdfium), ("PyMuPDF", with_mupdf)):
        if name == "pdftoppm" and not shutil.which(name):
            continue
        try:
            yield name, make_peer(source)
        except ImportError as error:
            print(f"left out: {name} ({error}; pip install {name.lower()})",
                  flush=True)


def local(rowfs, work, count, numbers):
    for kind, source in (("ingested", "data/set.lance"), ("as it lies", "data/in")):
        mount = f"{work}/mount"
        run(rowfs, "mount", f"{work}/{source}", mount, "--cache-dir",
            f"{work}/cache{kind[:2]}")
        try:
            row = mount + "/rows/000000"
            for what, pattern, which in (
                    ("picture", "document.pages/{:04d}.png", 0),
                    ("text", "document.pages/{:04d}.txt", 1)):
                read = reader(row, pattern)
                read(0)
                ours = ms(read, numbers)
                for name, tools in peers(f"{work}/data/in/book.pdf"):
                    tools[which](0)
                    report(f"{what} of a page of {count}, {kind}: {name}", ours,
                           ms(tools[which], numbers))
        finally:
            run(rowfs, "umount", mount)


def count_remote(name, server, work, numbers):
    work(0)
    requests, size = server.requests, server.bytes
    spent = ms(work, numbers)
    requests = (server.requests - requests) / len(numbers)
    size = (server.bytes - size) / len(numbers)
    print(f"{name:48} {spent:8.0f} ms {requests:7.2f} requests "
          f"{size / 1e3:9.1f} kB", flush=True)
    return spent, requests, size


def remote(rowfs, work, numbers):
    server = Server(work + "/data", 0.03)
    ours = {}
    for kind, source in (("ingested", "/set.lance"), ("as it lies", "/in/book.pdf")):
        mount = f"{work}/mount"
        run(rowfs, "mount", server.url() + source, mount, "--cache-dir",
            f"{work}/remote{kind[:2]}")
        try:
            row = mount + "/rows/000000"
            stem = "document" if kind == "ingested" else [
                name for name in os.listdir(row) if name.endswith(".pdf")
            ][0][:-4]
            begin = (time.perf_counter(), server.requests, server.bytes)
            listed = len(os.listdir(f"{row}/{stem}.pages"))
            print(f"{'first listing of the pages, ' + kind:48} "
                  f"{(time.perf_counter() - begin[0]) * 1e3:8.0f} ms "
                  f"{server.requests - begin[1]:7} requests "
                  f"{(server.bytes - begin[2]) / 1e3:9.1f} kB", flush=True)
            assert listed > 0
            for what, extension in (("picture", "png"), ("text", "txt")):
                ours[kind, what] = count_remote(
                    f"{what} of a page 30 ms away, {kind}", server,
                    reader(row, stem + ".pages/{:04d}." + extension), numbers)
        finally:
            run(rowfs, "umount", mount)
    opener = over_fsspec(server.url() + "/in/book.pdf")
    try:
        tools = with_pdfium(opener)
    except ImportError:
        return
    if opener is None:
        return
    for what, tool in zip(("picture", "text"), tools):
        theirs = count_remote(f"{what} of a page, pypdfium2 over fsspec", server,
                              tool, numbers[:4])
        for kind in ("ingested", "as it lies"):
            compare(f"{what}, rowfs {kind}", ours[kind, what], theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    args = parser.parse_args()
    count = 20 if args.smoke else 500
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(work + "/data/in")
        os.mkdir(work + "/mount")
        make(work + "/data/in/book.pdf", count)
        size = os.path.getsize(work + "/data/in/book.pdf")
        print(f"{count} pages, {size / 1e6:.1f} MB", flush=True)
        run(args.rowfs, "ingest", work + "/data/in", "--output",
            work + "/data/set.lance")
        numbers = random.Random(3).sample(range(1, count), 12)
        local(args.rowfs, work, count, numbers)
        remote(args.rowfs, work, numbers)


if __name__ == "__main__":
    main()
