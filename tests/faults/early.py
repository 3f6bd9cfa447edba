#!/usr/bin/env python3
"""A long tar that was never looked through: usable before it is. The server
holds back what lies behind a gate. Without /dev/fuse skipped."""
import concurrent.futures
import http.server
import io
import os
import pathlib
import re
import tarfile
import threading
import time

from common import Rowfs, main, stats

SAMPLES = 16_000
BYTES = 3000


def payload(i):
    return b"%08d" % i * (BYTES // 8)


def make_tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(SAMPLES):
            for suffix, data in (("jpg", payload(i)), ("cls", b"%d" % (i % 7))):
                about = tarfile.TarInfo(f"s/{i:06d}.{suffix}")
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
    return out.getvalue()


def begin_waits(request):
    match = re.match(r"bytes=(\d+)-", request.headers["Range"] or "")
    return (request.command == "GET" and match is not None
            and int(match[1]) >= Gated.gate)


class Gated(http.server.BaseHTTPRequestHandler):
    """One tar; ranges that begin behind `gate` wait until it opens."""
    protocol_version = "HTTP/1.1"
    tar = b""
    gate = 0
    opened = threading.Event()

    def do_GET(self):
        if begin_waits(self):
            Gated.opened.wait(60)
        data = Gated.tar
        if not data:
            self.send_error(404)
            return
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"] or "")
        begin = int(match[1]) if match else 0
        end = min(int(match[2] or len(data)) + 1, len(data)) if match else len(
            data)
        self.send_response(206 if match else 200)
        if match:
            self.send_header("Content-Range",
                             f"bytes {begin}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"t1"')
        self.end_headers()
        if self.command == "GET":
            try:
                self.wfile.write(data[begin:end])
            except OSError:
                pass

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve(gate_share):
    Gated.tar = Gated.tar or make_tar()
    Gated.gate = int(len(Gated.tar) * gate_share)
    Gated.opened = threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gated)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/train.tar"


def tree(mount, rows):
    """Names, sizes and numbers of files and folders."""
    seen = {}
    for row in rows:
        for path in (f"rows/{row // 1000:03d}", f"rows/{row // 1000:03d}/{row:06d}",
                     f"rows/{row // 1000:03d}/{row:06d}/{row:06d}.jpg"):
            about = os.lstat(mount / path)
            seen[path] = (about.st_ino, about.st_size, about.st_mode)
    return seen


def rows_are_there_before_the_index(program):
    url = serve(0.6)
    with Rowfs(program) as rowfs:
        begin = time.monotonic()
        with rowfs.mount(url) as mount, \
                concurrent.futures.ThreadPoolExecutor(4) as pool:
            print(f"  up in {time.monotonic() - begin:.2f} s")
            assert sorted(os.listdir(mount)) == [
                ".rowfs", "by", "metadata.jsonl", "rows", "select"]
            early = tree(mount, (0, 42, 3000))
            for i in (0, 42, 3000):
                row = mount / f"rows/{i // 1000:03d}/{i:06d}"
                assert sorted(os.listdir(row)) == [
                    f"{i:06d}.cls", f"{i:06d}.jpg", "row.json"]
                assert (row / f"{i:06d}.jpg").read_bytes() == payload(i)
                assert (row / f"{i:06d}.cls").read_bytes() == b"%d" % (i % 7)
            assert os.readlink(mount / "rows/42") == "000/000042"
            counted = stats(mount)
            done = counted['rowfs_index_bytes{state="done"}']
            assert 0 < done < counted['rowfs_index_bytes{state="all"}'], counted
            assert counted["rowfs_index_rows"] > 3000
            # What is not known yet waits, and stalls nothing.
            late = pool.submit((mount / "rows/015/015999/015999.jpg").read_bytes)
            json = pool.submit((mount / "rows/000/000042/row.json").read_bytes)
            listing = pool.submit(os.listdir, mount / "rows")
            time.sleep(0.5)
            assert not (late.done() or json.done() or listing.done())
            assert (mount / "rows/000/000007/000007.cls").read_bytes() == b"0"
            Gated.opened.set()
            assert late.result(60) == payload(15999)
            assert b'"__key__": "s/000042"' in json.result(60)
            assert sorted(listing.result(60)) == [f"{n:03d}" for n in range(16)]
            assert not os.path.exists(mount / "rows/16000")
            assert tree(mount, (0, 42, 3000)) == early
        with rowfs.mount(url) as mount:
            # With its index kept, and another process: the same tree.
            assert tree(mount, (0, 42, 3000)) == early
            assert "rowfs_index_rows" not in stats(mount)


def it_can_be_unmounted_while_it_is_looked_through(program):
    url = serve(0.5)
    with Rowfs(program) as rowfs:
        with rowfs.mount(url) as mount, \
                concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert (mount / "rows/0/000000.cls").read_bytes() == b"0"
            Gated.opened.set()
            del pool
        assert not list(pathlib.Path(rowfs.cache).glob("*.tmp"))


def a_tar_that_breaks_off_says_so(program):
    url = serve(0.5)
    whole = Gated.tar
    with Rowfs(program) as rowfs, rowfs.mount(url) as mount:
        assert (mount / "rows/0/000000.cls").read_bytes() == b"0"
        # The server forgets the tar: what waits for its rest fails at once.
        Gated.tar = b""
        Gated.opened.set()
        try:
            (mount / "rows/15999").stat()
            assert False, "a row that nobody found"
        except OSError as error:
            print("  ", error)
        assert (mount / "rows").is_dir()
    Gated.tar = whole


if __name__ == "__main__":
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise SystemExit(77)
    main([rows_are_there_before_the_index,
          it_can_be_unmounted_while_it_is_looked_through,
          a_tar_that_breaks_off_says_so])
