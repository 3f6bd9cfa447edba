"""Pictures whose samples are known before a file is written, through the mount.

Usage: picture_layouts.py ROWFS [KIND...]
What picture_kinds.py makes: each looked at as it lies in a folder and again
after ingest. The pages' samples (.npy) or colors (.png) are those that went in,
or what a tool that is not rowfs sees; sizes are what stat says.
"""
import io
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

try:
    import picture_kinds
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

ROWFS = sys.argv[1]


def rowfs(*words):
    done = subprocess.run([ROWFS, *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data), (path, "stat tells another size")
    return data


def colors(png):
    """The samples of a PNG; 16 bits of color as they are."""
    import imagecodecs
    return imagecodecs.png_decode(png)


def close(got, want, bound, what):
    got = np.squeeze(got)
    want = np.squeeze(want)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    if bound is None:
        assert got.dtype == want.dtype, (what, got.dtype, want.dtype)
        assert (got == want).all(), (what, "other samples")
        return
    worst = np.abs(got.astype(float) - want.astype(float)).max()
    assert worst <= bound, (what, worst)


def as_rgb(samples):
    """Gray becomes three colors; alpha stays where it is."""
    if samples.ndim == 2:
        samples = samples[..., None]
    if samples.shape[2] < 3:
        samples = np.dstack([samples[..., :1]] * 3 + [samples[..., 1:]])
    return samples


def seen(frame):
    """What is clear has no color."""
    return frame * (frame[..., 3:] > 0)


def check(kind, row):
    row += "/image"  # of one page nothing is listed before it is asked for
    pages = sorted(os.listdir(row + ".pages"))
    assert len(pages) == len(kind.pages), (len(pages), len(kind.pages))
    for k, want in enumerate(kind.pages):
        page = f"{row}.pages/{k + 1:04d}"
        if kind.way == "npy":
            got = np.load(io.BytesIO(read(page + ".npy")))
            close(got, want, kind.bound, f"page {k + 1}")
        else:
            got = colors(read(page + ".png"))
            want, got = as_rgb(want), as_rgb(got)
            if got.shape[2] == want.shape[2] == 4:
                got, want = seen(got), seen(want)
            close(got[..., :want.shape[2]], want, kind.bound, f"page {k + 1}")
        height, width = got.shape[:2]
        x, y, w, h = width // 3, height // 4, -(-width // 2), -(-height // 3)
        region = np.load(io.BytesIO(read(
            f"{page}/{x},{y},{w},{h}/max/0/default.npy")))
        whole = np.load(io.BytesIO(read(page + ".npy")))
        assert (region == whole[y:y + h, x:x + w]).all(), "a region is not its crop"
    for k, want in enumerate(kind.frames):
        got = np.asarray(Image.open(io.BytesIO(
            read(f"{row}.frames/{k:06d}.png"))).convert("RGBA"))
        close(seen(got), seen(want), kind.bound or 0, f"frame {k}")
    if kind.frames:
        assert len(os.listdir(row + ".frames")) == len(kind.frames)


def check_mount(source, kinds, mount):
    rowfs("mount", source, mount, "--cache-dir", mount + ".cache")
    wrong, seen = 0, set()
    try:
        for row in sorted(os.listdir(mount + "/rows")):
            row = f"{mount}/rows/{row}"
            with open(row + "/file_name.txt") as file:
                name = file.read()
            seen.add(name)
            try:
                check(kinds[name], row)
            except Exception as error:  # the others are looked at all the same
                wrong += 1
                print(f"{os.path.basename(source)}: {name}: {error!r}"[:300])
    finally:
        rowfs("umount", mount)
    for name in set(kinds) - seen:
        print(f"{os.path.basename(source)}: {name}: no row")
        wrong += 1
    return wrong


def main():
    with tempfile.TemporaryDirectory() as work:
        for name in ("files", "m1", "m2"):
            os.mkdir(f"{work}/{name}")
        kinds = picture_kinds.make(work + "/files", sys.argv[2:])
        rowfs("ingest", work + "/files", "--output", work + "/set.lance")
        wrong = check_mount(work + "/files", kinds, work + "/m1")
        wrong += check_mount(work + "/set.lance", kinds, work + "/m2")
    print(f"{len(kinds)} kinds, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
