#!/usr/bin/env python3
"""A pack of 40,000 members on a web server, counted: requests and bytes to
open it, to read one member, 1,000 random ones and all in order; through the
mount and by blobpack over fsspec, from the same counting server. Needs a Python
with blobpack, fsspec and aiohttp ($ROWFS_PYTHON) for the comparison.
"""
import argparse
import http.server
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import mounts  # noqa: E402


class Counting(http.server.BaseHTTPRequestHandler):
    """One folder of files, with ranges; counts what it sends."""
    protocol_version = "HTTP/1.1"
    folder = ""
    requests = sent = 0
    lock = threading.Lock()

    def do_GET(self):
        path = os.path.join(Counting.folder, os.path.basename(self.path))
        if self.path.rstrip("/") == "/pack":
            links = "".join(f'<a href="/pack/{n}">{n}</a>'
                            for n in os.listdir(Counting.folder))
            return self.answer(200, links.encode(), [("Content-Type",
                                                      "text/html")])
        if not os.path.isfile(path):
            return self.answer(404, b"", [])
        size = os.path.getsize(path)
        wanted = self.headers.get("Range")
        first, last, status = 0, size - 1, 200
        if wanted:
            begin, _, end = wanted.removeprefix("bytes=").partition("-")
            first = int(begin) if begin else max(size - int(end), 0)
            last = min(int(end), last) if begin and end else last
            status = 206
        with open(path, "rb") as file:
            file.seek(first)
            body = file.read(last - first + 1) if self.command == "GET" else b""
        headers = [("ETag", f'"{size}"'), ("Accept-Ranges", "bytes")]
        if wanted:
            headers.append(("Content-Range", f"bytes {first}-{last}/{size}"))
        return self.answer(status, body, headers, last - first + 1)

    do_HEAD = do_GET

    def answer(self, status, body, headers, length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(
            len(body) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        with Counting.lock:
            Counting.requests += 1
            Counting.sent += len(body)

    def log_message(self, *_):
        pass

    @staticmethod
    def take():
        with Counting.lock:
            taken = (Counting.requests, Counting.sent)
            Counting.requests = Counting.sent = 0
        return taken


def ours(rowfs, url, keys, chosen, folder, report):
    mount = folder + "/mnt"
    Counting.take()
    subprocess.run([rowfs, "mount", "--cache-dir", folder + "/cache", url,
                    mount], check=True)
    try:
        path = {k: f"{mount}/rows/{i // 1000:03d}/{i:06d}/{k}"
                if len(keys) > 10_000 else f"{mount}/rows/{i:06d}/{k}"
                for i, k in enumerate(keys)}
        os.listdir(mount + "/rows")
        report("open", Counting.take)
        for name, wanted in chosen.items():
            for key in wanted:
                with open(path[key], "rb") as file:
                    file.read()
            report(name, Counting.take)
    finally:
        subprocess.run([rowfs, "umount", mount], check=True)


PEER = """
import json, sys, blobpack, urllib.request
url, keys = sys.argv[1], json.load(open(sys.argv[2]))
def mark(name):
    urllib.request.urlopen(sys.argv[3] + "/mark-" + name)
packs = blobpack.PackSet(url)
len(packs)
mark("open")
for name, wanted in keys.items():
    if name == "all in order":
        for _ in packs.iter_blobs():
            pass
    else:
        for key in wanted:
            packs.read(key)
    mark(name.replace(" ", "-"))
"""


def theirs(python, host, chosen, folder, report):
    marks = []

    class Marking(Counting):
        def do_GET(self):
            if self.path.startswith("/mark-"):
                marks.append(Counting.take())
                return self.answer(200, b"", [])
            return super().do_GET()

    server = start(Marking)
    pathlib.Path(folder, "keys.json").write_text(json.dumps(chosen))
    host = f"http://127.0.0.1:{server.server_port}"
    Counting.take()
    done = subprocess.run(
        [python, "-c", PEER, host + "/pack", folder + "/keys.json", host],
        capture_output=True, text=True, timeout=max(mounts.seconds_left(), 1))
    server.shutdown()
    if done.returncode:
        raise mounts.Failed(done.stderr.strip().split("\n")[-1])
    for i, (name, counted) in enumerate(zip(["open", *chosen], marks)):
        # The mark before was a request too.
        report(name, lambda: (counted[0] - (i > 0), counted[1]))


def start(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", default="rowfs")
    parser.add_argument("--smoke", action="store_true", help="a small pack")
    args = parser.parse_args()
    count = 2_000 if args.smoke else 40_000
    rowfs = os.path.abspath(shutil.which(args.rowfs) or args.rowfs)
    python = os.environ.get("ROWFS_PYTHON", sys.executable)
    folder = tempfile.mkdtemp(prefix="rowfs-bench-")
    figures, notes = {"rowfs": {}, "blobpack": {}}, []
    try:
        os.makedirs(folder + "/pack")
        mounts.make_pack(folder, count, 5000, set())
        os.rename(folder + "/pack.zip", folder + "/pack/pack-0000.zip")
        Counting.folder = folder + "/pack"
        host = f"http://127.0.0.1:{start(Counting).server_port}"
        keys = [f"{i:07d}.bin" for i in range(count)]
        chosen = {"read 1": keys[count // 3:count // 3 + 1],
                  "read 1,000": random.Random(1).sample(keys, 1000),
                  "all in order": keys}

        def reporter(who):
            begin = [time.monotonic()]

            def report(name, take):
                requests, sent = take()
                figures[who][name] = requests
                figures[who][name + " MB"] = sent / 1e6
                figures[who][name + " s"] = time.monotonic() - begin[0]
                begin[0] = time.monotonic()
            return report

        ours(rowfs, host + "/pack/pack-0000.zip", keys, chosen, folder,
             reporter("rowfs"))
        try:
            theirs(python, host, chosen, folder, reporter("blobpack"))
        except (mounts.Failed, subprocess.TimeoutExpired) as error:
            notes.append(f"blobpack: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    columns = [name + unit for name in ("open", *chosen) for unit in ("", " MB")]
    mounts.print_table(figures, columns, ["blobpack"], notes)


if __name__ == "__main__":
    main()
