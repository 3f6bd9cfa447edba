"""cp, tar, rsync, a shared mapping and sha256sum agree with stat about every
class of file that a row of media has."""
import hashlib
import mmap
import os
import shutil
import subprocess

import mounted as m


def check(checks, path, scratch):
    name = path.name
    # Rendered files may be estimates before the first open, and no others.
    before = os.stat(path).st_size
    data = path.read_bytes()
    size = os.stat(path).st_size
    if path.suffix not in (".jpg", ".png", ".webp"):
        checks.equal(before, len(data), f"{name}: size before open")
    checks.true(before > 0 or not data, f"{name}: size is not 0")
    checks.equal(size, len(data), f"{name}: size after open")
    digest = hashlib.sha256(data).hexdigest()
    copy = scratch / "copy"
    subprocess.run(["cp", path, copy], check=True)
    checks.true(copy.read_bytes() == data, f"{name}: cp")
    checks.equal(m.run("sha256sum", path).split()[0], digest, f"{name}: sum")
    tar = subprocess.run(["tar", "-C", path.parent, "-cf", scratch / "t.tar",
                          name], capture_output=True, text=True, check=False)
    checks.equal((tar.returncode, tar.stderr), (0, ""), f"{name}: tar")
    out = subprocess.run(["tar", "-xOf", scratch / "t.tar", name],
                         capture_output=True, check=True).stdout
    checks.true(out == data, f"{name}: bytes in tar")
    if shutil.which("rsync"):
        target = scratch / "rsynced"
        for _ in range(2):
            done = subprocess.run(["rsync", "-t", path, target],
                                  capture_output=True, text=True, check=False)
            checks.equal((done.returncode, done.stderr), (0, ""),
                         f"{name}: rsync")
        checks.true(target.read_bytes() == data, f"{name}: rsync bytes")
        target.unlink()
    if data:
        with open(path, "rb") as file, mmap.mmap(
                file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as view:
            checks.true(view[:] == data, f"{name}: mapping")


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    videos = folder / "videos"
    videos.mkdir()
    m.make(videos / "a.mp4", "-f", "lavfi", "-i", "sine=duration=2", "-c:v",
           "libx264", "-g", "10", "-bf", "2", "-pix_fmt", "yuv420p", "-c:a",
           "aac")
    (videos / "b.txt").write_text("text\n")
    (videos / "empty.txt").write_text("")
    (videos / "metadata.jsonl").write_text(
        '{"file_name": "a.mp4", "n": 7, "words": ["x", "y"], "t": ""}\n')
    dataset = folder / "set.lance"
    m.run(rowfs, "ingest", videos, "--output", dataset, "--keep-container")
    scratch = folder / "scratch"
    scratch.mkdir()
    with m.mounted(rowfs, dataset, folder / "mnt") as root:
        row = root / "rows/000000"
        paths = [x for x in row.iterdir() if x.is_file()]
        paths += [root / "metadata.jsonl", root / ".rowfs/schema.json"]
        paths += [x for r in ("000001", "000002")
                  for x in (root / "rows" / r).iterdir()]
        view = "video."
        paths += [row / (view + x) for x in (
            "frames/000003.jpg", "frames/000004.png", "frames/000005.webp",
            "frames/000006.bmp", "frames/000007.ppm", "frames/000008.npy",
            "keyframes/000010.jpg", "gops/000001.mp4", "at/1.5.jpg",
            "at/0:00:01.04.png", "clips/0.5-1.2.mp4")]
        for path in paths:
            check(checks, path, scratch)
        original = row / "video.original.mp4"
        checks.true(original.read_bytes() == (videos / "a.mp4").read_bytes(),
                    "the original is byte for byte the source")
    checks.end()


main()
