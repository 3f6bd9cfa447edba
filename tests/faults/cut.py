#!/usr/bin/env python3
"""A network that is cut, every packet dropped, and comes back: no wrong byte,
no error to readers that are patient, reading goes on within 3 s. In a network
of its own, so that nothing else is cut. ROWFS_CUT_SECONDS (8) says how long;
60 is what is promised."""
import errno
import os
import random
import shutil
import subprocess
import sys
import threading
import time

from common import Rowfs, Server, blob_of, main, skip, span

SECONDS = float(os.environ.get("ROWFS_CUT_SECONDS", "8"))
READERS = 16
SIZE = 16 << 20
DATA = random.Random(9).randbytes(SIZE)
RESUMES_IN = 3.0 * float(os.environ.get("ROWFS_SLOWER", "1"))


def serve(handler):
    part = span(handler, SIZE)
    handler.send_response(206 if part else 200)
    if part:
        handler.send_header("Content-Range",
                            f"bytes {part[0]}-{part[1] - 1}/{SIZE}")
    handler.send_header("ETag", '"one"')
    body = DATA[slice(*part)] if part else DATA
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(body)


def nft(text):
    subprocess.run(["nft", text], check=True)


class Cut:
    """Drops what goes to and comes from a port of this network."""

    def __init__(self, port):
        self.port = port

    def begin(self):
        nft("add table inet cut")
        nft("add chain inet cut way { type filter hook input priority 0; }")
        for side in ("dport", "sport"):
            nft(f"add rule inet cut way tcp {side} {self.port} counter drop")

    def dropped(self):
        text = subprocess.run(["nft", "list", "table", "inet", "cut"],
                              capture_output=True, text=True).stdout
        words = text.split()
        return sum(int(words[i + 1]) for i, word in enumerate(words)
                   if word == "packets")

    def end(self):
        nft("delete table inet cut")


class Reader(threading.Thread):
    """Reads at random and compares until it is told to stop."""

    def __init__(self, path, seed):
        super().__init__(daemon=True)
        self.path, self.choose = path, random.Random(seed)
        self.stopping, self.errors, self.wrong = False, [], None
        self.ends = []  # when reads ended well

    def run(self):
        file = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        while not self.stopping:
            at = self.choose.randrange(SIZE - 4096)
            try:
                got = os.pread(file, 4096, at)
            except OSError as error:
                self.errors.append(error.errno)
                continue
            if not got or not DATA[at:at + 4096].startswith(got):
                self.wrong = at
                return
            self.ends.append(time.monotonic())
        os.close(file)


def reading_goes_on_soon_after_a_cut(program):
    server = Server(serve)
    cut = Cut(server.server_address[1])
    # Blocks are small in number: readers must not live off the cache.
    with Rowfs(program) as rowfs, rowfs.mount(
            server.url + "/data.png", "--memory", str(2 << 20)) as mount:
        path = blob_of(mount / "rows/000000")
        shutil.rmtree(rowfs.cache, ignore_errors=True)
        readers = [Reader(path, seed) for seed in range(READERS)]
        for reader in readers:
            reader.start()
        time.sleep(1)
        cut.begin()
        begin = time.monotonic()
        time.sleep(min(2, SECONDS / 2))
        # What needs no network does not stand behind it.
        listed = time.monotonic()
        subprocess.run(["ls", "-lR", mount / "rows"], check=True, timeout=20,
                       capture_output=True)
        listed = time.monotonic() - listed
        while time.monotonic() < begin + SECONDS:
            time.sleep(0.05)
        dropped = cut.dropped()
        cut.end()
        healed = time.monotonic()
        time.sleep(RESUMES_IN + 1)
        for reader in readers:
            reader.stopping = True
        for reader in readers:
            reader.join(10)
        late = [min((end for end in reader.ends if end > healed),
                    default=healed + 99) - healed for reader in readers]
        errors = {number for reader in readers for number in reader.errors}
        print(f"  cut for {SECONDS:.0f} s, {dropped} packets dropped, readers "
              f"go on after {min(late):.2f} to {max(late):.2f} s, "
              f"{sum(len(r.errors) for r in readers)} errors, "
              f"ls in the cut {listed * 1e3:.0f} ms", flush=True)
        assert dropped > 0, "the cut never fired"
        assert all(reader.wrong is None for reader in readers)
        assert errors <= {errno.EIO, errno.ETIMEDOUT}, errors
        if SECONDS < 80:  # a read is tried for 90 s
            assert not errors, errors
        assert max(late) <= RESUMES_IN, late
        assert path.read_bytes() == DATA


if __name__ == "__main__":
    if shutil.which("nft") is None or shutil.which("ip") is None:
        skip("no nft or ip (Debian: nftables iproute2)")
    if os.environ.get("ROWFS_CUT_INSIDE") != "1":
        inside = ["unshare", "--net", "sh", "-c",
                  'ip link set lo up && exec "$@"', "sh", sys.executable,
                  *sys.argv]
        if subprocess.run(inside[:4] + ["true"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            skip("no network namespaces here (root is needed)")
        os.environ["ROWFS_CUT_INSIDE"] = "1"
        os.execvp(inside[0], inside)
    main([reading_goes_on_soon_after_a_cut])
