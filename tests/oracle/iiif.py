"""Every form of an IIIF Image API 3 request through the mount, next to Pillow.

Usage: iiif.py ROWFS
A request is read from three stored forms of one picture (JPEG in bands after
ingest, TIFF in tiles, PNG whole) and from a page of a PDF; what Pillow cuts,
turns and scales has to be the same: exactly where nothing is scaled, nearly
where the filter is ours to choose. What is malformed is EINVAL or ENOENT, and a
request by two names is one file.
"""
import errno
import io
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

ROWFS = sys.argv[1]
WIDTH, HEIGHT = 203, 117

# Region -> the box of the picture, as the API tells (4.1).
REGIONS = {
    "full": (0, 0, WIDTH, HEIGHT), "square": (43, 0, 160, 117),
    "0,0,50,40": (0, 0, 50, 40), "31,17,80,70": (31, 17, 111, 87),
    "150,100,500,500": (150, 100, WIDTH, HEIGHT),  # cut at the edge
    "202,116,1,1": (202, 116, 203, 117), "0,116,203,1": (0, 116, 203, 117),
    "pct:0,0,100,100": (0, 0, WIDTH, HEIGHT), "pct:25,50,50,25": (51, 59, 153, 88),
    "pct_10,10,20,20": (20, 12, 61, 35), "pct:12.5,12.5,25.25,30.5":
    (25, 15, 76, 51)}
# Size -> what becomes of w x h; None: an error (4.2).
SIZES = {
    "max": lambda w, h: (w, h), "^max": lambda w, h: (w, h),
    "40,": lambda w, h: (40, near(h * 40 / w)) if w >= 40 else None,
    "^400,": lambda w, h: (400, near(h * 400 / w)),
    ",30": lambda w, h: (near(w * 30 / h), 30) if h >= 30 else None,
    "^,300": lambda w, h: (near(w * 300 / h), 300),
    "pct:50": lambda w, h: (near(w / 2), near(h / 2)),
    "^pct:150": lambda w, h: (near(w * 1.5), near(h * 1.5)),
    "20,35": lambda w, h: (20, 35) if w >= 20 and h >= 35 else None,
    "^220,350": lambda w, h: (220, 350),
    "!60,60": lambda w, h: fit(w, h, 60, 60) if w > 60 or h > 60 else (w, h),
    "^!300,300": lambda w, h: fit(w, h, 300, 300)}
TURNS = {"0": 0, "90": 90, "180": 180, "270": 270, "360": 0, "!0": 0, "!90": 90,
         "!180": 180, "!270": 270}
QUALITIES = ("default", "color", "gray", "bitonal")
BAD = ("full/max/0/default.gif", "full/max/0/sepia.png", "full/max/45x/default.png",
       "full/max/-90/default.png", "full/max/361/default.png",
       "full/max/!/default.png", "full/0,/0/default.png", "full/,0/0/default.png",
       "full/,/0/default.png", "full/pct:0/0/default.png",
       "full/pct:101/0/default.png", "full/204,/0/default.png",
       "full/,118/0/default.png", "full/204,117/0/default.png",
       "full/!10,/0/default.png", "full/^/0/default.png", "full/-5,/0/default.png",
       "full/9999999999,/0/default.png", "full/^99999,99999/0/default.png",
       "full/max/0/default", "full/max/0/.png", "203,0,5,5/max/0/default.png",
       "0,117,5,5/max/0/default.png", "0,0,0,5/max/0/default.png",
       "0,0,5,0/max/0/default.png", "0,0,5/max/0/default.png",
       "0,0,5,5,5/max/0/default.png", "-1,0,5,5/max/0/default.png",
       "a,0,5,5/max/0/default.png", "pct:0,0,0,50/max/0/default.png",
       "pct:100,0,5,5/max/0/default.png", "pct:,0,5,5/max/0/default.png",
       "full/max/0/default.png/more", "Full/max/0/default.png", "full/MAX/0/a.png",
       "0x10,0,5,5/max/0/default.png", "1e1,0,5,5/max/0/default.png",
       " 0,0,5,5/max/0/default.png", "full/max/0 /default.png")


def near(value):
    return max(1, int(value + 0.5))


def fit(w, h, bw, bh):
    by_width = bw * h <= bh * w
    return (bw, min(bh, near(h * bw / w))) if by_width else (
        min(bw, near(w * bh / h)), bh)


def rowfs(*words):
    done = subprocess.run([ROWFS, *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)


def picture():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return Image.fromarray(np.stack([
        127 + 120 * np.sin(x / 23), 127 + 120 * np.cos(y / 17),
        (x + y) * 255 / (WIDTH + HEIGHT)], -1).astype(np.uint8))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data), "stat tells another size"
    return data


