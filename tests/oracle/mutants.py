"""Damaged datasets given to the program: mutants.py ROWFS SEEDS.

`verify`, `ls` and `cat metadata.jsonl` of each end with exit code 0 or 1, one
line of error at most, within a second of processor time and 256 MiB. Exit 1
when one does not. (hostile.py compares the values.)"""
import collections
import os
import resource
import shutil
import subprocess
import sys
import tempfile

from same import seeds_of

# A program with sanitizers is slower, and its shadow is memory too.
SLOWER = int(os.environ.get("ROWFS_SLOWER", "1"))
CPU_SECONDS = 1.0 * SLOWER
MEMORY_BYTES = SLOWER * (256 << 20)
KILL_SECONDS = 20 * SLOWER


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (KILL_SECONDS, KILL_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(words):
    """(exit code, error text, CPU seconds, peak bytes)"""
    with tempfile.TemporaryFile() as err:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=err,
                              preexec_fn=limit) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read().decode("utf-8", "replace")
    return (child.returncode, text, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024)


def problem_of(words):
    code, text, seconds, memory = run(words)
    if code < 0:
        return f"signal {-code}"
    if code not in (0, 1):
        return f"exit code {code}: {text}"
    if text.count("\n") > 2:
        return f"{text.count(chr(10))} lines of error"
    if seconds > CPU_SECONDS:
        return f"{seconds:.1f} s"
    if memory > MEMORY_BYTES:
        return f"{memory >> 20} MiB"
    return ""


def main():
    program, shared = sys.argv[1], os.environ["ROWFS_SHARED"]
    sys.path.insert(0, f"{shared}/tools/lance")
    import mutate
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch + "/cache"
        for seed in seeds_of(sys.argv[2]):
            path, what = mutate.mutate(seed, f"{shared}/data/lance-golden",
                                       scratch)
            for words in (["verify", path], ["ls", path, "rows/0"],
                          ["cat", path, "metadata.jsonl"]):
                problem = problem_of([program, *words])
                counts["bad" if problem else "good"] += 1
                if problem:
                    print(f"{seed} {words[0]}: {problem} [{what.get('op')}: "
                          f"{what['base']}: {what['what']}]"[:500], flush=True)
            shutil.rmtree(path)
    print(dict(counts))
    return 1 if counts["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
