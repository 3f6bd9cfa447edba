#!/usr/bin/env python3
"""1,000 files open and read at once stay inside the memory that --memory
allows: the daemon's peak is read from the kernel."""
import os
import random
import resource
import sys
import threading

from common import Rowfs, Server, blob_of, main, span, stats

STREAMS = 1000
BUDGET = 96 << 20
# The object is a block that repeats, so that its server needs no memory.
BLOCK = random.Random(11).randbytes((1 << 20) - 3)
SIZE = 4 << 30
STEP, STEPS = 128 << 10, 3


def content(begin, end):
    first = begin % len(BLOCK)
    whole = BLOCK[first:] + BLOCK * ((end - begin) // len(BLOCK) + 1)
    return whole[:end - begin]


def serve(handler):
    part = span(handler, SIZE)
    if handler.command == "GET" and part is None:
        part = (0, 0)
    handler.send_response(206 if part else 200)
    if part:
        handler.send_header("Content-Range",
                            f"bytes {part[0]}-{part[1] - 1}/{SIZE}")
    handler.send_header("ETag", '"one"')
    handler.send_header("Content-Length",
                        str(part[1] - part[0] if part else SIZE))
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(content(*part))


def daemon_of(mount):
    """The process that serves it: it says so itself, in its command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"mount" in words and os.fsencode(mount) in words:
            return pid
    raise AssertionError("no daemon")


def memory(pid, name):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
    raise AssertionError(name)


def a_thousand_streams_stay_inside_the_budget(program):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    server = Server(serve)
    with Rowfs(program) as rowfs, rowfs.mount(
            server.url + "/data.png", "--memory", str(BUDGET)) as mount:
        path = blob_of(mount / "rows/000000")
        pid = daemon_of(mount)
        at_rest = memory(pid, "VmHWM")
        files = [os.open(path, os.O_RDONLY) for _ in range(STREAMS)]
        try:
            read_all(mount, files, pid, at_rest)
        finally:
            for file in files:
                os.close(file)


def read_all(mount, files, pid, at_rest):
    wrong = []

    def stream(numbers):
        # Each stream is a pass of its own, with readahead of its own.
        for step in range(STEPS):
            for i in numbers:
                at = i * (SIZE // STREAMS) // 4096 * 4096 + step * STEP
                if os.pread(files[i], STEP, at) != content(at, at + STEP):
                    wrong.append((i, at))

    threads = [threading.Thread(target=stream, args=(
        range(part, STREAMS, 32),)) for part in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
    peak = memory(pid, "VmHWM")
    counted = stats(mount)
    assert counted["rowfs_open_handles"] >= STREAMS, counted
    print(f"  {STREAMS} streams, {STREAMS * STEPS * STEP >> 20} MiB read: "
          f"peak {peak >> 20} MiB, {at_rest >> 20} MiB of it before, "
          f"counted {int(counted['rowfs_memory_bytes']) >> 20} MiB, budget "
          f"{BUDGET >> 20} MiB", flush=True)
    assert counted["rowfs_memory_bytes"] <= BUDGET
    assert peak - at_rest <= BUDGET, (peak, at_rest)


if __name__ == "__main__":
    if float(os.environ.get("ROWFS_SLOWER", "1")) > 1:
        print("skipped: a sanitizer's memory says nothing")
        sys.exit(77)
    main([a_thousand_streams_stay_inside_the_budget])
