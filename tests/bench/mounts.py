#!/usr/bin/env python3
"""Mounts of datasets on S3, of one fragment and of 1,000: what they cost cold
and warm to the first listing, file and frame; and how fast large and small
files come, beside curl."""
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import remote  # noqa: E402


def many_fragments(rig, count):
    """A row a fragment: the clip with its index in the column beside it, as an
    ingest of one stores it."""
    import lance
    import pyarrow
    clips = rig.folder / "one"
    remote.common.make_clips(clips, 1, seconds=4)
    local = rig.folder / "one.lance"
    rig.rowfs.run("ingest", clips, "--output", local, "--layout", "column")
    one = lance.dataset(str(local))
    index = one.to_table(columns=["video__blob_info"])["video__blob_info"]
    data = (clips / "clip000.mp4").read_bytes()
    schema = one.schema
    fields, columns = [], []
    for field in schema:
        if field.name == "video":
            fields.append(lance.blob_field("video"))
            columns.append(lance.blob_array([data] * count))
        elif field.name == "video__blob_info":
            fields.append(field)
            columns.append(pyarrow.array([index[0].as_py()] * count, field.type))
        else:
            fields.append(pyarrow.field(field.name, pyarrow.string()))
            columns.append(pyarrow.array([f"{i}.mp4" for i in range(count)]))
    lance.write_dataset(
        pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields)),
        "s3://bkt/many.lance", storage_options=rig.pylance(True),
        data_storage_version="2.2", max_rows_per_file=1)


def mount(rig, source, what):
    row = "rows/000007" if "1,000" in what else "rows/000000"
    rig.rowfs.fresh_cache()
    for turn in ("cold", "warm"):
        rig.take()
        with rig.rowfs.mount(source) as folder:
            steps = [("mount", lambda: None),
                     ("ls of a row", lambda: os.listdir(folder / row)),
                     ("first blob", lambda: (folder / row / "video.mp4"
                                             ).read_bytes()),
                     ("first frame", lambda: (
                         folder / row / "video.at/1.0.png").read_bytes())]
            total = rounds = 0
            for name, step in steps:
                begin = time.perf_counter()
                step()
                ms = (time.perf_counter() - begin) * 1e3
                log = rig.take()
                total += len(log)
                rounds += remote.common.rounds(log)
                print(f"{rig.latency_ms:3} ms  {what}, {turn}: {name:14}"
                      f"{len(log):4} requests {remote.common.rounds(log):3} "
                      f"rounds {sum(e[4] for e in log):10,} B {ms:8.1f} ms",
                      flush=True)
        if turn == "warm":
            rig.at_most(f"{what}: requests of a warm mount to the first frame",
                        total, 1)
        else:
            rig.at_most(f"{what}: rounds of a cold mount to the first frame",
                        rounds, 6)


def throughput(rig, smoke):
    """One file of 1 GiB, cold: cat through the mount, and eight curls."""
    size = (64 if smoke else 1024) << 20
    path = rig.folder / "big.bin"
    with open(path, "wb") as file:
        block = random.Random(1).randbytes(8 << 20)
        for _ in range(size // len(block)):
            file.write(block)
    rig.s3.upload_file(str(path), "bkt", "big/big.png")
    path.unlink()
    rig.latency(0)
    url = f"http://{rig.server.host}/bkt/big/big.png"
    ours, theirs = [], []
    for _ in range(1 if smoke else 3):
        # Straight to the server: this is about bytes.
        part = size // 8
        begin = time.perf_counter()
        curls = [subprocess.Popen(
            ["curl", "-s", "-o", "/dev/null", "-r",
             f"{i * part}-{(i + 1) * part - 1}", url]) for i in range(8)]
        assert not any([curl.wait() for curl in curls])
        theirs.append(time.perf_counter() - begin)
        with rig.upstream():
            rig.rowfs.fresh_cache()
            with rig.rowfs.mount("s3://bkt/big") as folder:
                blob = folder / "rows/000000/image.png"
                if not blob.exists():
                    blob = remote.common.blob_of(folder / "rows/000000")
                begin = time.perf_counter()
                subprocess.run(["dd", f"if={blob}", "of=/dev/null", "bs=1M",
                                "status=none"], check=True)
                ours.append(time.perf_counter() - begin)
    best = min(theirs) / min(ours)
    print(f"  0 ms  {size >> 20} MiB: rowfs {size / min(ours) / 1e6:,.0f} MB/s, "
          f"eight ranged curls {size / min(theirs) / 1e6:,.0f} MB/s", flush=True)
    rig.at_least("one cold file: speed by eight ranged curls'", best, 0.9, "x")


def members(rig, smoke):
    """64 readers of members of 20 kB of a pack, each once, at random."""
    count = 640 if smoke else 6400
    folder = rig.folder / "photos"
    folder.mkdir()
    choose = random.Random(2)
    for i in range(count):
        (folder / f"{i:05d}.jpg").write_bytes(
            b"\xff\xd8\xff\xe0" + choose.randbytes(20_000))
    rig.rowfs.run("blobpack", "pack", folder, rig.folder / "pack")
    for path in (rig.folder / "pack").iterdir():
        if path.is_file():
            rig.s3.upload_file(str(path), "bkt", f"pack/{path.name}")
    shards = sorted(p.name for p in (rig.folder / "pack").glob("*.zip"))
    sizes = {name: (rig.folder / "pack" / name).stat().st_size
             for name in shards}
    for latency in ([0] if smoke else [5, 30]):
        rig.latency(latency)
        rig.rowfs.fresh_cache()
        with rig.rowfs.mount("s3://bkt/pack") as mounted:
            rows = [mounted / "rows" / name
                    for name in sorted(os.listdir(mounted / "rows"))]
            paths = [str(remote.common.blob_of(row)) for row in rows]
            choose.shuffle(paths)
            rig.take()
            ours = rig.bare_files(64, paths)
            log = [e for e in rig.take() if e[0] == "GET"]
        ranges = []
        for _ in range(len(paths)):
            at = choose.randrange(sizes[shards[0]] - 20_000)
            ranges.append((at, at + 20_004))
        theirs = rig.bare_reads(64, f"pack/{shards[0]}", ranges)
        assert ours["bytes"] == len(paths) * 20_004
        print(f"{latency:3} ms  {len(paths)} members of 20 kB, 64 readers: rowfs "
              f"{ours['ms']:,.0f} ms, {len(log)} requests; bare libcurl "
              f"{theirs['ms']:,.0f} ms, {theirs['reads']}", flush=True)
        rig.at_least(f"members: speed by bare libcurl's at {latency} ms",
                     theirs["ms"] / ours["ms"], 0.9, "x")


def bench(rig, smoke):
    clips = rig.folder / "few"
    remote.common.make_clips(clips, 3, seconds=4)
    rig.ingest(clips, "few.lance", "--verify", "off")
    fragments = 20 if smoke else 1000
    try:
        many_fragments(rig, fragments)
    except ImportError:
        fragments = 0
        print("no pylance: no dataset of many fragments")
    for latency in ([0] if smoke else [0, 30]):
        rig.latency(latency)
        mount(rig, "s3://bkt/few.lance", "1 fragment")
        if fragments:
            mount(rig, "s3://bkt/many.lance", f"{fragments:,} fragments")
    throughput(rig, smoke)
    members(rig, smoke)


if __name__ == "__main__":
    remote.run(bench)
