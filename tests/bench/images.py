#!/usr/bin/env python3
"""Regions of a large picture and pages of a long TIFF, in one run with peers.

Makes a tiled JPEG TIFF of 100 megapixels and a TIFF of 500 pages, ingests them,
mounts the dataset from disk and from an HTTP server with latency, and prints
one line a figure: ours, the peer's, the ratio. Peers (tifffile, PIL, pyvips)
that are not installed are left out. Needs numpy and tifffile.
"""
import argparse
import http.server
import os
import random
import subprocess
import tempfile
import threading
import time

import numpy as np
import tifffile


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


class Server(http.server.ThreadingHTTPServer):
    """Files of a folder, ranges, `latency` seconds an answer; counts."""

    def __init__(self, folder, latency):
        self.folder, self.latency = folder, latency
        self.requests = self.bytes = 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        time.sleep(self.server.latency)
        path = self.server.folder + self.path.split("?")[0]
        if not os.path.isfile(path):
            self.send_error(404)
            return
        size = os.path.getsize(path)
        begin, end, code = 0, size, 200
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes="):
            first, last = asked[6:].split("-")
            begin = int(first) if first else max(0, size - int(last))
            end = min(size, int(last) + 1) if first and last else size
            code = 206
        with open(path, "rb") as file:
            file.seek(begin)
            body = file.read(end - begin)
        self.server.requests += 1
        self.send_response(code)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        if code == 206:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.server.bytes += len(body)
            self.wfile.write(body)


