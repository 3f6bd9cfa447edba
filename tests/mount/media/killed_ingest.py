"""kill -9 at every system call of an ingest that writes: there is no dataset or
the whole of it, and the same command again completes it."""
import json
import re
import shutil
import subprocess

import mounted as m

CALLS = ("openat,mkdir,mkdirat,write,pwrite64,writev,pwritev,fsync,fdatasync,"
         "link,linkat,rename,renameat,renameat2,unlink,unlinkat,ftruncate,"
         "fallocate")
POINTS_MAX = 40


def ingest(rowfs, source, output, *strace):
    return subprocess.run(
        [*strace, rowfs, "ingest", source, "--output", output, "--json",
         "--verify", "off"],
        capture_output=True, text=True, timeout=120, check=False)


def info(rowfs, output):
    done = subprocess.run([rowfs, "info", output, "--json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def tree(rowfs, output):
    names = subprocess.run([rowfs, "ls", output, "rows/000000/video.frames"],
                           capture_output=True, text=True, check=True).stdout
    text = subprocess.run([rowfs, "cat", output, "rows/000001/row.json"],
                          capture_output=True, text=True, check=True).stdout
    return names, text


def points(log):
    """(call, how many of it came before and with it) of each that writes."""
    counts = {}
    for line in log.splitlines():
        found = re.match(r"(?:\d+ +)?(\w+)\((.*)", line)
        if not found:
            continue
        call, rest = found.groups()
        counts[call] = counts.get(call, 0) + 1
        if call != "openat" or "O_CREAT" in rest:
            yield call, counts[call]


def main():
    rowfs, folder = m.start()
    if shutil.which("strace") is None:
        m.skip("there is no strace")
    checks = m.Checks()
    source = folder / "in"
    source.mkdir()
    m.make(source / "a.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p",
           size="64x48", seconds=1)
    (source / "b.txt").write_text("hello\n")
    output = folder / "out.lance"
    log = folder / "strace"
    traced = ingest(rowfs, source, output, "strace", "-o", log, "-e",
                    f"trace={CALLS}")
    if traced.returncode != 0:
        m.skip("strace cannot trace here: " + traced.stderr[:200])
    expected = tree(rowfs, output)
    checks.true(ingest(rowfs, source, output).returncode == 1,
                "a finished dataset is not written again")
    all_points = list(points(log.read_text()))
    step = max(1, len(all_points) // POINTS_MAX)
    # All of the end, where the version is made, and some of what is before.
    chosen = all_points[:-20:step] + all_points[-20:]
    whole = 0
    for call, number in chosen:
        where = f"killed at {call} {number} of {len(all_points)}"
        shutil.rmtree(output)
        killed = ingest(rowfs, source, output, "strace", "-o", "/dev/null",
                        "-e", f"trace={call}", "-e",
                        f"inject={call}:signal=KILL:when={number}")
        checks.true(killed.returncode != 0, where + ": it was killed")
        found = info(rowfs, output) if output.exists() else None
        is_whole = found is not None and found["format"] == "lance"
        whole += is_whole
        # An empty folder of no dataset is all else there may be.
        rows = 0 if found is None else found["rows"]
        checks.equal(rows, 2 if is_whole else 0, where + ": rows")
        output.mkdir(exist_ok=True)
        ended = is_whole and not (output / "_unfinished_ingest").exists()
        again = ingest(rowfs, source, output)
        checks.equal(again.returncode, 1 if ended else 0,
                     where + ": again: " + again.stderr)
        checks.equal(tree(rowfs, output), expected, where + ": the tree")
        checks.equal(ingest(rowfs, source, output).returncode, 1,
                     where + ": and a third time")
    print(f"{len(chosen)} kills, {whole} behind the commit")
    checks.true(0 < whole < len(chosen), "kills before and behind the commit")
    checks.end()


main()
