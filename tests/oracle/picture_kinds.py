"""The pictures of picture_layouts.py: what went into each file.

`make` fills a folder and returns name -> Kind. `way` says which view has the
samples: "npy" as they are stored, "png" as colors.
"""
import os
import subprocess

import imagecodecs
import numpy as np
import pydicom
import tifffile
from PIL import Image, ImageSequence
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate

HEIGHT, WIDTH = 117, 203


class Kind:
    def __init__(self, pages, way="npy", bound=None, frames=()):
        self.pages, self.way, self.bound, self.frames = pages, way, bound, frames


def base():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([(x * 2 + y) % 256, (y * 3) % 256,
                     ((x // 16) * 20 + (y // 16) * 11) % 256], -1).astype(np.uint8)


class Maker:
    def __init__(self, folder, only):
        self.folder, self.only, self.kinds = folder, only, {}
        self.rgb = base()
        self.gray = self.rgb[..., 0].copy()
        self.bits = self.gray > 127

    def wants(self, name):
        return not self.only or name in self.only

    def path(self, name):
        return f"{self.folder}/{name}"

    def keep(self, name, pages, **more):
        if self.wants(name):
            self.kinds[name] = Kind(pages, **more)
        elif os.path.exists(self.path(name)):
            os.remove(self.path(name))

    def tiff(self, name, pixels, pages=None, way="npy", bound=None, **options):
        """One page written by tifffile."""
        options.setdefault("metadata", None)
        tifffile.imwrite(self.path(name), pixels, **options)
        self.keep(name, [pixels] if pages is None else pages, way=way, bound=bound)

    def tool(self, name, *command, pages=None, way="png", bound=0, frames=()):
        """`command` with OUT in it makes the file; Pillow sees what is in it."""
        out = self.path(name)
        done = subprocess.run([w.replace("OUT", out) for w in command],
                              capture_output=True)
        assert done.returncode == 0, (command, done.stderr.decode()[-300:])
        if pages is None:
            pages = [np.asarray(p.convert("RGB"))
                     for p in ImageSequence.Iterator(Image.open(out))]
        self.keep(name, pages, way=way, bound=bound, frames=frames)

    def pillow(self, name, picture, want=None, bound=0, way="png", **options):
        picture.save(self.path(name), **options)
        if want is None:
            want = np.asarray(Image.open(self.path(name)).convert("RGB"))
        self.keep(name, [want], way=way, bound=bound)


def tiff_compressions(m):
    rgb, gray = m.rgb, m.gray
    for name, tag in (("lzw", "lzw"), ("deflate", "zlib"), ("old_deflate", 32946),
                      ("packbits", "packbits"), ("zstd", "zstd"),
                      ("lzma", "lzma"), ("none", None)):
        m.tiff(f"{name}.tif", rgb, compression=tag, rowsperstrip=13)
        m.tiff(f"{name}_tiles.tif", rgb, compression=tag, tile=(48, 80))
        m.tiff(f"{name}_planes.tif", np.moveaxis(rgb, -1, 0), pages=[rgb],
               compression=tag, planarconfig="separate", photometric="rgb")
    m.tiff("webp.tif", rgb, compression="webp", tile=(64, 64),
           compressionargs={"lossless": True})
    for name, pixels in (("rgb", rgb), ("rgb16", rgb.astype(np.uint16) * 257),
                         ("gray", gray)):
        for tag in ("lzw", "zlib", "zstd"):
            m.tiff(f"{name}_{tag}_difference.tif", pixels, compression=tag,
                   predictor=2, tile=(32, 64))
    for sampling in ((1, 1), (2, 1), (2, 2), (4, 1)):
        name = f"jpeg_{sampling[0]}{sampling[1]}.tif"
        tifffile.imwrite(m.path(name), rgb, compression="jpeg", tile=(64, 96),
                         subsampling=sampling, metadata=None,
                         compressionargs={"level": 95})
        m.keep(name, [np.asarray(Image.open(m.path(name)).convert("RGB"))],
               way="png", bound=0)
    for name, pixels, sort in (("jpeg_gray", gray, "minisblack"),
                               ("jpeg_rgb", rgb, "rgb")):
        out = m.path(name + ".tif")
        options = {} if pixels.ndim == 2 else {"outcolorspace": "rgb"}
        tifffile.imwrite(out, pixels, compression="jpeg", photometric=sort,
                         rowsperstrip=32, metadata=None, compressionargs=options)
        m.keep(name + ".tif", [tifffile.imread(out)], bound=1)


def tiff_samples(m):
    rgb, gray = m.rgb, m.gray
    for dtype in ("int8", "uint16", "int16", "uint32", "int32", "float16",
                  "float32", "float64"):
        pixels = gray.astype(dtype)
        pixels = pixels * (0.25 if "float" in dtype else 1) - (
            0 if dtype.startswith("u") else 20)
        pixels = pixels.astype(dtype)
        # Half floats are shown as floats.
        shown = pixels.astype(np.float32) if dtype == "float16" else pixels
        m.tiff(f"{dtype}.tif", pixels, compression="zlib", pages=[shown],
               photometric="minisblack")
    m.tiff("float32_predicted.tif", (gray / 255).astype(np.float32),
           compression="zlib", predictor=3, tile=(64, 64))
    m.tiff("uint16_big.tif", gray.astype(np.uint16) * 257, byteorder=">")
    m.tiff("rgb16_big.tif", rgb.astype(np.uint16) * 257, byteorder=">",
           compression="lzw", predictor=2)
    m.tiff("bigtiff.tif", rgb, bigtiff=True, tile=(64, 64))
    m.tiff("bigtiff_big.btf", rgb, bigtiff=True, byteorder=">")
    rgba = np.dstack([rgb, gray])
    m.tiff("rgba.tif", rgba, photometric="rgb", extrasamples=["unassalpha"])
    m.tiff("rgb_more.tif", np.dstack([rgba, gray[::-1]]), photometric="rgb",
           extrasamples=["unspecified", "unspecified"])
    m.tiff("bands7.tif", np.dstack([rgb, rgb[::-1], gray]),
           photometric="minisblack", planarconfig="contig")
    planes = np.stack([gray, gray[::-1], 255 - gray, gray, gray[:, ::-1]])
    m.tiff("bands5_planes.tif", planes, pages=[np.moveaxis(planes, 0, -1)],
           photometric="minisblack", planarconfig="separate", tile=(32, 32))
    m.tiff("white_zero.tif", gray, photometric="miniswhite", way="png", bound=0,
           pages=[255 - gray])
    m.tiff("bits.tif", m.bits, photometric="minisblack", way="png", bound=0,
           pages=[m.bits.astype(np.uint8) * 255])
    table = (np.random.default_rng(4).integers(0, 256, (3, 256)) * 257).astype(
        np.uint16)
    m.tiff("palette.tif", gray, photometric="palette", colormap=table, way="png",
           bound=0, pages=[(table[:, gray] // 257).transpose(1, 2, 0)])
    m.tiff("palette_tiles.tif", gray, photometric="palette", colormap=table,
           compression="lzw", tile=(64, 64), way="png", bound=0,
           pages=[(table[:, gray] // 257).transpose(1, 2, 0)])


def tiff_many(m):
    rgb, gray = m.rgb, m.gray
    name = "mixed.tif"
    with tifffile.TiffWriter(m.path(name)) as out:
        pages = [rgb, gray[:50, :70], gray.astype(np.uint16) * 100,
                 (gray / 9).astype(np.float32), rgb[::-1, :33]]
        for page, compression in zip(pages, ("lzw", None, "zlib", "zstd",
                                             "packbits")):
            out.write(page, compression=compression, metadata=None,
                      photometric="rgb" if page.ndim == 3 else "minisblack")
    m.keep(name, pages)
    name = "levels.ome.tif"
    with tifffile.TiffWriter(m.path(name), ome=True) as out:
        options = {"tile": (64, 64), "compression": "zlib", "photometric": "rgb"}
        out.write(rgb, subifds=2, metadata={"axes": "YXS"}, **options)
        out.write(rgb[::2, ::2], subfiletype=1, **options)
        out.write(rgb[::4, ::4], subfiletype=1, **options)
    m.keep(name, [rgb])
    stack = np.stack([np.roll(gray, 7 * k, 1) for k in range(12)]).astype(
        np.uint16).reshape(2, 3, 2, HEIGHT, WIDTH)
    name = "stack.ome.tif"
    tifffile.imwrite(m.path(name), stack, ome=True, photometric="minisblack",
                     metadata={"axes": "TZCYX"})
    m.keep(name, list(stack.reshape(-1, HEIGHT, WIDTH)))
    name = "pyramid.tif"  # reduced pages in the main chain, as COG has them
    with tifffile.TiffWriter(m.path(name)) as out:
        for step in (1, 2, 4):
            out.write(rgb[::step, ::step], subfiletype=int(step > 1),
                      tile=(32, 32), photometric="rgb", metadata=None)
    m.keep(name, [rgb[::s, ::s] for s in (1, 2, 4)])


def tiff_tools(m):
    source = m.folder + ".bits.tif"
    tifffile.imwrite(source, m.bits, photometric="minisblack", metadata=None)
    want = [m.bits.astype(np.uint8) * 255]
    for name, words in (("g3", "-c g3:1d"), ("g3_2d", "-c g3:2d"),
                        ("g3_fill", "-c g3:1d:fill"), ("g4", "-c g4"),
                        ("g4_strips", "-c g4 -r 8"),
                        ("g4_lsb", "-c g4 -f lsb2msb"),
                        ("bits_packbits", "-c packbits"),
                        ("bits_lsb", "-c none -f lsb2msb")):
        m.tool(f"{name}.tif", "tiffcp", *words.split(), source, "OUT", pages=want)
    os.remove(source)
    source = m.folder + ".rgb.tif"
    tifffile.imwrite(source, m.rgb, photometric="rgb", metadata=None)
    for name, words in (("lsb_order", "-c lzw -f lsb2msb"), ("small_strips", "-r 1"),
                        ("one_strip", "-c zip -r -1"),
                        ("tiles_planes", "-c lzw -t -w 48 -l 32 -p separate"),
                        ("big_endian", "-B -c zip"), ("bigtiff8", "-8 -c lzw")):
        m.tool(f"{name}.tif", "tiffcp", *words.split(), source, "OUT",
               pages=[m.rgb], way="npy", bound=None)
    os.remove(source)
    for turn in range(1, 9):
        name = f"turned{turn}.tif"
        tifffile.imwrite(m.path(name), m.rgb, photometric="rgb", metadata=None,
                         extratags=[(274, "H", 1, turn, True)])
        m.keep(name, [upright(m.rgb, turn)])


def upright(pixels, orientation):
    pixels = pixels[:, ::-1] if orientation in (2, 3, 6, 7) else pixels
    pixels = pixels[::-1] if orientation in (3, 4, 7, 8) else pixels
    if orientation == 5:
        return np.swapaxes(pixels, 0, 1)
    if orientation == 6:  # was mirrored above; the transpose turns it
        return np.rot90(pixels[:, ::-1], -1)
    if orientation == 7:
        return np.swapaxes(pixels, 0, 1)
    if orientation == 8:
        return np.rot90(pixels[::-1], 1)
    return pixels


def jpegs(m):
    rgb, gray, image = m.rgb, m.gray, Image.fromarray(m.rgb)
    for name in ("444", "422", "420", "440", "411"):
        data = imagecodecs.jpeg8_encode(rgb, level=92, subsampling=name)
        with open(m.path(f"s{name}.jpg"), "wb") as file:
            file.write(data)
        m.keep(f"s{name}.jpg", [np.asarray(Image.open(
            m.path(f"s{name}.jpg")).convert("RGB"))], way="png", bound=0)
    data = imagecodecs.jpeg8_encode(rgb, level=92, colorspace="RGB",
                                    outcolorspace="RGB")
    with open(m.path("adobe_rgb.jpg"), "wb") as file:
        file.write(data)
    m.keep("adobe_rgb.jpg", [imagecodecs.jpeg8_decode(data)], bound=0)
    cmyk = image.convert("CMYK")
    m.pillow("cmyk.jpg", cmyk, quality=95)
    m.pillow("cmyk_progressive.jpg", cmyk, quality=95, progressive=True)
    m.pillow("gray_progressive.jpg", Image.fromarray(gray), want=None, quality=90,
             progressive=True, bound=0)
    m.pillow("optimized.jpg", image, quality=85, optimize=True)
    m.pillow("worst.jpg", image, quality=1)
    m.pillow("tiny.jpg", image.crop((0, 0, 1, 1)), quality=90)
    m.pillow("thin.jpg", image.crop((0, 0, 203, 3)).resize((900, 4)), quality=90)
    m.pillow("dots.jpg", image, quality=90, dpi=(300, 300), comment=b"x" * 300)
    m.pillow("restarts.jpg", image, quality=90, restart_marker_rows=1,
             progressive=True)


def pngs(m):
    rgb, gray, image = m.rgb, m.gray, Image.fromarray(m.rgb)
    source = m.folder + ".source.png"
    image.save(source)
    for name, words in (("interlaced", ["-interlace", "PNG"]),
                        ("interlaced_gray", ["-colorspace", "Gray", "-interlace",
                                             "PNG"]),
                        ("interlaced_palette", ["-colors", "60", "-interlace",
                                                "PNG", "-define",
                                                "png:color-type=3"])):
        m.tool(f"{name}.png", "convert", source, *words, "OUT")
    os.remove(source)
    deep = rgb.astype(np.uint16) * 257
    for name, pixels in (("rgb16", deep), ("gray16", deep[..., 0]),
                         ("rgba16", np.dstack([deep, deep[..., 1]])),
                         ("la16", np.dstack([deep[..., 0], deep[..., 1]]))):
        with open(m.path(name + ".png"), "wb") as file:
            file.write(imagecodecs.png_encode(
                np.ascontiguousarray(pixels)))
        m.keep(name + ".png", [pixels])
    for bits in (1, 2, 4, 8):
        m.pillow(f"palette{bits}.png", image.quantize(1 << bits), bits=bits)
    m.pillow("gray_clear.png", Image.fromarray(gray), transparency=7, want=gray)
    m.pillow("clear_palette.png", image.quantize(16), transparency=bytes(
        range(0, 160, 10)))


def others(m):
    rgb, gray, image = m.rgb, m.gray, Image.fromarray(m.rgb)
    source = m.folder + ".source.png"
    image.save(source)
    for name, words in (("rle8.bmp", "-colors 200 -type Palette -compress RLE"),
                        ("v2.bmp", "BMP2"), ("v3.bmp", "BMP3"),
                        ("rgb565.bmp", "-define bmp:subtype=RGB565"),
                        ("plain.pnm", "-compress none PNM"), ("bits.pbm", "PBM"),
                        ("plain.pbm", "-compress none PBM"),
                        ("plain.pgm", "-colorspace Gray -compress none PGM"),
                        ("rgb.ppm", "PPM")):
        words = words.split()
        out = "OUT"
        if words[-1].isupper() and words[-1] != "RLE" and words[-1][0] in "BP":
            out = words.pop() + ":OUT"
        m.tool(name, "convert", source, *words, out, bound=int("565" in name))
    m.tool("rgb.pam", "convert", source, "PAM:OUT", pages=[rgb])
    os.remove(source)
    for name, pixels in (("deep.pgm", gray.astype(np.uint16) * 257),
                         ("deep.ppm", rgb.astype(np.uint16) * 257)):
        with open(m.path(name), "wb") as file:
            file.write(f"P{5 if pixels.ndim == 2 else 6}\n{WIDTH} {HEIGHT}\n65535\n"
                       .encode() + pixels.astype(">u2").tobytes())
        m.keep(name, [pixels])
    for name, pixels, options in (
            ("rgb.j2k", rgb, {"codecformat": "j2k"}),
            ("gray16.jp2", gray.astype(np.uint16) * 257, {"codecformat": "jp2"}),
            ("rgb16.jp2", rgb.astype(np.uint16) * 257, {"codecformat": "jp2"}),
            ("one_level.jp2", rgb, {"codecformat": "jp2", "resolutions": 1})):
        with open(m.path(name), "wb") as file:
            file.write(imagecodecs.jpeg2k_encode(pixels, level=0,
                                                 reversible=True, **options))
        m.keep(name, [pixels])
    image.save(m.path("tiles.jp2"), tile_size=(64, 64), irreversible=False)
    m.keep("tiles.jp2", [rgb])
    rgba = np.dstack([rgb, gray])
    for name, options in (("lossless.webp", {"lossless": True}),
                          ("exact.webp", {"lossless": True, "exact": True})):
        Image.fromarray(rgba).save(m.path(name), **options)
        m.keep(name, [np.asarray(Image.open(m.path(name)))], way="png", bound=0)
    m.pillow("small.webp", image, quality=10, method=6)
    heif(m, rgba)


def heif(m, rgba):
    import pillow_heif
    pillow_heif.register_heif_opener()
    image = Image.fromarray(m.rgb)
    for name, picture, options in (
            ("444.heic", image, {"quality": 95, "chroma": 444}),
            ("alpha.heic", Image.fromarray(rgba), {"quality": 95, "chroma": 444}),
            ("gray.heic", Image.fromarray(m.gray), {"quality": 95}),
            ("444.avif", image, {"quality": 95, "subsampling": "4:4:4"}),
            ("alpha.avif", Image.fromarray(rgba),
             {"quality": 95, "subsampling": "4:4:4"}),
            ("gray.avif", Image.fromarray(m.gray), {"quality": 95,
                                                    "subsampling": "4:0:0"})):
        picture.save(m.path(name), **options)
        seen = Image.open(m.path(name))
        mode = "RGBA" if "alpha" in name else "L" if "gray" in name else "RGB"
        m.keep(name, [np.asarray(seen.convert(mode))], way="png", bound=3)


def animations(m):
    frames = []
    for k in range(7):
        pixels = np.zeros((60, 80, 4), np.uint8)
        pixels[10:50, 10:70] = [40 * k, 90, 200 - 20 * k, 255]
        pixels[5 * k:5 * k + 15, 6 * k:6 * k + 20] = [255, 30 * k, 0, 255]
        frames.append(Image.fromarray(pixels))
    more = {"save_all": True, "append_images": frames[1:], "duration": 70}

    def seen(name):
        file = Image.open(m.path(name))
        return [np.asarray(f.convert("RGBA")) for f in ImageSequence.Iterator(file)]
    for disposal in (0, 1):
        for blend in (0, 1):
            name = f"d{disposal}b{blend}.png"
            frames[0].save(m.path(name), disposal=disposal, blend=blend, **more)
            shown = seen(name)
            m.keep(name, shown[:1], way="png", bound=0, frames=shown)
    name = "clear.webp"
    frames[0].save(m.path(name), lossless=True, **more)
    m.keep(name, seen(name)[:1], way="png", bound=0, frames=seen(name))
    for disposal in (0, 1, 2, 3):
        name = f"d{disposal}.gif"
        frames[0].save(m.path(name), disposal=disposal, **more)
        raw = subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-i", m.path(name), "-vsync",
             "passthrough", "-f", "rawvideo", "-pix_fmt", "rgba", "-"], check=True,
            capture_output=True).stdout
        shown = list(np.frombuffer(raw, np.uint8).reshape(-1, 60, 80, 4))
        m.keep(name, shown[:1], way="png", bound=0, frames=shown)


def dicom(m, name, pixels, frames=1, syntax="1.2.840.10008.1.2.1", encoded=None,
          pages=None, way="npy", bound=None, **attributes):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7.2"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    meta.TransferSyntaxUID = syntax
    ds = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    ds.SOPClassUID, ds.SOPInstanceUID = meta.MediaStorageSOPClassUID, "1.2.3"
    if frames > 1:
        ds.NumberOfFrames = frames
    ds.Rows, ds.Columns = HEIGHT, WIDTH
    color = pixels[0].ndim == 3
    ds.SamplesPerPixel = 3 if color else 1
    ds.PhotometricInterpretation = "RGB" if color else "MONOCHROME2"
    if color:
        ds.PlanarConfiguration = 0
    size = pixels[0].itemsize * 8
    ds.BitsAllocated, ds.BitsStored, ds.HighBit = size, size, size - 1
    ds.PixelRepresentation = int(pixels[0].dtype.kind == "i")
    for key, value in attributes.items():
        setattr(ds, key, value)
    data = b"".join(p.tobytes() for p in pixels)
    ds.PixelData = encapsulate(encoded) if encoded else data + b"\0" * (len(data) % 2)
    ds["PixelData"].VR = "OB" if encoded or size == 8 else "OW"
    ds["PixelData"].is_undefined_length = bool(encoded)
    ds.save_as(m.path(name), enforce_file_format=True)
    m.keep(name, pages or list(pixels), way=way, bound=bound)


def dicoms(m):
    rgb, gray = m.rgb, m.gray
    deep = gray.astype(np.uint16) * 16
    dicom(m, "mono8.dcm", [gray])
    dicom(m, "mono16_window.dcm", [deep], BitsStored=12, HighBit=11,
          WindowCenter=2000, WindowWidth=900, RescaleIntercept=-1024,
          RescaleSlope=1)
    dicom(m, "signed16.dcm", [gray.astype(np.int16) - 99])
    dicom(m, "white.dcm", [gray], PhotometricInterpretation="MONOCHROME1",
          way="png", bound=0, pages=[255 - gray])
    dicom(m, "rgb.dcm", [rgb])
    dicom(m, "rgb_frames.dcm", [rgb, rgb[::-1].copy()], frames=2)
    planes = np.ascontiguousarray(np.moveaxis(rgb, -1, 0))
    dicom(m, "rgb_planes.dcm", [rgb], PlanarConfiguration=1)
    ds = pydicom.dcmread(m.path("rgb_planes.dcm")) if m.wants(
        "rgb_planes.dcm") else None
    if ds is not None:
        ds.PixelData = planes.tobytes() + b"\0" * (planes.size % 2)
        ds.save_as(m.path("rgb_planes.dcm"))
    table = np.random.default_rng(8).integers(0, 65536, (3, 256)).astype(np.uint16)
    luts = {}
    for color, values in zip(("Red", "Green", "Blue"), table):
        luts[f"{color}PaletteColorLookupTableDescriptor"] = [256, 0, 16]
        luts[f"{color}PaletteColorLookupTableData"] = values.tobytes()
    dicom(m, "palette.dcm", [gray], PhotometricInterpretation="PALETTE COLOR",
          pages=[table[:, gray].transpose(1, 2, 0)], way="png", bound=0, **luts)
    encoded = [imagecodecs.jpeg8_encode(p, level=95) for p in (gray, gray[::-1])]
    dicom(m, "jpeg.dcm", [gray, gray[::-1].copy()], frames=2,
          syntax="1.2.840.10008.1.2.4.50", encoded=encoded, bound=0,
          pages=[imagecodecs.jpeg8_decode(e) for e in encoded])
    dicom(m, "jpeg_lossless.dcm", [deep], syntax="1.2.840.10008.1.2.4.70",
          encoded=[imagecodecs.ljpeg_encode(deep)], BitsStored=16)
    dicom(m, "jpeg_ls.dcm", [gray], syntax="1.2.840.10008.1.2.4.80",
          encoded=[imagecodecs.jpegls_encode(gray)])
    dicom(m, "jpeg2000.dcm", [deep], syntax="1.2.840.10008.1.2.4.90",
          encoded=[imagecodecs.jpeg2k_encode(deep, level=0, reversible=True,
                                             codecformat="j2k")])
    dicom(m, "jpeg2000_rgb.dcm", [rgb], syntax="1.2.840.10008.1.2.4.90",
          encoded=[imagecodecs.jpeg2k_encode(rgb, level=0, reversible=True,
                                             codecformat="j2k", mct=True)],
          PhotometricInterpretation="YBR_RCT")
    if m.wants("runs16.dcm"):
        dicom(m, "runs16.dcm", [deep])
        ds = pydicom.dcmread(m.path("runs16.dcm"))
        ds.compress("1.2.840.10008.1.2.5", generate_instance_uid=False)
        ds.save_as(m.path("runs16.dcm"))


def make(folder, only):
    m = Maker(folder, only)
    for part in (tiff_compressions, tiff_samples, tiff_many, tiff_tools, jpegs,
                 pngs, others, animations, dicoms):
        part(m)
    return m.kinds
