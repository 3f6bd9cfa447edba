"""What the tests of this folder share: sample videos, mounts, the program.

Each test runs as `NAME.py ROWFS`; exit 77 means skipped. Needs ffmpeg and, for
mounts, /dev/fuse (with ROWFS_REQUIRE_FUSE set it has to be there)."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = "bicubic+accurate_rnd+full_chroma_int+bitexact"


def run(*words, **more):
    """The output of a program that has to succeed."""
    done = subprocess.run([str(w) for w in words], capture_output=True,
                          text=True, timeout=240, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: "
                 f"{done.stderr.strip()}")
    return done.stdout


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def start():
    """The program under test and a scratch folder."""
    if shutil.which("ffmpeg") is None:
        skip("there is no ffmpeg")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        if os.environ.get("ROWFS_REQUIRE_FUSE"):
            sys.exit(f"/dev/fuse: {error}")
        skip(f"/dev/fuse: {error}")
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="rowfs-cache-")
    return os.path.abspath(sys.argv[1]), pathlib.Path(
        tempfile.mkdtemp(prefix="rowfs-media-"))


def make(path, *words, size="160x120", seconds=2, rate=25):
    """A sample video; `words` choose codec and options."""
    run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
        f"testsrc2=size={size}:rate={rate}:duration={seconds}", *words, path)


def shared_media():
    """Files of the shared sample folder, if there is one."""
    shared = os.environ.get("ROWFS_SHARED", "../shared")
    folder = pathlib.Path(shared) / "data/media"
    return sorted(folder.iterdir()) if folder.is_dir() else []


@contextlib.contextmanager
def mounted(rowfs, source, point, *options):
    run(rowfs, "mount", source, point, *options)
    try:
        yield pathlib.Path(point)
    finally:
        run(rowfs, "umount", point)


def counters(root):
    """Requests and bytes of blob data since the mount."""
    text = (root / ".rowfs/stats").read_text()
    return tuple(
        int(re.search(rf'rowfs_store_{what}_total{{store="[a-z0-9]+",'
                      r'kind="data"} (\d+)', text).group(1))
        for what in ("requests", "bytes"))


def row_of(root, name):
    """The folder of the row whose file_name is `name`."""
    for row in sorted((root / "rows").iterdir()):
        if (row / "file_name.txt").read_text() == name:
            return row
    sys.exit(f"no row is of {name}")


def only(folder, suffix):
    """The one entry of `folder` that ends in `suffix`; None without one."""
    found = [x for x in folder.iterdir() if x.name.endswith(suffix)]
    return found[0] if found else None


class Checks:
    """Collects what is wrong, so that one run shows all of it."""

    def __init__(self):
        self.bad = []
        self.count = 0

    def equal(self, got, expected, what):
        self.count += 1
        if got != expected:
            self.bad.append(f"{what}: {str(got)[:200]}, not "
                            f"{str(expected)[:200]}")

    def true(self, value, what):
        self.equal(bool(value), True, what)

    def end(self):
        for line in self.bad[:40]:
            print("WRONG", line)
        print(f"{self.count} checks, {len(self.bad)} wrong")
        sys.exit(1 if self.bad else 0)
