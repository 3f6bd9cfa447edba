#!/usr/bin/env python3
"""A web server that lies, against 16 verifying readers a fault: right bytes or
one clear error, never wrong ones; after the fault everything is readable."""
import collections
import errno
import os
import random
import socket
import struct
import threading
import time
import zlib

from common import Rowfs, Server, blob_of, main, skip, span

READERS = 16
SECONDS = float(os.environ.get("ROWFS_FAULT_SECONDS", "1"))
SIZE = 24 << 20
ALLOWED = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EACCES}
DATA = random.Random(1).randbytes(SIZE)
OTHER = DATA[::-1]


class Liar:
    """Serves DATA; while `fault` is set every third request meets it, but no
    range more than twice: whoever asks again gets an answer."""

    def __init__(self):
        self.fault, self.fired, self.count = None, 0, 0
        self.lies = collections.Counter()
        self.etag = '"one"'
        self.lock = threading.Lock()
        self.server = Server(self.answer)
        self.url = self.server.url + "/data.png"

    def answer(self, handler):
        with self.lock:
            self.count += 1
            key = handler.headers.get("Range")
            meets = (self.fault is not None and self.count % 3 == 0 and
                     handler.command == "GET" and self.lies[key] < 2)
            self.fired += meets
            self.lies[key] += meets
        part = span(handler, SIZE)
        if handler.path.startswith("/loop"):
            return self.redirect(handler, self.server.url + "/loop")
        if meets:
            return self.fault(self, handler, part or (0, SIZE))
        self.reply(handler, part)

    def reply(self, handler, part, body=None, said=None, status=206,
              headers=(), cut=None, etag=None):
        body = DATA[slice(*part)] if body is None and part else body
        handler.send_response(status if part else 200)
        if part:
            said = said or part
            handler.send_header(
                "Content-Range", f"bytes {said[0]}-{said[1] - 1}/{SIZE}")
        handler.send_header("ETag", etag or self.etag)
        for name, value in headers:
            handler.send_header(name, value)
        length = SIZE if body is None else len(body)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        if handler.command == "HEAD":
            return
        body = DATA if body is None else body
        handler.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            handler.close_connection = True

    def redirect(self, handler, target):
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


# ---- faults: (liar, handler, part)

def short_body(liar, handler, part):
    liar.reply(handler, part, cut=max(0, part[1] - part[0] - 7))