def expected(page, box, size, turn, mirror):
    want = page.crop(box)
    if size != want.size:
        want = want.resize(size, Image.BOX if size[0] < want.width
                           else Image.BILINEAR)
    if mirror:
        want = want.transpose(Image.FLIP_LEFT_RIGHT)
    return want.rotate(-turn, expand=True) if turn else want


def compare(page, folder, request, bound):
    region, size, turn, last = request
    box = REGIONS[region]
    path = "/".join((folder, *request))
    to = SIZES[size](box[2] - box[0], box[3] - box[1])
    if to is None:
        return refuse(path)
    got = Image.open(io.BytesIO(read(path)))
    want = expected(page, box, to, TURNS[turn], turn[0] == "!")
    assert got.size == want.size, (got.size, want.size)
    if last.startswith(("gray", "bitonal")):
        assert got.mode in ("L", "1"), got.mode
        want = want.convert("L")
    if last.startswith("bitonal"):
        assert set(np.unique(np.asarray(got.convert("L")))) <= {0, 255}
        return None
    difference = np.abs(np.asarray(got.convert(want.mode)).astype(int)
                        - np.asarray(want).astype(int))
    scaled = to != (box[2] - box[0], box[3] - box[1])
    if last.endswith((".jpg", ".webp")):
        # Seldom read: how far a lossy format is off is not ours to say.
        assert difference.mean() < 12, difference.mean()
    elif scaled:
        # A page is not scaled but drawn smaller.
        assert difference.mean() < (6 if bound else 3), difference.mean()
    else:
        limit = max(bound, 1 if last.startswith("gray") else 0)
        assert difference.max() <= limit, difference.max()
    return None


def refuse(path):
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        assert error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR), error
        return
    raise AssertionError("was answered")


def requests():
    """Every value of each part, the parts mixed."""
    for region, size in itertools.product(REGIONS, SIZES):
        yield region, size, "0", "default.png"
    for turn, quality in itertools.product(TURNS, QUALITIES):
        yield "31,17,80,70", "max", turn, quality + ".png"
    for extension in ("png", "jpg", "webp", "bmp", "ppm", "tif"):
        for region, turn in (("full", "0"), ("square", "!90")):
            yield region, "40,", turn, f"default.{extension}"


def check_same(folder):
    """Names that mean the same pixels are one file."""
    for names in (("full/max/0/default.png", "full/203,117/0/default.png",
                   "pct:0,0,100,100/^max/360/default.png",
                   "0,0,999,999/pct:100/0/default.png"),
                  ("150,100,500,500/max/90/gray.png",
                   "150,100,53,17/53,/90/gray.png")):
        inodes = {os.stat(f"{folder}/{name}").st_ino for name in names}
        assert len(inodes) == 1, names


def check_row(page, folder, turn, bound):
    """A third of all requests, another one each `turn`."""
    count = wrong = 0
    for request in list(requests())[turn % 3::3]:
        count += 1
        try:
            compare(page, folder, request, bound)
        except Exception as error:  # the others are looked at all the same
            wrong += 1
            print(f"{folder}: {'/'.join(request)}: {error!r}"[-250:])
    for path in BAD:
        count += 1
        try:
            refuse(f"{folder}/{path}")
        except Exception as error:
            wrong += 1
            print(f"{folder}: {path}: {error!r}"[-250:])
    check_same(folder)
    return count, wrong


def main():
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(work + "/in")
        page = picture()
        page.save(work + "/in/a.jpg", quality=95, subsampling=0)
        page.save(work + "/in/b.tif", compression="tiff_lzw")
        page.save(work + "/in/c.png")
        subprocess.run(["tiffcp", "-t", "-w", "64", "-l", "32", "-c", "zip",
                        work + "/in/b.tif", work + "/in/d.tif"], check=True)
        page.save(work + "/in/e.pdf", resolution=150)
        rowfs("ingest", work + "/in", "--output", work + "/set.lance")
        total = wrong = turns = 0
        for source in ("in", "set.lance"):
            mount = f"{work}/m{source}"
            os.mkdir(mount)
            rowfs("mount", f"{work}/{source}", mount, "--cache-dir", work + "/cache")
            try:
                for row in sorted(os.listdir(mount + "/rows")):
                    folder = f"{mount}/rows/{row}"
                    name = read(folder + "/file_name.txt").decode()
                    column = "document" if name == "e.pdf" else "image"
                    folder += f"/{column}.pages/0001"
                    # The page whose parts are asked for: a decoder's own, as
                    # JPEG is lossy and a PDF is drawn.
                    whole = Image.open(io.BytesIO(read(folder + ".png")))
                    assert whole.size == (WIDTH, HEIGHT), whole.size
                    count, bad = check_row(whole.convert("RGB"), folder, turns,
                                           12 if name == "e.pdf" else 0)
                    turns += 1
                    total, wrong = total + count, wrong + bad
            finally:
                rowfs("umount", mount)
    print(f"{total} requests, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
