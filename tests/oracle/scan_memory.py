"""`rowfs scan` in bounded memory: scan_memory.py ROWFS ROWS.

Tables of narrow rows, of wide ones and of rows that grow suddenly, larger than
what a scan may hold, written as Arrow, Parquet and JSON lines: the peak of the process stays under a limit that
does not depend on the rows. Prints the peaks; exit 1 when one is larger."""
import os
import random
import subprocess
import sys
import tempfile
import time

import pyarrow as pa

# MiB in all: the program itself, batches of 8 MiB on their way through, and for
# Parquet a row group of 64 MiB as it is encoded.
LIMITS = {"arrow": 96, "jsonl": 96, "parquet": 256}


def narrow(rows, r):
    step = 50_000
    for begin in range(0, rows, step):
        keys = range(begin, begin + min(step, rows - begin))
        yield pa.record_batch({
            "i": pa.array([k * 7919 for k in keys]),
            "d": pa.array([k / 7 for k in keys]),
            "s": pa.array([f"value {k} of {k % 77}" for k in keys]),
            "l": pa.array([[k] * (k % 5) for k in keys], pa.list_(pa.int32()))})


def wide(rows, r):
    text = r.randbytes(1 << 20).hex()
    for begin in range(0, max(rows // 10_000, 1)):
        yield pa.record_batch({
            "n": pa.array([begin]),
            "t": pa.array([text[begin % 100:]], pa.large_string())})


def jump(rows, r):
    """Rows of a few bytes, then 600 of a megabyte that compress well."""
    few = min(rows, 30_000)
    yield pa.record_batch({
        "n": pa.array(range(few)),
        "t": pa.array([f"value {k}" for k in range(few)], pa.large_string())})
    text = r.randbytes(500).hex() * 1000
    for k in range(0, 600 if rows > 1 else 0, 20):
        yield pa.record_batch({
            "n": pa.array(range(20)),
            "t": pa.array([f"{k + i} {text}" for i in range(20)],
                          pa.large_string())})


def peak_mib(*words):
    """The high-water mark of a process, read as long as it is there: what
    wait() tells has that of this one in it."""
    process = subprocess.Popen(words)
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                text = file.read()
        except OSError:
            continue
        program = os.path.basename(words[0])
        for line in text.splitlines():
            if line == f"Name:\t{program}":
                program = ""
            if line.startswith("VmHWM:") and not program:
                peak = int(line.split()[1])
        time.sleep(0.002)
    if process.returncode or not peak:
        raise RuntimeError(f"{words}: exit status {process.returncode}")
    return peak / 1024


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    program, rows = sys.argv[1], int(sys.argv[2])
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for name, make in (("narrow", narrow), ("wide", wide),
                           ("jump", jump)):
            path = f"{folder}/{name}.lance"
            schema = next(make(1, random.Random(1))).schema
            lance.write_dataset(pa.RecordBatchReader.from_batches(
                schema, make(rows, random.Random(1))), path)
            for ending, limit in LIMITS.items():
                out = f"{folder}/out.{ending}"
                peak = peak_mib(program, "scan", path, "--output", out)
                size = os.path.getsize(out) >> 20
                os.unlink(out)
                print(f"{name}, {rows} rows, {ending} of {size} MiB: "
                      f"peak {peak:.0f} MiB of {limit}", flush=True)
                bad += peak > limit
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
