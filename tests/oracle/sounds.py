"""Sounds of many kinds through the mount, compared with ffmpeg, sox and formulas.

Usage: sounds.py ROWFS [KIND...]
Files are made by ffmpeg, sox, flac, lame and opusenc, or written here chunk by
chunk; each is looked at as it lies in a folder and again after ingest. All
segments together are the samples of one decode from the start, a window is cut
out of them, sizes are what stat says, the playable file decodes to the same.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import sound_kinds

ROWFS = sys.argv[1]
# A mean difference of 16-bit samples that decoders with noise stay below.
NEAR = 60


def run(*words):
    done = subprocess.run(words, capture_output=True)
    assert done.returncode == 0, (words, done.stderr.decode()[-300:])
    return done.stdout


def decode(path, raw, opus):
    """The samples of one decode from the start."""
    decoder = ["-c:a", "libopus"] if opus else []
    return run("ffmpeg", "-nostdin", "-v", "quiet", "-threads", "1", *decoder,
               "-i", path, "-map", "0:a:0", "-c:a", "pcm_" + raw, "-f", raw, "-")


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data), (path, "stat tells another size")
    return data


def chunks(wav):
    at = 12
    while at + 8 <= len(wav):
        size = int.from_bytes(wav[at + 4:at + 8], "little")
        yield wav[at:at + 4], wav[at + 8:at + 8 + size]
        at += 8 + size + size % 2


def samples(wav):
    assert wav[:4] == b"RIFF" and wav[8:12] == b"WAVE", wav[:12]
    return dict(chunks(wav))[b"data"]


def same(kind, got, want):
    assert len(got) == len(want), (len(got), len(want))
    if not kind.near:
        assert got == want, "other samples"
        return
    a, b = memoryview(got).cast("h"), memoryview(want).cast("h")
    mean = sum(abs(x - y) for x, y in zip(a, b)) / max(1, len(a))
    assert mean < NEAR, f"differs by {mean}"


def check(kind, row, path, ingested):
    if kind.decoded is None:
        kind.decoded = kind.samples or decode(path, kind.raw, kind.opus)
    want = kind.decoded
    assert want, "the oracle has no samples"
    row += "/" + next(n for n in os.listdir(row) if n.endswith(".segments"))[:-9]
    names = sorted(os.listdir(row + ".segments"))
    got = b"".join(samples(read(f"{row}.segments/{n}")) for n in names)
    same(kind, got, want)
    with open(row + ".info.json") as file:
        info = json.load(file)
    frame = len(want) // info["samples"]
    assert frame * info["samples"] == len(want), info["samples"]
    assert len(names) == -(-info["samples"] // info["sample_rate"]), len(names)
    dice = random.Random(kind.name)
    for _ in range(3):
        a, b = sorted(dice.sample(range(info["samples"] + 1), 2))
        window = samples(read(f"{row}.at/{a}-{b}s.wav"))
        assert window == got[a * frame:b * frame], f"window {a}-{b}"
    folder, stem = os.path.split(row)
    own = [n for n in os.listdir(folder) if n.startswith(stem + ".")
           and os.path.isfile(f"{folder}/{n}") and n[len(stem):] != ".info.json"
           and ".cover." not in n]
    assert len(own) == 1, own
    row = folder
    if ingested:
        whole = decode(f"{row}/{own[0]}", kind.raw, kind.opus)
        if kind.samples is None:
            assert whole == want, f"{own[0]} decodes to something else"
        else:
            same(kind, whole, want)
    else:
        with open(path, "rb") as file:
            assert read(f"{row}/{own[0]}") == file.read(), "not the file"


def check_mount(source, kinds, folder, mount):
    ingested = source != folder
    run(ROWFS, "mount", source, mount, "--cache-dir", mount + ".cache")
    wrong, seen = 0, set()
    try:
        for row in sorted(os.listdir(mount + "/rows")):
            row = f"{mount}/rows/{row}"
            with open(row + "/file_name.txt") as file:
                name = file.read()
            seen.add(name)
            try:
                check(kinds[name], row, f"{folder}/{name}", ingested)
            except Exception as error:  # the others are looked at all the same
                wrong += 1
                print(f"{os.path.basename(source)}: {name}: {error!r}")
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
        kinds = sound_kinds.make(work + "/files", sys.argv[2:])
        run(ROWFS, "ingest", work + "/files", "--output", work + "/set.lance")
        wrong = check_mount(work + "/files", kinds, work + "/files", work + "/m1")
        wrong += check_mount(work + "/set.lance", kinds, work + "/files",
                             work + "/m2")
    print(f"{len(kinds)} kinds, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
