"""Documents of many layouts through the mount, compared with poppler and qpdf.

Usage: papers.py ROWFS [KIND...]
What paper_kinds.py makes: each looked at as it lies in a folder and again after
ingest. As many pages as pdfinfo counts, each as large as pdftoppm draws it and
with the same picture but for smoothed edges, the words of pdftotext, page files
that qpdf finds nothing wrong with, sizes as stat says them.
"""
import io
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

import paper_kinds

ROWFS = sys.argv[1]
# Mean difference of samples; two renderers place and smooth glyphs differently.
BOUND = 4


def run(*words, may_warn=False):
    done = subprocess.run(words, capture_output=True)
    allowed = (0, 3) if may_warn else (0,)
    assert done.returncode in allowed, (words, done.stderr.decode()[-300:])
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data), (path, "stat tells another size")
    return data


def small(picture):
    """An eighth of the size, so that edges do not count."""
    size = max(1, picture.width // 8), max(1, picture.height // 8)
    return np.asarray(picture.convert("RGB").resize(size, Image.BOX)).astype(int)


def check_page(path, k, page):
    number = ("-f", str(k), "-l", str(k))
    want = Image.open(io.BytesIO(run("pdftoppm", "-cropbox", "-r", "150", *number,
                                     path)))
    got = Image.open(io.BytesIO(read(page + ".png")))
    assert max(abs(got.width - want.width), abs(got.height - want.height)) <= 1, (
        k, got.size, want.size)
    mean = np.abs(small(got.resize(want.size)) - small(want)).mean()
    assert mean < BOUND, (k, "another picture", mean)
    words = run("pdftotext", "-cropbox", *number, path, "-").split()
    assert read(page + ".txt").split() == words, (k, words)
    with tempfile.NamedTemporaryFile(suffix=".pdf") as alone:
        alone.write(read(page + ".pdf"))
        alone.flush()
        run("qpdf", "--check", alone.name)
        assert run("qpdf", "--show-npages", alone.name) == b"1\n", k
        assert run("pdftotext", alone.name, "-").split() == words, (k, "alone")


def check(pages, row, path, ingested):
    row += "/document"
    if pages == 0:
        with open(path, "rb") as file:
            assert read(row + ".pdf") == file.read()
        try:
            names = os.listdir(row + ".pages")
        except OSError:
            return
        raise AssertionError(f"a locked file has pages: {names[:3]}")
    info = json.loads(read(row + ".info.json"))
    assert info["page_count"] == pages == len(info["pages"]), info["page_count"]
    assert len(os.listdir(row + ".pages")) == 3 * pages
    # All of a few, some of many.
    for k in sorted({*range(1, min(pages, 10) + 1), pages}):
        check_page(path, k, f"{row}.pages/{k:04d}")
    if ingested:
        with tempfile.NamedTemporaryFile(suffix=".pdf") as whole:
            whole.write(read(row + ".pdf"))
            whole.flush()
            run("qpdf", "--check", whole.name)
            assert run("pdftotext", whole.name, "-").split() == run(
                "pdftotext", path, "-").split(), "the whole file"


def check_mount(source, kinds, folder, mount):
    run(ROWFS, "mount", source, mount, "--cache-dir", mount + ".cache")
    wrong, seen = 0, set()
    try:
        for row in sorted(os.listdir(mount + "/rows")):
            row = f"{mount}/rows/{row}"
            with open(row + "/file_name.txt") as file:
                name = file.read()
            seen.add(name)
            try:
                check(kinds[name], row, f"{folder}/{name}", source != folder)
            except Exception as error:  # the others are looked at all the same
                wrong += 1
                print(f"{os.path.basename(source)}: {name}: {error!r}"[:300])
    finally:
        run(ROWFS, "umount", mount)
    for name in set(kinds) - seen:
        print(f"{os.path.basename(source)}: {name}: no row")
        wrong += 1
    return wrong


def main():
    with tempfile.TemporaryDirectory() as work:
        for name in ("files", "m1", "m2"):
            os.mkdir(f"{work}/{name}")
        kinds = paper_kinds.make(work + "/files", sys.argv[2:])
        run(ROWFS, "ingest", work + "/files", "--output", work + "/set.lance")
        wrong = check_mount(work + "/files", kinds, work + "/files", work + "/m1")
        wrong += check_mount(work + "/set.lance", kinds, work + "/files",
                             work + "/m2")
    print(f"{len(kinds)} kinds, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
