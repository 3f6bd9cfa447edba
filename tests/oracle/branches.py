"""Branches and tags of pylance's changed by rowfs: branches.py ROWFS. Exit 1
where the two do not agree on what is in them."""
import os
import subprocess
import sys
import tempfile

import pyarrow as pa


def values(ds):
    return ds.to_table(["a"]).column(0).to_pylist()


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    program = sys.argv[1]
    problems = []

    def rowfs(*words):
        done = subprocess.run([program, *words], capture_output=True,
                              text=True, timeout=120, check=False)
        if done.returncode:
            problems.append(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def expect(what, got, want):
        if got != want:
            problems.append(f"{what}: {got}, expected {want}")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        path = folder + "/d.lance"
        main_line = lance.write_dataset(pa.table({"a": range(10)}), path)
        branch = main_line.create_branch("dev/x")
        lance.write_dataset(pa.table({"a": [100, 101]}), branch, mode="append")
        at = path + "@dev/x"
        rowfs("delete", at, "--where", "0,2,11")
        want = [1, *range(3, 10), 100]
        ds = lance.dataset(path)
        expect("deleted", values(ds.checkout_version(("dev/x", None))), want)
        rowfs("tag", "create", at, "before")
        rowfs("compact", at)
        rowfs("tag", "create", path, "start")
        rowfs("gc", path, "--grace", "0")
        ds = lance.dataset(path)
        expect("main line", values(ds), list(range(10)))
        expect("compacted", values(ds.checkout_version(("dev/x", None))), want)
        expect("tagged", values(ds.checkout_version("before")), want)
        expect("tagged", values(ds.checkout_version("start")), list(range(10)))
        ds.tags.update("start", 1)
        expect("tags", rowfs("tag", "list", path).split("\n")[1], "start\tv1")
        for source in (path, at, path + "@before", path + "@start"):
            rowfs("verify", source)
    for problem in problems:
        print(problem[:600])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
