"""A plugin that nobody here knows, put beside the program: its views appear in
a mount, and whatever it does wrong (crash, hang, eat memory, answer nonsense,
open a socket or a file) is an error of that one file that says what happened,
while the same mount serves everything else, its other views too."""
import contextlib
import errno
import hashlib
import os
import pathlib
import shutil
import threading

import mounted as m

# What user.rowfs.error of each says. A hang is met twice by the deadline of
# 30 s, so it goes on beside the others.
HANG = ("hang", "gave no answer in time")
MISDEEDS = {
    "crash": "crashed with SIGSEGV", "abort": "SIGABRT",
    "exit": "ended by itself", "memory": "no memory left",
    "oom": "ran out of memory", "socket": "not permitted",
    "file": "not permitted", "fork": "not permitted", "exec": "not permitted",
    "partial": "no output", "baditem": "not asked for", "garbage": "nonsense",
    "scribble": "SIGSEGV", "badlength": "too large",
}


def install(rowfs, folder):
    """The program with the video plugin and the toy; its path."""
    built = pathlib.Path(rowfs).parent
    toy = built / "tests/plugins/toy_plugin.so"
    if not toy.exists():
        m.skip("the toy plugin is not built")
    folder.mkdir()
    for source, name in ((built / "rowfs", "rowfs"),
                         (built / "rowfs-worker", "rowfs-worker"),
                         (built / "rowfs_video.so", "rowfs_video.so"),
                         (toy, "rowfs_toy.so")):
        shutil.copy(source, folder / name)  # a link would lead back
    return folder / "rowfs"


def failure(path):
    """The errno of reading `path`, 0 without, and what its row says of it."""
    try:
        path.read_bytes()
        return 0, ""
    except OSError as error:
        with contextlib.suppress(OSError):
            return error.errno, os.getxattr(path, "user.rowfs.error").decode()
        return error.errno, "no user.rowfs.error"


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    rowfs = install(rowfs, folder / "program")
    media = folder / "media"
    media.mkdir()
    (media / "a.toy").write_text("TOY1 ok\nhello")
    (media / "bad.toy").write_text("TOY1 crash\nhello")
    (media / "note.txt").write_text("note")
    m.make(media / "v.mp4", "-c:v", "libx264", "-g", "5", "-pix_fmt",
           "yuv420p", seconds=1)
    dataset = folder / "set.lance"
    m.run(rowfs, "ingest", media, "--output", dataset)
    with m.mounted(rowfs, dataset, folder / "mnt") as root:
        row = m.row_of(root, "a.toy")
        views = {x.name.partition(".")[2]: x for x in row.iterdir()}
        checks.equal(views["toy"].read_text(), "hello", "the whole file")
        checks.equal(views["upper.txt"].read_text(), "HELLO", "a view")
        checks.equal(len(list(views["letters"].iterdir())), 5, "a folder")
        frames = m.row_of(root, "v.mp4") / "video.frames"

        def others(when):
            number = next(counter)
            checks.equal((views["letters"] / f"{number % 5:06}.txt").read_text(),
                         "hello"[number % 5], f"the toy's letters {when}")
            data = (frames / f"{number:06}.ppm").read_bytes()
            checks.equal(hashlib.md5(data).hexdigest(), expected[number],
                         f"a frame {when}")
            checks.equal((m.row_of(root, "note.txt") / "row.json").exists(),
                         True, f"other rows {when}")

        expected = [hashlib.md5((frames / f"{k:06}.ppm").read_bytes())
                    .hexdigest() for k in range(25)]
        counter = iter(range(25))
        hung = []
        name, why = HANG
        patient = threading.Thread(
            target=lambda: hung.append(failure(views["bad"] / name)))
        patient.start()
        for misdeed, says in MISDEEDS.items():
            code, reason = failure(views["bad"] / misdeed)
            checks.equal(code, errno.EIO, f"{misdeed}: error")
            checks.true(says in reason, f"{misdeed}: says {reason!r}")
            others(f"after {misdeed}")
        patient.join()
        checks.equal(hung[0][0], errno.EIO, "hang: error")
        checks.true(why in hung[0][1], f"hang: says {hung[0][1]!r}")
        others("after hang")
        # The file whose ingest killed the plugin is there as it was.
        own = [x.read_bytes() for x in m.row_of(root, "bad.toy").iterdir()
               if x.is_file()]
        checks.true(b"TOY1 crash\nhello" in own, "what could not be ingested")
    checks.end()


main()
