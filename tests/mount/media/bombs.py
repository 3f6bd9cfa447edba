"""Bombs, loops and lying counts beside good files: each is served as it is, and
its views give what they can or EIO with the reason, within the time of two
deadlines and the memory of a worker; the good ones stay right, the daemon small.

ROWFS_BOMBS=all adds what only deadlines of half a minute end."""
import errno
import hashlib
import os
import shutil
import subprocess
import time

import bomb_files
import mounted as m
import processes

SLOWER = int(os.environ.get("ROWFS_SLOWER") or 1)
SECONDS = 75 * SLOWER  # a file, at most: two deadlines of 30 s and what is around
DAEMON_KB = 400 << 10
WORKER_KB = 2200 << 10


def reason(path):
    try:
        return os.getxattr(path, "user.rowfs.error").decode()
    except OSError:
        return ""


def attempt(checks, name, path):
    """Reads `path`: bytes of the size told, or EIO and why."""
    begin = time.monotonic()
    try:
        data = path.read_bytes()
        checks.equal(os.stat(path).st_size, len(data), f"{name}: size of {path.name}")
    except OSError as error:
        checks.true(error.errno in (errno.EIO, errno.ENOENT, errno.EINVAL),
                    f"{name}: {path.name}: {error}")
        if error.errno == errno.EIO:
            # Where nothing below it can be found, the view folder says why.
            checks.true(any(reason(p) for p in (path, *path.parents[:5])),
                        f"{name}: says why {path.name} failed")
    spent = time.monotonic() - begin
    checks.true(spent < SECONDS, f"{name}: {path.name} took {spent:.0f} s")


def look(checks, root, name):
    row = m.row_of(root, name)
    begin = time.monotonic()
    for entry in sorted(row.iterdir()):
        if not entry.is_dir() or entry.name.endswith((".at", ".tiles")):
            continue
        try:
            names = sorted(os.listdir(entry))
        except OSError as error:
            checks.equal(error.errno, errno.EIO, f"{name}: {entry.name}")
            checks.true(reason(entry), f"{name}: says why {entry.name} failed")
            continue
        for item in names[:1] + names[-1:]:
            attempt(checks, name, entry / item)
    stem = next(x.name.split(".")[0] for x in row.iterdir()
                if x.name not in ("row.json", "file_name.txt"))
    if stem in ("image", "document"):
        attempt(checks, name, row / f"{stem}.pages/0001.png")
        attempt(checks, name, row / f"{stem}.pages/0001/0,0,8,8/max/0/default.png")
    spent = time.monotonic() - begin
    print(f"{name}: {spent:.1f} s")


def good_files(folder):
    tone = ("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
            "sine=frequency=500:duration=2")
    for kind, codec in (("flac", "flac"), ("m4a", "aac"), ("wav", "pcm_s16le")):
        m.run(*tone, "-c:a", codec, folder / f"good.{kind}")
    m.run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
          "testsrc2=size=300x200:duration=1:rate=1", "-frames:v", "1",
          folder / "good.png")
    m.run("convert", folder / "good.png", "-compress", "lzw", folder / "good.tif")
    return {kind: (folder / f"good.{kind}").read_bytes() for kind in ("flac", "m4a")}


def right(root):
    """What the good files give."""
    paths = [m.row_of(root, f"good.{kind}") / "audio.segments/000001.wav"
             for kind in ("flac", "m4a", "wav")]
    paths += [m.row_of(root, f"good.{kind}") / "image.pages/0001.png"
              for kind in ("png", "tif")]
    return [hashlib.md5(path.read_bytes()).hexdigest() for path in paths]


def main():
    rowfs, folder = m.start()
    if shutil.which("convert") is None:
        m.skip("there is no ImageMagick")
    checks = m.Checks()
    media = folder / "media"
    media.mkdir()
    bomb_files.make(media, good_files(media), os.environ.get("ROWFS_BOMBS") == "all")
    names = sorted(x.name for x in media.iterdir() if x.stem != "good")
    checks.true(all((media / n).stat().st_size < 3 << 20 for n in names), "small")
    dataset = folder / "set.lance"
    begin = time.monotonic()
    subprocess.run([rowfs, "ingest", media, "--output", dataset], check=True,
                   timeout=600 * SLOWER, stdout=subprocess.DEVNULL)
    print(f"ingest of {len(names)} bombs: {time.monotonic() - begin:.0f} s")
    before = None
    for source in (media, dataset):
        with m.mounted(rowfs, source, folder / "mnt") as root:
            daemon = processes.daemon_of(folder / "mnt")
            if before is None:
                before = right(root)
            checks.equal(right(root), before, f"good files of {source.name}")
            for name in names:
                look(checks, root, name)
                own = [x for x in m.row_of(root, name).iterdir() if x.is_file()]
                checks.true(own, f"{name}: a file of its own")
                worst = max([processes.peak_kb(w)
                             for w in processes.workers_of(daemon)] + [0])
                checks.true(worst < WORKER_KB, f"{name}: a worker took {worst} kB")
            checks.equal(right(root), before, f"good files of {source.name} later")
            most = processes.peak_kb(daemon)
            checks.true(most < DAEMON_KB, f"the daemon took {most} kB")
            print(f"daemon: {most} kB at most")
    checks.end()


if __name__ == "__main__":
    main()
