"""Media that other tools got wrong, seen through a mount: inputs and right
results lie in $ROWFS_SHARED/cases (V, A, D, I and M there)."""
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import wave

import mounted as m

HERE = pathlib.Path(__file__).parent


class Case:
    """One source of a case, mounted: its first row and the blob there."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.row = self.root / "rows/000000"
        cells = json.loads((self.row / "row.json").read_text()).values()
        self.blob = next(self.row / cell["path"] for cell in cells
                         if isinstance(cell, dict))
        self.name = self.blob.stem

    def path(self, suffix):
        return self.row / (self.name + suffix)

    def listed(self, view):
        return sorted(os.listdir(self.path(view)))


class Cases:
    def __init__(self, rowfs, folder, point, checks):
        self.rowfs, self.folder, self.point = rowfs, folder, point
        self.checks = checks
        spec = importlib.util.spec_from_file_location(
            "common", folder / "common.py")
        self.common = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.common)

    def mounted(self, source):
        return m.mounted(self.rowfs, self.folder / source, self.point)

    def wanted(self, case):
        return json.loads((self.folder / case / "expect.json").read_text())

    def code(self, path):
        return self.common.read_code(pixels(path))


def pixels(path, mode="RGB"):
    import numpy
    from PIL import Image
    picture = Image.open(io.BytesIO(pathlib.Path(path).read_bytes()))
    return numpy.asarray(picture.convert(mode) if mode else picture)


def failure(path):
    """The errno name of opening a file or folder; None when it opens."""
    try:
        if os.path.isdir(path):
            return None if os.listdir(path) else "empty"
        open(path, "rb").close()
        return None
    except OSError as error:
        return os.strerror(error.errno)


def v1_counts_that_lie(c):
    for name, wanted in c.wanted("V1")["files"].items():
        with c.mounted("V1/" + name.split("/")[0]) as root:
            case = Case(root)
            frames = case.listed(".frames")
            c.checks.equal(len(frames), len(wanted["shown"]), "V1 " + name)
            codes = [c.code(case.path(".frames") / f) for f in frames]
            c.checks.equal(codes, wanted["shown"], "V1 pictures of " + name)


def v2_no_key_frame_first(c):
    with c.mounted("V2/src") as root:
        case = Case(root)
        codes = [c.code(case.path(".frames") / f)
                 for f in case.listed(".frames")]
        c.checks.equal(codes, c.wanted("V2")["shown"], "V2")


def v3_frame_at_a_time(c):
    for name, times in c.wanted("V3")["at"].items():
        with c.mounted("V3/" + name) as root:
            case = Case(root)
            for time, code in times.items():
                path = case.path(".at") / (time + ".jpg")
                if code is None:
                    c.checks.equal(failure(path), os.strerror(2),
                                   f"V3 {name} {time!r}")
                else:
                    c.checks.equal(c.code(path), code, f"V3 {name} {time!r}")


def v5_upright(c):
    wanted = c.wanted("V5")
    for name in wanted["upright"]:
        with c.mounted("V5/" + name) as root:
            case = Case(root)
            frames = [case.path(".frames") / f
                      for f in case.listed(".frames")]
            c.checks.equal([c.code(f) for f in frames], wanted["codes"],
                           "V5 " + name)
            first = pixels(frames[0])
            c.checks.equal([first.shape[1], first.shape[0]], wanted["size"],
                           "V5 size of " + name)
            red, green, blue = (int(x) for x in first[4, 4])
            c.checks.true(red > 180 > 90 > max(green, blue),
                          f"V5 {name}: red corner upper left")
    with c.mounted("V5/sar") as root:
        case = Case(root)
        first = pixels(case.path(".frames") / case.listed(".frames")[0])
        c.checks.equal([first.shape[1], first.shape[0]],
                       wanted["sar"]["stored"], "V5 sar")
        c.checks.true(wanted["sar"]["sample_aspect_ratio"] in
                      case.path(".info.json").read_text(), "V5 sar in info")


def v6_colour(c):
    wanted = c.wanted("V6")
    for name in sorted(os.listdir(c.folder / "V6")):
        if not (c.folder / "V6" / name).is_dir():
            continue
        with c.mounted("V6/" + name) as root:
            picture = pixels(Case(root).path(".frames") / "000000.png", None)
            scale = 257 if picture.dtype.itemsize == 2 else 1
            for at, colour in enumerate(wanted["patches"]):
                x = at * wanted["patch_width"] + wanted["patch_width"] // 2
                got = [int(v) / scale for v in picture[48, x][:3]]
                worst = max(abs(g - w) for g, w in zip(got, colour))
                c.checks.true(worst <= 4, f"V6 {name} {colour}: {got}")


def v7_clips(c):
    import numpy
    for clip, wanted in c.wanted("V7")["clips"].items():
        with c.mounted("V7/src") as root:
            path = Case(root).path(".clips") / (clip + ".mp4")
            copy = c.point + ".mp4"
            pathlib.Path(copy).write_bytes(path.read_bytes())
            c.checks.equal(os.stat(path).st_size, os.stat(copy).st_size,
                           "V7 size of " + clip)
        codes = c.common.decode_codes(copy)
        c.checks.equal([codes[0], codes[-1], len(codes)], wanted["frames"] + [
            wanted["frames"][1] - wanted["frames"][0] + 1], "V7 " + clip)
        sound = numpy.frombuffer(subprocess.run(
            ["ffmpeg", "-v", "error", "-i", copy, "-f", "s16le", "-ar",
             "48000", "-ac", "1", "-"], capture_output=True,
            check=True).stdout, "<i2").astype(int)
        for click in wanted["clicks_at"]:
            begin = max(0, int((click - 0.012) * 48000))
            part = abs(sound[begin:int((click + 0.014) * 48000)])
            c.checks.true(part.max() > 4000, f"V7 {clip}: click at {click}")


def samples(case):
    """All segments behind one another: (rate, samples of one channel)."""
    import numpy
    parts, rate = [], 0
    for name in case.listed(".segments"):
        data = (case.path(".segments") / name).read_bytes()
        with wave.open(io.BytesIO(data)) as sound:
            rate = sound.getframerate()
            parts.append(numpy.frombuffer(
                sound.readframes(sound.getnframes()), "<i2")[
                    ::sound.getnchannels()])
    return rate, numpy.concatenate(parts)


def a1_mp3(c):
    for name, wanted in c.wanted("A1")["files"].items():
        with c.mounted("A1/" + name) as root:
            case = Case(root)
            right = {wanted["samples"]}
            if name == "vbr-noheader":
                right.add(67439)
            got = len(samples(case)[1])
            c.checks.true(got in right, f"A1 {name}: {got} samples")
            c.checks.true(not case.path(".frames").exists(),
                          f"A1 {name}: the cover is no film")


def a2_wav(c):
    import numpy
    wanted = c.wanted("A2")
    ramp = (numpy.arange(16000) * 37) % 20011 - 10000
    for name in wanted["ffmpeg"]:
        with c.mounted("A2/" + name) as root:
            case = Case(root)
            rate, got = samples(case)
            c.checks.equal(rate, wanted["rate"], "A2 rate of " + name)
            c.checks.true(numpy.array_equal(got, ramp), "A2 " + name)
            stored = (c.folder / "A2" / name / "a.wav").read_bytes()
            c.checks.true(case.path(".wav").read_bytes() == stored,
                          f"A2 {name}: its own bytes")


def a3_opus(c):
    for name in ("plain", "late"):
        with c.mounted("A3/" + name) as root:
            rate, got = samples(Case(root))
            c.checks.equal((rate, len(got)), (48000, 72000), "A3 " + name)


def d1_boxes(c):
    with c.mounted("D1/src") as root:
        case = Case(root)
        for at, page in enumerate(c.wanted("D1")["pages"]):
            picture = pixels(case.path(".pages") / f"{at + 1:04}.png")
            height, width = picture.shape[:2]
            wide, high = page["size_72dpi"]
            if at == 4 and (width, height) != (round(wide * 150 / 72),
                                               round(high * 150 / 72)):
                wide, high = 100, 200  # the intersection, as ISO 32000 wants
            scale = width / wide
            c.checks.true(abs(height / high - scale) < 0.02 * scale,
                          f"D1 page {at + 1}: {width}x{height}")
            if (wide, high) != tuple(page["size_72dpi"]):
                continue
            for key, strong in (("red_xy", 0), ("blue_xy", 2)):
                if page[key] is None:
                    continue
                x, y = (min(int(v * scale), n - 1) for v, n in
                        zip(page[key], (width, height)))
                got = [int(v) for v in picture[y, x]]
                c.checks.true(got[strong] > 150 and got[2 - strong] < 100,
                              f"D1 page {at + 1} {key}: {got}")


def d2_broken(c):
    for name, pages in c.wanted("D2")["pages"].items():
        with c.mounted("D2/" + name) as root:
            case = Case(root)
            stored = (c.folder / "D2" / name / "a.pdf").read_bytes()
            c.checks.equal(case.blob.suffix, ".pdf", "D2 " + name)
            c.checks.true(case.blob.read_bytes() == stored,
                          f"D2 {name}: its own bytes")
            folder = case.path(".pages")
            if pages is None and name == "needs-password":
                c.checks.equal(failure(folder), os.strerror(5), "D2 " + name)
            elif pages is not None:
                first = [n for n in os.listdir(folder) if n.endswith(".png")]
                c.checks.equal(len(first), pages, "D2 " + name)


def i1_pages(c):
    wanted = c.wanted("I1")
    with c.mounted("I1/src") as root:
        folder = Case(root).path(".pages")
        names = sorted(n for n in os.listdir(folder) if n.endswith(".png"))
        c.checks.equal(names, [f"{n:04}.png" for n in range(1, 6)], "I1")
        for name, code, size in zip(names, wanted["codes"], wanted["sizes"]):
            picture = pixels(folder / name)
            c.checks.equal([picture.shape[1], picture.shape[0]], size,
                           "I1 size of " + name)
            c.checks.equal(c.common.read_code(picture), code, "I1 " + name)


def i2_tiles(c):
    for name, wanted in c.wanted("I2")["files"].items():
        with c.mounted("I2/" + name) as root:
            folder = Case(root).path(".pages")
            whole = pixels(folder / "0001.png")
            c.checks.equal([whole.shape[1], whole.shape[0]], wanted["size"],
                           "I2 " + name)
            mean = whole.reshape(-1, 3).mean(0)
            c.checks.true(abs(mean - wanted["mean_rgb"]).max() <= 1.5,
                          f"I2 {name}: mean {mean}")
            c.checks.equal(c.common.read_code(whole), wanted["code"],
                           "I2 code of " + name)
            for x, y, w, h in ((64, 0, 70, 60), (200, 100, 45, 33),
                               (30, 20, 1, 1), (0, 0, 245, 133),
                               (47, 31, 50, 70)):
                part = pixels(folder / "0001" / f"{x},{y},{w},{h}" / "max/0"
                              / "default.png").astype(int)
                off = abs(part - whole[y:y + h, x:x + w].astype(int)).max() \
                    if part.shape == whole[y:y + h, x:x + w].shape else 999
                c.checks.true(off <= (3 if "ycc" in name or "rgb" in name
                                      else 0), f"I2 {name} {x},{y}: {off}")


def m1_animations(c):
    grounds = {"gif": (250, 240, 10), "webp": (0, 0, 0)}
    for name, wanted in c.wanted("M1")["files"].items():
        with c.mounted("M1/" + name) as root:
            case = Case(root)
            c.checks.equal(len(case.listed(".frames")), wanted["n"],
                           "M1 frames of " + name)
            for frame in reversed(range(wanted["n"])):
                picture = pixels(case.path(".frames") / f"{frame:06}.png",
                                 "RGBA")
                for (x, y), rgba in zip(wanted["points"],
                                        wanted["rgba"][frame]):
                    got = tuple(int(v) for v in picture[y, x])
                    right = got == tuple(rgba) or rgba[3] == 0 and (
                        got[3] == 0 or got[:3] == grounds[name])
                    c.checks.true(right, f"M1 {name} {frame} {x},{y}: {got}")


def main():
    rowfs, scratch = m.start()
    folder = pathlib.Path(os.environ.get("ROWFS_SHARED", HERE / "../../../../"
                                         "shared")) / "cases"
    if not folder.is_dir():
        m.skip(f"no cases in {folder} (set ROWFS_SHARED)")
    try:
        import numpy  # noqa: F401
        import PIL  # noqa: F401
    except ImportError as error:
        m.skip(f"{sys.executable}: {error} (set ROWFS_PYTHON)")
    checks = m.Checks()
    cases = Cases(rowfs, folder, str(scratch / "m"), checks)
    for name, case in list(globals().items()):
        if name[0] in "vadim" and name[1:2].isdigit():
            try:
                case(cases)
            except Exception as error:  # the others still tell
                checks.true(False, f"{name}: {error!r}")
    checks.end()


if __name__ == "__main__":
    main()
