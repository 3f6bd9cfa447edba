"""Truncated and bit-flipped media in a plain folder: every one lists, fails or
plays by itself, the good ones beside them stay right, and the mount lives."""
import hashlib
import os
import random

import mounted as m

KINDS = {
    "mp4": ["-c:v", "libx264", "-g", "5", "-bf", "2", "-pix_fmt", "yuv420p"],
    "mkv": ["-c:v", "libx264", "-g", "5", "-pix_fmt", "yuv420p"],
    "webm": ["-c:v", "libvpx", "-b:v", "200k", "-g", "5", "-cpu-used", "8"],
    "ts": ["-c:v", "mpeg2video", "-g", "5", "-bf", "1"],
    "avi": ["-c:v", "mpeg4", "-g", "5"],
}
CUTS = (0, 1, 7, 60, 25, 50, 75, 99)  # bytes below 8, then per cent
FLIPS = 6


def variants(name, data, seed):
    rng = random.Random(seed)
    for cut in CUTS:
        size = cut if cut < 8 else len(data) * cut // 100
        yield f"cut{cut}-{name}", data[:size]
    for i in range(FLIPS):
        broken = bytearray(data)
        for _ in range(1 + 3 * i):
            # Heads and indexes sit at both ends; payload in between.
            at = rng.choice([rng.randrange(min(600, len(data))),
                             rng.randrange(len(data)),
                             len(data) - 1 - rng.randrange(min(900, len(data)))])
            broken[at] ^= 1 << rng.randrange(8)
        yield f"flip{i}-{name}", bytes(broken)


def look(row):
    """Reads all there is; the number of files that could not be made."""
    failed = 0
    for entry in sorted(os.listdir(row)):
        path = row / entry
        try:
            if path.is_dir():
                names = sorted(os.listdir(path))
                for name in names[:1] + names[-1:]:
                    data = (path / name).read_bytes()
                    assert len(data) == os.stat(path / name).st_size > 0
            else:
                data = path.read_bytes()
                assert len(data) == os.stat(path).st_size
        except OSError:
            failed += 1
    return failed


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    media = folder / "media"
    media.mkdir()
    for number, (kind, words) in enumerate(KINDS.items()):
        good = media / f"good.{kind}"
        m.make(good, *words, size="64x48", seconds=1, rate=12)
        for name, data in variants(good.name, good.read_bytes(), number):
            (media / name).write_bytes(data)

    def good_frames(root):
        return [hashlib.md5((m.row_of(root, f"good.{kind}") / "video.frames" /
                             f"{k:06}.ppm").read_bytes()).hexdigest()
                for kind in KINDS for k in (0, 5, 11)]

    with m.mounted(rowfs, media, folder / "mnt") as root:
        before = good_frames(root)
        stored = {row.name: (row / "file_name.txt").read_text()
                  for row in (root / "rows").iterdir()}
        for row, name in sorted(stored.items()):
            look(root / "rows" / row)
            # The file itself is there whatever became of its views.
            own = [x.read_bytes() for x in (root / "rows" / row).iterdir()
                   if x.is_file() and not x.name.endswith(".info.json")]
            checks.true((media / name).read_bytes() in own,
                        f"{name}: the file as it is")
        checks.equal(good_frames(root), before, "frames of the good files")
    dataset = folder / "set.lance"
    m.run(rowfs, "ingest", media, "--output", dataset)
    with m.mounted(rowfs, dataset, folder / "mnt") as root:
        checks.equal(good_frames(root), before, "the same when ingested")
        for row in sorted((root / "rows").iterdir()):
            look(row)
    checks.end()


main()
