"""What a mount asks of the store, counted in .rowfs/stats: nothing for ls, stat
and the head of the playable file, one range for a frame, exactly the bytes from
its key frame to it, and one for each of ten frames."""
import os

import mounted as m


def walk(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        info = os.lstat(path)
        if os.path.isdir(path) and not os.path.islink(path):
            walk(path)
        assert info.st_size >= 0


def size_of(ranges):
    pairs = [r.split("-") for r in ranges.split()]
    return sum(int(end) - int(begin) for begin, end in pairs)


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    (folder / "videos").mkdir()
    m.make(folder / "videos/a.mp4", "-f", "lavfi", "-i", "sine=duration=40",
           "-c:v", "libx264", "-g", "25", "-bf", "2", "-pix_fmt", "yuv420p",
           "-c:a", "aac", size="320x240", seconds=40)
    dataset = folder / "set.lance"
    m.run(rowfs, "ingest", folder / "videos", "--output", dataset)
    with m.mounted(rowfs, dataset, folder / "mnt") as root:
        row = root / "rows/000000"
        walk(row)
        checks.equal(m.counters(root), (0, 0), "ls and stat of everything")
        with open(row / "video.mp4", "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            head = os.pread(file.fileno(), 8192, 0)
        checks.equal(head[4:8], b"ftyp", "the playable head")
        checks.true(b"moov" in head, "the index lies in the head")
        checks.equal(m.counters(root), (0, 0), "the playable head")
        (row / "video.info.json").read_text()
        checks.equal(m.counters(root), (0, 0), "info.json")
        frames = row / "video.frames"
        for k in (37, 512, 60, 999, 250, 251, 700, 24, 800, 130):
            path = frames / f"{k:06}.jpg"
            ranges = os.getxattr(path, "user.rowfs.range").decode()
            requests, size = m.counters(root)
            path.read_bytes()
            again = m.counters(root)
            checks.equal(again[0] - requests, len(ranges.split()),
                         f"requests for frame {k}")
            checks.equal(len(ranges.split()), 1, f"ranges of frame {k}")
            checks.equal(again[1] - size, size_of(ranges),
                         f"bytes for frame {k}")
            path.read_bytes()
            checks.equal(m.counters(root), again, f"frame {k} again")
    checks.end()


main()