def reset(liar, handler, part):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
    liar.reply(handler, part, cut=(part[1] - part[0]) // 2)


def hang_up(liar, handler, part):
    handler.close_connection = True


def wrong_range(liar, handler, part):
    moved = (part[0] + 1, min(SIZE, part[1] + 1))
    liar.reply(handler, moved)


def lying_range(liar, handler, part):
    """Other bytes under the right label, one too few."""
    liar.reply(handler, part, body=DATA[part[0] + 1:part[1]])


def whole_object(liar, handler, part):
    liar.reply(handler, None)


def extra_bytes(liar, handler, part):
    liar.reply(handler, part, body=DATA[slice(*part)] + b"more")


def endless(liar, handler, part):
    handler.send_response(206)
    handler.send_header("Content-Range",
                        f"bytes {part[0]}-{part[1] - 1}/{SIZE}")
    handler.send_header("ETag", liar.etag)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(200):
        handler.wfile.write(bytes(65536))


def gzip_coded(liar, handler, part):
    liar.reply(handler, part, body=zlib.compress(DATA[slice(*part)]),
               headers=[("Content-Encoding", "gzip")])


def wrong_total(liar, handler, part):
    body = DATA[slice(*part)]
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes {part[0]}-{part[1] - 1}/9")
    handler.send_header("ETag", liar.etag)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def other_version(liar, handler, part):
    """One answer of another version, as an inconsistent mirror gives it."""
    liar.reply(handler, part, body=OTHER[slice(*part)], etag='"two"')


def status_503(liar, handler, part):
    handler.send_response(503)
    handler.send_header("Retry-After", "0")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def status_429(liar, handler, part):
    handler.send_response(429)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def status_403(liar, handler, part):
    handler.send_response(403)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def slow_drip(liar, handler, part):
    body = DATA[slice(*part)]
    handler.send_response(206)
    handler.send_header("Content-Range",
                        f"bytes {part[0]}-{part[1] - 1}/{SIZE}")
    handler.send_header("ETag", liar.etag)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    step = max(1, len(body) // 20)
    for at in range(0, len(body), step):
        handler.wfile.write(body[at:at + step])
        time.sleep(0.01)


def redirect_loop(liar, handler, part):
    liar.redirect(handler, liar.server.url + "/loop")


def redirect_scheme(liar, handler, part):
    liar.redirect(handler, "file:///etc/passwd")


def login_page(liar, handler, part):
    liar.reply(handler, None, body=b"<html>sign in</html>")


def garbage(liar, handler, part):
    handler.wfile.write(b"\x16\x03\x01 not http at all\r\n\r\n")
    handler.close_connection = True


FAULTS = [short_body, reset, hang_up, wrong_range, lying_range, whole_object,
          extra_bytes, endless, gzip_coded, wrong_total, other_version,
          status_503, status_429, status_403, slow_drip,
          redirect_loop, redirect_scheme, login_page, garbage]
# What better answers follow is no error to the reader.
HEALED = {short_body, reset, hang_up, status_503, status_429, slow_drip,
          wrong_range, garbage}


def read_for(path, seconds, seed, errors):
    """Read at random and compare; errors are counted by number."""
    choose, end = random.Random(seed), time.monotonic() + seconds
    reads = 0
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    while time.monotonic() < end:
        size = choose.choice([1, 100, 4096, 20_000, 70_000])
        at = choose.randrange(SIZE)
        try:
            got = os.pread(file, size, at)
        except OSError as error:
            errors.append(error.errno)
            continue
        want = DATA[at:at + size]
        # A read may end early at a page that could not be had.
        assert got and want.startswith(got), ("wrong bytes", at, size)
        reads += 1
    os.close(file)
    return reads


def sixteen(path, seconds, errors):
    failures = []

    def one(seed):
        try:
            read_for(path, seconds, seed, errors)
        except BaseException as error:  # shown by the caller
            failures.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def each_fault_gives_right_bytes_or_an_error(program):
    for fault in FAULTS:
        liar, errors = Liar(), []
        with Rowfs(program) as rowfs, rowfs.mount(liar.url) as mount:
            path = blob_of(mount / "rows/000000")
            assert os.stat(path).st_size == SIZE
            liar.fault = fault
            sixteen(path, SECONDS, errors)
            assert liar.fired > 0, f"{fault.__name__} never fired"
            assert set(errors) <= ALLOWED, (fault.__name__, set(errors))
            if fault in HEALED:
                assert not errors, (fault.__name__, len(errors))
            liar.fault = None
            after = []
            sixteen(path, 0.2, after)
            assert not after, (fault.__name__, "errors after the fault", after)
            # The rest of the tree never minded.
            assert (mount / "rows/000000/row.json").read_bytes()
        print(f"  {fault.__name__}: {liar.fired} met, {len(errors)} errors",
              flush=True)


def an_object_that_changes_is_stale_for_good(program):
    liar = Liar()
    with Rowfs(program) as rowfs, rowfs.mount(liar.url) as mount:
        path = blob_of(mount / "rows/000000")
        with open(path, "rb", buffering=0) as file:
            assert os.pread(file.fileno(), 100, 0) == DATA[:100]
            liar.etag = '"two"'
            try:
                os.pread(file.fileno(), 100, SIZE // 2)
                raise AssertionError("bytes of another version")
            except OSError as error:
                assert error.errno == errno.ESTALE, error
            # What was read before stays what it was.
            assert os.pread(file.fileno(), 100, 0) == DATA[:100]
        assert "has changed" in (mount / ".rowfs/log").read_text()


def a_reader_is_killed_at_once_and_ls_goes_on(program):
    import subprocess
    liar = Liar()
    hold = threading.Event()

    def hang(liar, handler, part):
        hold.wait(60)
        handler.close_connection = True

    with Rowfs(program) as rowfs, rowfs.mount(liar.url) as mount:
        path = blob_of(mount / "rows/000000")
        liar.fault = hang
        readers = [subprocess.Popen(
            ["dd", f"if={path}", "of=/dev/null",
             "bs=4k", "count=1", f"skip={100 + i * 400}"],
            stderr=subprocess.DEVNULL) for i in range(12)]
        while liar.fired == 0:
            time.sleep(0.05)
        # Names and what is in memory do not stand behind the network.
        ls = subprocess.run(["ls", "-lR", mount / "rows"], timeout=30,
                            capture_output=True, check=True)
        assert path.name.encode() in ls.stdout
        for reader in readers:
            reader.kill()
        for reader in readers:
            reader.wait(timeout=30)
        liar.fault = None
        hold.set()


class Folder:
    """Serves a folder; while `fault` is set every GET of an object whose path
    holds `victim` meets it."""

    def __init__(self, folder, victim):
        self.folder, self.victim = folder, victim
        self.fault, self.fired, self.etag = None, 0, '"one"'
        self.server = Server(self.answer)

    def answer(self, handler):
        path = self.folder / handler.path.lstrip("/")
        if not path.is_file():
            handler.send_response(404)
            handler.send_header("Content-Length", "0")
            return handler.end_headers()
        data = path.read_bytes()
        part = span(handler, len(data))
        meets = (self.fault is not None and handler.command == "GET" and
                 self.victim in handler.path and
                 not (self.fault in ENDURED and self.fired > 1))
        self.fired += meets
        if meets:
            # The faults above know one object, of SIZE bytes.
            return self.fault(self, handler, part or (0, len(data)))
        return self.reply(handler, part, data)

    def reply(self, handler, part, data=None, body=None, **lies):
        if data is None:  # a fault
            return Liar.reply(self, handler, part, body, **lies)
        body = data[slice(*part)] if part else data
        handler.send_response(206 if part else 200)
        if part:
            handler.send_header("Content-Range",
                                f"bytes {part[0]}-{part[1] - 1}/{len(data)}")
        handler.send_header("ETag", f'"{zlib.crc32(data)}"')
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body)

    redirect = Liar.redirect


def names_do_not_depend_on_the_network(program):
    """The kind of these blobs, and so their name, is seen from their first
    bytes. A row whose bytes cannot be had now has no name until they can."""
    try:
        import lance
        import pyarrow
    except ImportError:
        skip("no pylance (set ROWFS_PYTHON)")
    with Rowfs(program) as rowfs:
        cells = [b"\x89PNG\r\n\x1a\n" + DATA[i:i + 200_000] for i in range(6)]
        lance.write_dataset(pyarrow.table({
            "id": range(6), "pic": lance.blob_array(cells)}),
            str(rowfs.folder / "p.lance"), data_storage_version="2.2")
        folder = Folder(rowfs.folder, ".blob")
        source = folder.server.url + "/p.lance"
        names = sorted(os.listdir(rowfs.folder / "p.lance"))
        healthy = sorted(rowfs.run("ls", rowfs.folder / "p.lance",
                                   "rows/000000").stdout.decode().split())
        assert "pic.png" in healthy, (healthy, names)
        faults = [short_body, reset, hang_up, wrong_range, lying_range,
                  extra_bytes, wrong_total, status_503, status_429, garbage,
                  endless, whole_object, gzip_coded, status_403, login_page]
        for fault in faults:
            rowfs.fresh_cache()
            with rowfs.mount(source) as mount:
                folder.fault, folder.fired = fault, 0
                for row in range(2):
                    path = mount / f"rows/{row:06d}"
                    try:
                        shown = sorted(os.listdir(path))
                    except OSError as error:
                        assert error.errno in ALLOWED, (fault, error)
                    else:
                        # Only what a server refuses is shown without a name.
                        assert fault in REFUSED or shown == healthy, (
                            fault.__name__, shown)
                assert folder.fired, f"{fault.__name__} never fired"
                folder.fault = None
                for row in range(6):
                    path = mount / f"rows/{row:06d}"
                    shown = sorted(os.listdir(path))
                    assert shown == healthy, (fault.__name__, shown)
                    assert (path / "pic.png").read_bytes() == cells[row]
                assert b"pic.png" in (mount / "metadata.jsonl").read_bytes()
            print(f"  {fault.__name__}: {folder.fired} met", flush=True)


# Answers that may be the last word of a server that knows what it does.
REFUSED = {whole_object, gzip_coded, status_403, login_page}
# As if nobody were there: asked again for longer than a test may take.
ENDURED = {hang_up, garbage}


if __name__ == "__main__":
    main([each_fault_gives_right_bytes_or_an_error,
          names_do_not_depend_on_the_network,
          an_object_that_changes_is_stale_for_good,
          a_reader_is_killed_at_once_and_ls_goes_on])
