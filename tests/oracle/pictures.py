"""Pictures of many kinds through the mount, compared with Pillow and others.

Usage: pictures.py ROWFS [KIND...]
Files are made here by Pillow, tifffile, pillow-heif and pydicom; each is looked
at as it lies in a folder and again after ingest. Pages and frames must have the
same pixels (within BOUND where two decoders may differ), a region must be the
same crop of its page, sizes must be what stat says.
"""
import io
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageOps

try:
    import pillow_heif
    import pydicom
    import tifffile
    from pydicom.dataset import FileDataset, FileMetaDataset
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)
pillow_heif.register_heif_opener()

ROWFS = sys.argv[1]
# Chroma of half the size is spread over pixels in more than one right way.
BOUND = {".avif": 110, ".heic": 2}


def rowfs(*words):
    done = subprocess.run([ROWFS, *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)


def base():
    y, x = np.mgrid[0:117, 0:203]
    return np.stack([(x * 2 + y) % 256, (y * 3) % 256,
                     ((x // 16) * 20 + (y // 16) * 11) % 256], -1).astype(np.uint8)


def make_stills(put, rgb, image, gray, rgba):
    for sampling in range(3):
        put(f"sampled{sampling}.jpg", image, quality=85, subsampling=sampling)
    put("progressive.jpg", image, progressive=True)
    put("gray.jpg", gray)
    put("cmyk.jpg", image.convert("CMYK"))
    put("restarts.jpg", image, restart_marker_blocks=3)
    exif = Image.Exif()
    for orientation in range(1, 9):
        exif[274] = orientation
        put(f"turned{orientation}.jpg", image, exif=exif.tobytes())
    exif[274] = 6
    put("turned.png", image, exif=exif.tobytes())
    put("turned.webp", image, exif=exif.tobytes(), lossless=True)
    put("rgb.png", image)
    put("rgba.png", rgba)
    put("gray.png", gray)
    put("gray_alpha.png", rgba.convert("LA"))
    put("palette.png", image.quantize(64))
    put("palette4.png", image.quantize(16), bits=4)
    put("transparent.png", image.quantize(64), transparency=3)
    put("bits.png", gray.convert("1"))
    put("deep.png", Image.fromarray(rgb[..., 0].astype(np.uint16) * 257))
    put("lossy.webp", image, quality=80)
    put("lossless.webp", image, lossless=True)
    put("alpha.webp", rgba, quality=80)
    for kind, picture in (("rgb", image), ("gray", gray),
                          ("palette", image.quantize(32)),
                          ("bits", gray.convert("1"))):
        put(f"{kind}.bmp", picture)
    put("rgb.ppm", image)
    put("gray.pgm", gray)
    put("rgb.jp2", image, irreversible=False)
    put("gray.jp2", gray)
    put("lossy.jp2", image, irreversible=True, quality_mode="rates",
        quality_layers=[20])
    put("still.gif", image.quantize(128))
    put("rgb.avif", image, quality=90)
    put("rgb.heic", image, quality=90)


def make_tiffs(put, folder, rgb, image, gray, rgba):
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits",
                        "jpeg", "zstd", "lzma"):
        put(f"{compression}.tif", image, compression=compression)
    put("fax.tif", gray.convert("1"), compression="group4")
    put("inks.tif", image.convert("CMYK"))
    put("palette.tif", image.quantize(32))
    put("alpha.tif", rgba)
    write = tifffile.imwrite
    write(folder + "/float.tif", (rgb[..., 0] / 255).astype(np.float32),
          tile=(64, 64), compression="zlib", predictor=True)
    write(folder + "/tiles.tif", rgb, tile=(32, 32), compression="lzw",
          photometric="rgb")
    write(folder + "/deep.tif", rgb[..., 0].astype(np.uint16) * 257)
    write(folder + "/planar.tif", np.moveaxis(rgb, -1, 0),
          planarconfig="separate", photometric="rgb")
    write(folder + "/pages.tif", np.stack([rgb, 255 - rgb, rgb[::-1]]),
          photometric="rgb", compression="zlib")


def make_animations(folder, rgb):
    frames = []
    for k in range(6):
        pixels = rgb.copy()
        pixels[10 * k:10 * k + 20, 15 * k:15 * k + 40] = [255 - 40 * k, 20 * k, 200]
        frames.append(Image.fromarray(pixels))
    more = {"save_all": True, "append_images": frames[1:], "duration": 100}
    frames[0].save(folder + "/moves.png", **more)
    frames[0].save(folder + "/moves.webp", lossless=True, **more)
    quantized = [f.quantize(64) for f in frames]
    quantized[0].save(folder + "/moves.gif", save_all=True, disposal=1,
                      append_images=quantized[1:], duration=100)


def make_dicoms(folder):
    y, x = np.mgrid[0:48, 0:64]
    kinds = {"plain": (np.uint8, "1.2.840.10008.1.2.1", 8),
             "deep": (np.uint16, "1.2.840.10008.1.2", 12),
             "signed": (np.int16, "1.2.840.10008.1.2.1", 16)}
    for name, (dtype, syntax, bits) in kinds.items():
        frames = np.stack([(x * 31 + y * 17 + k * 100) % 2**min(bits, 12)
                           for k in range(3)]).astype(dtype)
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7.2"
        meta.MediaStorageSOPInstanceUID = "1.2.3"
        meta.TransferSyntaxUID = syntax
        ds = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        ds.SOPClassUID, ds.SOPInstanceUID = meta.MediaStorageSOPClassUID, "1.2.3"
        ds.NumberOfFrames, ds.Rows, ds.Columns = frames.shape
        ds.SamplesPerPixel, ds.PhotometricInterpretation = 1, "MONOCHROME2"
        ds.BitsAllocated = frames.itemsize * 8
        ds.BitsStored, ds.HighBit = bits, bits - 1
        ds.PixelRepresentation = int(dtype == np.int16)
        ds.PixelData = frames.tobytes()
        ds["PixelData"].VR = "OB" if dtype == np.uint8 else "OW"
        ds.save_as(f"{folder}/{name}.dcm", enforce_file_format=True)
        if dtype == np.uint8:
            ds.compress("1.2.840.10008.1.2.5", generate_instance_uid=False)
            ds.save_as(f"{folder}/runs.dcm")


def make(folder):
    rgb = base()
    image = Image.fromarray(rgb)
    alpha = (np.add.outer(np.arange(117), np.arange(203)) % 256).astype(np.uint8)
    rgba = Image.fromarray(np.dstack([rgb, alpha]))
    gray = image.convert("L")

    def put(name, picture, **options):
        picture.save(os.path.join(folder, name), **options)
    make_stills(put, rgb, image, gray, rgba)
    make_tiffs(put, folder, rgb, image, gray, rgba)
    make_animations(folder, rgb)
    make_dicoms(folder)


def pixels(picture, like):
    """Both pictures in one mode, as numbers."""
    if like.mode in ("I;16", "F"):
        scale = 65535 if like.mode == "F" and picture is like else 1
        return (np.asarray(picture) * float(scale) + 0.5).astype(int)
    alpha = like.mode in ("RGBA", "LA", "PA") or "transparency" in like.info
    return np.asarray(picture.convert("RGBA" if alpha else "RGB")).astype(int)


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    assert os.stat(path).st_size == len(data), (path, "stat tells another size")
    return Image.open(io.BytesIO(data))


def check_page(folder, page, reference, bound):
    got = load(f"{folder}/{page}")
    want, have = pixels(reference, reference), pixels(got, reference)
    assert want.shape == have.shape, (want.shape, have.shape, got.mode)
    assert np.abs(want - have).max() <= bound, np.abs(want - have).max()
    stem = f"{folder}/{page[:-4]}"
    region = load(stem + "/31,17,80,70/max/0/default.png").convert("RGBA")
    crop = got.convert("RGBA").crop((31, 17, 111, 87))
    assert region.tobytes() == crop.tobytes(), "a region is not its crop"
    small = load(stem + "/full/50,/90/gray.jpg")
    assert small.size[1] == 50 and small.mode == "L", small
    for extension in ("bmp", "ppm", "npy"):
        told = os.stat(f"{stem}.{extension}").st_size
        with open(f"{stem}.{extension}", "rb") as file:
            assert len(file.read()) == told, extension


def check_dicom(row, path):
    frames = pydicom.dcmread(path).pixel_array
    for k, frame in enumerate(frames):
        got = np.load(f"{row}/image.frames/{k:06d}.npy")
        assert got.dtype == frame.dtype and (got == frame).all(), k
    assert len(os.listdir(row + "/image.pages")) == len(frames)


def check(row, path):
    if path.endswith(".dcm"):
        return check_dicom(row, path)
    bound = BOUND.get(os.path.splitext(path)[1], 0)
    image = Image.open(path)
    count = getattr(image, "n_frames", 1)
    with open(row + "/image.info.json") as file:
        info = json.load(file)
    pages = sorted(os.listdir(row + "/image.pages"))
    if os.path.isdir(row + "/image.frames"):
        names = sorted(os.listdir(row + "/image.frames"))
        assert len(names) == info["frame_count"] == count
        for k in (count - 1, *range(count)):
            image.seek(k)
            got = load(f"{row}/image.frames/{names[k]}").convert("RGBA")
            assert got.tobytes() == image.convert("RGBA").tobytes(), k
    else:
        assert len(pages) == info["page_count"] == count
    for k, page in enumerate(pages):
        image = Image.open(path)
        image.seek(k)
        check_page(row + "/image.pages", page, ImageOps.exif_transpose(image), bound)


def check_mount(source, originals, mount, only):
    rowfs("mount", source, mount, "--cache-dir", mount + ".cache")
    wrong = 0
    try:
        for row in sorted(os.listdir(mount + "/rows")):
            row = f"{mount}/rows/{row}"
            with open(row + "/file_name.txt") as file:
                name = file.read()
            if only and name not in only:
                continue
            try:
                check(row, os.path.join(originals, name))
            except Exception as error:  # the others are looked at all the same
                wrong += 1
                print(f"{os.path.basename(source)}: {name}: {error!r}")
    finally:
        rowfs("umount", mount)
    return wrong


def main():
    with tempfile.TemporaryDirectory() as work:
        for name in ("files", "m1", "m2"):
            os.mkdir(f"{work}/{name}")
        make(work + "/files")
        count = len(os.listdir(work + "/files"))
        rowfs("ingest", work + "/files", "--output", work + "/set.lance")
        wrong = check_mount(work + "/files", work + "/files", work + "/m1",
                            sys.argv[2:])
        wrong += check_mount(work + "/set.lance", work + "/files", work + "/m2",
                             sys.argv[2:])
    print(f"{count} kinds, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