def make(folder, side, pages):
    y, x = np.mgrid[0:side, 0:side].astype(np.uint32)
    noise = np.random.default_rng(1).integers(0, 24, (side, side), np.uint8)
    big = np.empty((side, side, 3), np.uint8)
    for c in range(3):
        big[..., c] = (x // (3 + c) + y // (5 - c)).astype(np.uint8) // 2 + noise
    tifffile.imwrite(folder + "/big.tif", big, tile=(256, 256),
                     compression="jpeg", photometric="rgb")
    page = np.ascontiguousarray(big[:700, :500, 0])
    with tifffile.TiffWriter(folder + "/pages.tif") as out:
        for i in range(pages):
            out.write(np.roll(page, i), compression="zlib", photometric="minisblack")


def ms_each(work, items):
    begin = time.perf_counter()
    for item in items:
        work(item)
    return (time.perf_counter() - begin) * 1e3 / len(items)


def report(name, ours, peer, unit="ms"):
    print(f"{name:58} {ours:10.1f} {peer:10.1f} {unit:6} {peer / ours:6.2f} x",
          flush=True)


def region_by_tifffile(open_file):
    def by_tifffile(place):
        x, y = place
        with tifffile.TiffFile(open_file()) as tiff:
            page = tiff.pages[0]
            across = page.imagewidth // 256 + (page.imagewidth % 256 > 0)
            for ty in range(y // 256, (y + 511) // 256 + 1):
                for tx in range(x // 256, (x + 511) // 256 + 1):
                    i = ty * across + tx
                    tiff.filehandle.seek(page.dataoffsets[i])
                    data = tiff.filehandle.read(page.databytecounts[i])
                    page.decode(data, i, jpegtables=page.jpegtables)
    return by_tifffile


def page_by_tifffile(open_file):
    def by_tifffile(i):
        with tifffile.TiffFile(open_file()) as tiff:
            tiff.pages[i].asarray()
    return by_tifffile


def peers_of_regions(path):
    yield "tifffile, tiles by hand", region_by_tifffile(lambda: path)
    try:
        import pyvips

        def by_vips(place):
            image = pyvips.Image.new_from_file(path, access="random")
            image.crop(*place, 512, 512).write_to_memory()
        yield "pyvips", by_vips
    except Exception as error:  # not installed, or without its library
        print(f"left out: pyvips ({error}; pip install pyvips, apt-get install "
              "libvips42)", flush=True)


def peers_of_pages(path):
    yield "tifffile", page_by_tifffile(lambda: path)
    try:
        from PIL import Image

        def by_pil(i):
            with Image.open(path) as image:
                image.seek(i)
                image.load()
        yield "PIL", by_pil
    except ImportError:
        pass


def row_of(mount, name):
    for row in sorted(os.listdir(mount + "/rows")):
        with open(f"{mount}/rows/{row}/file_name.txt") as file:
            if file.read().strip() == name:
                return f"{mount}/rows/{row}"
    raise FileNotFoundError(name)


def reader(folder, pattern):
    def read(item):
        with open(folder + pattern(item), "rb") as file:
            file.read()
    return read


def count_remote(name, server, work, items):
    """Median of what `work` takes of the server, for an item."""
    requests, size = server.requests, server.bytes
    spent = ms_each(work, items)
    requests = (server.requests - requests) / len(items)
    size = (server.bytes - size) / len(items)
    print(f"{name:44} {spent:8.0f} ms {requests:7.2f} requests "
          f"{size / 1e3:9.1f} kB", flush=True)
    return spent, requests, size


def compare(name, ours, theirs):
    print(f"    {name}: " + ", ".join(
        f"{b / max(a, 1e-9):.1f} x {unit}" for a, b, unit in zip(
            ours, theirs, ("faster", "fewer requests", "fewer bytes"))),
        flush=True)


def over_fsspec(url):
    """Opens `url` as a file; None, and says what is missing."""
    try:
        import fsspec
        files = fsspec.filesystem("http")
    except ImportError as error:
        print(f"left out: peers over fsspec ({error}; pip install fsspec "
              "aiohttp)", flush=True)
        return None
    return lambda: files.open(url)


def remote(rowfs, work, places, pages):
    server = Server(work, 0.03)
    mount = work + "/remote"
    run(rowfs, "mount", server.url() + "/data/set.lance", mount, "--cache-dir",
        work + "/cache2")
    try:
        for name, items, pattern in (
                ("region", places, lambda p: ".pages/0001/"
                 f"{p[0]},{p[1]},512,512/max/0/default.ppm"),
                ("page", pages, lambda i: f".pages/{i + 1:04d}.ppm")):
            file = "big.tif" if name == "region" else "pages.tif"
            read = reader(row_of(mount, file) + "/image", pattern)
            read(items[0])
            ours = count_remote(f"{name}, 30 ms away", server, read, items[1:])
            size = os.path.getsize(work + "/in/" + file)
            compare(f"the whole file, {size / 1e6:.1f} MB", ours, (0, 0, size))
            opener = over_fsspec(f"{server.url()}/in/{file}")
            if opener is None:
                continue
            peer = (region_by_tifffile if name == "region" else
                    page_by_tifffile)(opener)
            compare("rowfs", ours, count_remote(
                f"{name}, tifffile over fsspec", server, peer, items[1:5]))
    finally:
        run(rowfs, "umount", mount)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true", help="small and quick")
    args = parser.parse_args()
    side, count = (1500, 20) if args.smoke else (10_000, 500)
    with tempfile.TemporaryDirectory() as work:
        for name in ("in", "data", "local", "remote"):
            os.mkdir(f"{work}/{name}")
        make(work + "/in", side, count)
        run(args.rowfs, "ingest", work + "/in", "--output",
            work + "/data/set.lance")
        random.seed(3)
        places = [(random.randrange(side - 512), random.randrange(side - 512))
                  for _ in range(16)]
        pages = random.sample(range(count), 16)
        mount = work + "/local"
        run(args.rowfs, "mount", work + "/data/set.lance", mount, "--cache-dir",
            work + "/cache")
        try:
            big = reader(row_of(mount, "big.tif") + "/image", lambda p: ".pages/"
                         f"0001/{p[0]},{p[1]},512,512/max/0/default.ppm")
            one = reader(row_of(mount, "pages.tif") + "/image",
                         lambda i: f".pages/{i + 1:04d}.ppm")
            big((0, 0))
            one(0)
            ours = ms_each(big, places)
            for name, work_of in peers_of_regions(work + "/in/big.tif"):
                report(f"region 512x512 of {side}x{side}: rowfs, {name}", ours,
                       ms_each(work_of, places))
            ours = ms_each(one, pages)
            for name, work_of in peers_of_pages(work + "/in/pages.tif"):
                report(f"page of {count}: rowfs, {name}", ours,
                       ms_each(work_of, pages))
        finally:
            run(args.rowfs, "umount", mount)
        remote(args.rowfs, work, places, pages)


if __name__ == "__main__":
    main()
