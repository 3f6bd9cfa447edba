"""Workers at the same time, one commit: fragments.py ROWFS.

Three processes write parts of a table, and of a folder in the column layout,
with --fragments; `rowfs commit` publishes them. pylance must read what the
inputs hold, in order, of the new dataset and after more rows were committed to
a dataset with stable row ids that pylance made. Exit 1 when it does not."""
import os
import random
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

WORKERS = 3


def check(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(words)}: {done.stderr}{done.stdout}")


def work(program, verb, inputs, path, *options):
    """Their files of fragments; all workers run at once."""
    files = [f"{path}.{verb}.{i}.json" for i in range(len(inputs))]
    jobs = [subprocess.Popen([program, verb, source, "--output", path,
                              "--fragments", file, *options],
                             stdout=subprocess.DEVNULL)
            for source, file in zip(inputs, files)]
    for job in jobs:
        if job.wait(timeout=120):
            raise AssertionError(f"{verb}: exit code {job.returncode}")
    return files


def part_of(seed):
    r = random.Random(seed)
    count = r.randrange(500, 3000)
    return pa.table({
        "id": pa.array([seed * 10000 + i for i in range(count)]),
        "text": pa.array([None if r.random() < .1 else "x" * r.randrange(9)
                          for _ in range(count)]),
        "list": pa.array([[r.random()] * r.randrange(4) for _ in range(count)],
                         pa.list_(pa.float32()))})


def tables(lance, program, base):
    parts = [part_of(seed) for seed in range(WORKERS)]
    sources = [f"{base}/{i}.parquet" for i in range(WORKERS)]
    for part, source in zip(parts, sources):
        pq.write_table(part, source)
    want = pa.concat_tables(parts)
    path = base + "/table.lance"
    check(program, "commit", path, *work(program, "ingest", sources, path))
    got = lance.dataset(path)
    assert got.version == 1 and got.to_table().to_pydict() == want.to_pydict()

    path = base + "/stable.lance"
    lance.write_dataset(parts[0], path, enable_stable_row_ids=True,
                        data_storage_version="2.2")
    check(program, "commit", path, *work(program, "append", sources, path))
    got = lance.dataset(path)
    want = pa.concat_tables([parts[0], want])
    table = got.to_table(with_row_id=True)
    assert got.version == 2
    assert table.drop(["_rowid"]).to_pydict() == want.to_pydict()
    assert table["_rowid"].to_pylist() == list(range(want.num_rows))
    check(program, "verify", path)


def folders(lance, program, base):
    want = []
    sources = []
    for worker in range(WORKERS):
        sources.append(f"{base}/folder{worker}")
        os.makedirs(sources[-1])
        for i in range(4):  # inline, packed and dedicated
            name, data = f"{worker}{i}.bin", os.urandom(1 + i ** 9 * 300)
            want.append((name, data))
            with open(f"{sources[-1]}/{name}", "wb") as file:
                file.write(data)
    path = base + "/folder.lance"
    files = work(program, "ingest", sources, path, "--layout", "column")
    check(program, "commit", path, *files)
    got = lance.dataset(path)
    names = got.to_table(["file_name"]).column(0).to_pylist()
    blobs = [blob.read() for blob in
             got.take_blobs("file", indices=list(range(len(want))))]
    assert list(zip(names, blobs)) == want, names
    check(program, "verify", path)


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    with tempfile.TemporaryDirectory() as base:
        os.environ["XDG_CACHE_HOME"] = base + "/cache"
        tables(lance, sys.argv[1], base)
        folders(lance, sys.argv[1], base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
