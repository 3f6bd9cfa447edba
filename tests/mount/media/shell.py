"""What a shell sees: closed and full streams, no home, exit codes, names."""
import errno
import os
import subprocess

import mounted as m


def call(words, **more):
    return subprocess.run([str(w) for w in words], text=True, timeout=60,
                          check=False, **more)


def check_streams(checks, rowfs, source, point):
    """Nobody has to lend us a terminal, and nothing is lost in silence."""
    closing = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh"]
    done = call([*closing, rowfs, "mount", source, point])
    checks.equal(done.returncode, 0, "mount with closed streams")
    checks.true((point / "rows/000000/row.json").read_bytes(), "and it works")
    m.run(rowfs, "umount", point)
    done = call([*closing, rowfs, "cat", source, "rows/000000/row.json"])
    checks.equal(done.returncode, 1, "cat with closed streams")
    for words in (["info", source], ["--help"], ["ls", source],
                  ["cat", source, "rows/000000/row.json"]):
        with open("/dev/full", "wb") as full:
            done = call([rowfs, *words], stdout=full, stderr=subprocess.PIPE)
        checks.equal((done.returncode, done.stderr.count("\n")), (1, 1),
                     f"{words[0]} on a full disk")


def check_home(checks, rowfs, source, point):
    """No folder to keep indexes in costs time and nothing else."""
    bare = {k: v for k, v in os.environ.items()
            if k not in ("HOME", "XDG_CACHE_HOME")}
    for environment in (bare, bare | {"HOME": "/proc/none"}, bare |
                        {"HOME": ""}, bare | {"HOME": "relative"}):
        done = call([rowfs, "ls", source, "rows/000000/video.frames"],
                    env=environment, capture_output=True)
        checks.equal((done.returncode, done.stderr, done.stdout.count("\n")),
                     (0, "", 20), f"ls with HOME={environment.get('HOME')}")
    m.run(rowfs, "mount", source, point, env=bare)
    checks.true("--cache-dir" in (point / ".rowfs/log").read_text(),
                "the log says that indexes are not kept")
    m.run(rowfs, "umount", point)


def check_outputs(checks, rowfs, source, folder):
    """A file goes where it was told to, or nowhere."""
    frame = [rowfs, "extract-frame", folder / "set.lance", "--column", "video",
             "--row", "0"]
    done = call([*frame, "--frame", "0", "--output", folder / "no/x.png"],
                capture_output=True)
    checks.equal((done.returncode, done.stderr.count("\n")), (1, 1),
                 "a file in a folder that is not there")
    checks.true(not (folder / "no").exists(), "which is not made")
    m.run(*frame, "--from", "0", "--to", "0.2", "--output", folder / "a/b")
    checks.equal(len(list((folder / "a/b").iterdir())), 4, "a window's folder")
    for name in ("x.jpeg", "x.JPG"):
        m.run(*frame, "--frame", "0", "--output", folder / name)
        checks.equal((folder / name).read_bytes()[:2], b"\xff\xd8", name)
    done = call([rowfs, "scan", source, "--output", folder / "no/x.jsonl"],
                capture_output=True)
    checks.equal(done.returncode, 1, "scan into a folder that is not there")


def check_tree(checks, rowfs, source, root):
    """`rowfs ls` gives the names of the mount; a listed file has an inode of
    its own."""
    for path in ("", "rows", "rows/000000", "rows/000000/video.frames"):
        names = m.run(rowfs, "ls", source, path).split("\n")[:-1]
        checks.equal(sorted(names), sorted(os.listdir(root / path)),
                     f"ls {path}")
    inodes, broken = {}, []
    for folder, _, names in os.walk(root / "rows", onerror=broken.append):
        for name in [".", *names]:
            inodes.setdefault(os.stat(os.path.join(folder, name)).st_ino,
                              []).append(os.path.join(folder, name))
    checks.equal([x for x in inodes.values() if len(x) > 1], [], "inodes")
    checks.equal(broken, [], "every folder opens, of a silent film too")


def check_object(checks, source, path):
    """The attributes say where in the source the bytes of a file are."""
    get = lambda name: os.getxattr(path, f"user.rowfs.{name}").decode()
    checks.true(not os.path.isabs(get("object")), "a path inside the source")
    data = (source / get("object")).read_bytes()[int(get("offset")):]
    checks.equal(data[:int(get("length"))], path.read_bytes(), "those bytes")


def check_gone(checks, root, videos):
    """A file that is listed and cannot be had is EIO, with a line in the
    log."""
    (videos / "b.txt").unlink()
    path = root / "rows/000001/file.bin"
    if not path.exists():
        path = next(x for x in (root / "rows/000001").iterdir()
                    if x.name.startswith("file."))
    try:
        path.read_bytes()
        number = 0
    except OSError as error:
        number = error.errno
    checks.equal(number, errno.EIO, "a file that is gone")
    checks.true("b.txt" in (root / ".rowfs/log").read_text(), "is in the log")


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    videos = folder / "videos"
    videos.mkdir()
    m.make(videos / "a.mp4", "-c:v", "libx264", "-g", "10", "-pix_fmt",
           "yuv420p", seconds=1, rate=20)
    (videos / "b.txt").write_text("text\n" * 20_000)
    m.run(rowfs, "ingest", videos, "--output", folder / "set.lance")
    point = folder / "mnt"
    check_streams(checks, rowfs, videos, point)
    check_home(checks, rowfs, videos, point)
    check_outputs(checks, rowfs, videos, folder)
    with m.mounted(rowfs, videos, point) as root:
        check_tree(checks, rowfs, videos, root)
        check_object(checks, videos, root / "rows/000000/video.mp4")
        path = root / "rows/000000/row.json"
        checks.true("user.rowfs.etag" in os.listxattr(path), "an etag")
        checks.equal(path.stat().st_mtime_ns, videos.stat().st_mtime_ns,
                     "files are as old as the source")
        check_gone(checks, root, videos)
    # The text is longer than what an inline blob may be.
    with m.mounted(rowfs, folder / "set.lance", point) as root:
        check_object(checks, folder / "set.lance",
                     next((root / "rows/000001").glob("file.*")))
    checks.end()


if __name__ == "__main__":
    main()
