"""Writers that die at every system call that writes: killed.py ROWFS STEP.

strace kills `rowfs ingest`, `append`, `commit`, `delete`, `compact` and `gc` at the
first, second, ... write, fsync, link and so on (every STEP-th; 1: all). Afterwards
pylance and rowfs open the old version or the new one, `rowfs verify` finds
nothing, `rowfs gc` removes what is left over and nothing else. Exit 1 when that is not so."""
import os
import shutil
import subprocess
import sys
import tempfile

CALLS = ("write pwrite64 pwritev fsync fdatasync link linkat rename renameat "
         "renameat2 unlink unlinkat mkdir mkdirat ftruncate fallocate").split()
POINTS_MAX = 1000  # of one call: a run that never ends is a mistake here


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=300,
                          check=False)


def make_folder(path, names):
    os.makedirs(path)
    for i, name in enumerate(names):
        with open(f"{path}/{name}", "wb") as file:
            file.write(name.encode() * (1 + 40000 * (i % 2)))
    return path


def names_of(lance, path):
    return sorted(lance.dataset(path).to_table(["file_name"]).column(0)
                  .to_pylist())


def files_of(path):
    return {os.path.relpath(os.path.join(folder, name), path)
            for folder, _, names in os.walk(path) for name in names}


def has_version(path):
    return os.path.isdir(path + "/_versions") and any(
        n.endswith(".manifest") for n in os.listdir(path + "/_versions"))


def check(lance, program, path, old, new):
    """What is wrong with the dataset, if anything; `old` None: there was none."""
    if not has_version(path):
        return "" if old is None else "it is gone"
    got = names_of(lance, path)
    if got not in (old, new):
        return f"rows {got}"
    checked = run(program, "verify", path)
    if checked.returncode:
        return checked.stdout + checked.stderr
    collected = run(program, "gc", path, "--grace", "0")
    if collected.returncode:
        return collected.stderr
    if names_of(lance, path) != got:
        return "gc changed the rows"
    left = [f for f in files_of(path) if f.endswith(".tmp")]
    if left:
        return f"gc left {left}"
    checked = run(program, "verify", path)
    return checked.stdout if checked.returncode else ""


def kill_all(lance, program, base, what, words, original, step):
    """Run `words` on copies of `original`, killed at every STEP-th call."""
    path = f"{base}/d.lance"
    old = None
    if original and has_version(original):
        old = names_of(lance, original)
    shutil.rmtree(path, ignore_errors=True)
    if original:
        shutil.copytree(original, path)
    done = run(program, *words)
    if done.returncode:
        return [f"{what}: {done.stderr}"], 0
    new = names_of(lance, path)
    problems = []
    kills = 0
    for call in CALLS:  # strace counts each apart
        for point in range(1, POINTS_MAX, step):
            shutil.rmtree(path, ignore_errors=True)
            if original:
                shutil.copytree(original, path)
            done = run("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                       f"trace={call}", "-e",
                       f"inject={call}:signal=KILL:when={point}", program,
                       *words)
            problem = check(lance, program, path, old, new)
            if problem:
                problems.append(f"{what} killed at {call} {point}: {problem}")
            if done.returncode == 0:
                break
            kills += 1
    return problems, kills


def main():
    try:
        import lance
    except ImportError:
        print("skipped: no pylance")
        return 77
    if shutil.which("strace") is None or run("strace", "true").returncode:
        print("skipped: no strace, or it may not trace")
        return 77
    program, step = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as base:
        os.environ["XDG_CACHE_HOME"] = base + "/cache"
        first = make_folder(base + "/a", [f"a{i}.txt" for i in range(4)])
        more = make_folder(base + "/b", [f"b{i}.txt" for i in range(3)])
        path = base + "/d.lance"
        run(program, "ingest", first, "--output", base + "/one.lance")
        shutil.copytree(base + "/one.lance", base + "/two.lance")
        run(program, "append", more, "--output", base + "/two.lance")
        run(program, "delete", base + "/two.lance", "--where", "1,5")
        shutil.copytree(base + "/two.lance", base + "/three.lance")
        for name in ("0" * 50, "1" * 50):  # of writers that died
            data = base + "/three.lance/data/"
            left = next(n for n in os.listdir(data) if n.endswith(".lance"))
            shutil.copy(data + left, data + name + ".lance")
        shutil.copytree(base + "/one.lance", base + "/added.lance")
        run(program, "append", more, "--output", base + "/added.lance",
            "--fragments", base + "/more.json")
        for name, folder in (("a", first), ("b", more)):
            run(program, "ingest", folder, "--output", base + "/new.lance",
                "--fragments", f"{base}/{name}.json")
        cases = [
            ("commit", ["commit", path, base + "/more.json"],
             base + "/added.lance"),
            ("first commit", ["commit", path, base + "/a.json",
                              base + "/b.json"], base + "/new.lance"),
            ("ingest", ["ingest", first, "--output", path], None),
            ("append", ["append", more, "--output", path], base + "/one.lance"),
            ("delete", ["delete", path, "--where", "0,2-3"],
             base + "/two.lance"),
            ("compact", ["compact", path], base + "/two.lance"),
            ("gc", ["gc", path, "--grace", "0"], base + "/three.lance")]
        problems = []
        for what, words, original in cases:
            found, kills = kill_all(lance, program, base, what, words,
                                     original, step)
            print(f"{what}: killed {kills} times", flush=True)
            problems += found
    for problem in problems:
        print(problem[:600])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
