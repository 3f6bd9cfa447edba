"""Writers of one dataset at the same time: races.py ROWFS ROUNDS.

Each round runs two `rowfs append`, two `rowfs commit`, a `rowfs delete` and a
pylance append at once, and one file of fragments is committed three times: just
one of them succeeds. Afterwards the rows are those of every writer that reported
success, once each, and every version in between can be opened. Exit 1 when one
is not."""
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

import pyarrow as pa


def rowfs(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True,
                          timeout=120, check=False)


def folder_of(base, name, count):
    folder = f"{base}/{name}"
    os.makedirs(folder)
    for i in range(count):
        with open(f"{folder}/{name}-{i}.txt", "w", encoding="utf-8") as file:
            file.write(name)
    return folder


def pylance_append(lance, path, names):
    """Rows like those that `rowfs ingest` made of a folder."""
    schema = lance.dataset(path).schema
    blobs = [f.name for f in schema if f.name != "file_name"]
    columns = {"file_name": pa.array(names, pa.string())}
    for name in blobs:
        columns[name] = lance.blob_array([b"pylance"] * len(names))
    table = pa.table([columns[f.name] for f in schema],
                     schema=pa.schema([schema.field("file_name")] +
                                      [lance.blob_field(n) for n in blobs]))
    lance.write_dataset(table, path, mode="append")


def committed_once(jobs):
    """Of commits of one file one succeeds, the others say so."""
    done = [job.result() for job in jobs]
    lost = [one.stderr for one in done if one.returncode]
    if len(lost) != len(jobs) - 1:
        return f"{len(jobs) - len(lost)} commits of one file succeeded: {lost}"
    for text in lost:
        if "already" not in text:
            return f"one file committed again: {text}"
    return ""


def names_of(lance, path, version=None):
    table = lance.dataset(path, version=version).to_table(["file_name"])
    return table.column(0).to_pylist()


def run_round(lance, program, base, number):
    r = random.Random(number)
    path = f"{base}/{number}.lance"
    first = rowfs(program, "ingest", folder_of(base, f"{number}-start", 4),
                  "--output", path)
    if first.returncode:
        return f"ingest: {first.stderr}"
    want = set(names_of(lance, path))
    doomed = names_of(lance, path)[1]
    added = {w: folder_of(base, f"{number}-{w}", r.randrange(1, 4))
             for w in ("one", "two", "three", "four")}
    staged = {w: f"{base}/{number}-{w}.json" for w in ("three", "four")}
    for who, file in staged.items():
        done = rowfs(program, "append", added[who], "--output", path,
                     "--fragments", file)
        if done.returncode:
            return f"{who}: {done.stderr}"
    theirs = [f"{number}-theirs-{i}" for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = {w: pool.submit(rowfs, program, "commit", path, staged[w])
                if w in staged else
                pool.submit(rowfs, program, "append", folder, "--output", path)
                for w, folder in added.items()}
        again = [pool.submit(rowfs, program, "commit", path, staged["four"])
                 for _ in range(2)]
        jobs["delete"] = pool.submit(rowfs, program, "delete", path + "@v1",
                                     "--where", "1")
        jobs["pylance"] = pool.submit(pylance_append, lance, path, theirs)
    problem = committed_once([jobs.pop("four"), *again])
    if problem:
        return problem
    want |= set(os.listdir(added.pop("four")))
    for who, folder in added.items():
        if jobs[who].result().returncode == 0:
            want |= set(os.listdir(folder))
        else:
            return f"{who}: {jobs[who].result().stderr}"
    if jobs["delete"].result().returncode == 0:
        want.discard(doomed)
    else:
        return f"delete: {jobs['delete'].result().stderr}"
    if jobs["pylance"].exception() is None:
        want |= set(theirs)
    else:
        return f"pylance: {jobs['pylance'].exception()}"
    got = names_of(lance, path)
    if sorted(got) != sorted(want):
        return f"rows {sorted(got)}, expected {sorted(want)}"
    for version in lance.dataset(path).versions():
        names_of(lance, path, version["version"])
    checked = rowfs(program, "verify", path)
    return "" if checked.returncode == 0 else checked.stdout


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    program, rounds = sys.argv[1], int(sys.argv[2])
    bad = 0
    with tempfile.TemporaryDirectory() as base:
        os.environ["XDG_CACHE_HOME"] = base + "/cache"
        for number in range(rounds):
            problem = run_round(lance, program, base, number)
            if problem:
                bad += 1
                print(f"round {number}: {problem}"[:600], flush=True)
    print(f"{rounds - bad} of {rounds} rounds lost nothing")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
