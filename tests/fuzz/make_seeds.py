"""Small good inputs for the fuzz targets: make_seeds.py ROWFS [CORPUS].

Writes into tests/corpus; needs pylance, pyarrow, Pillow and ffmpeg. Inputs that
were found by fuzzing, or made bad by hand, lie in the same folders under other
names and stay as they are."""
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zlib

import lance
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from PIL import Image, ImageDraw

ROWFS = os.path.abspath(sys.argv[1])
CORPUS = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else
                         os.path.dirname(__file__) + "/../corpus")


def put(target, name, data):
    os.makedirs(f"{CORPUS}/{target}", exist_ok=True)
    with open(f"{CORPUS}/{target}/{name}", "wb") as out:
        out.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def ffmpeg(path, *words):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *words, path], check=True)


# Tables

def columns(rows):
    every = range(rows)
    return {
        "numbers": pa.table({"i": pa.array(every, pa.int32()),
                             "f": pa.array([x / 2 for x in every]),
                             "b": pa.array([x % 3 == 0 for x in every])}),
        "strings": pa.table({"s": [f"row {x}" if x % 4 else None
                                   for x in every],
                             "z": pa.array([b"\0" * (x % 7) for x in every])}),
        "nested": pa.table({"l": [[x, None] if x % 3 else [] for x in every],
                            "t": [{"a": x, "b": str(x)} if x % 5 else None
                                  for x in every]}),
        "fixed": pa.table({"v": pa.array([[x, x + 1] for x in every],
                                         pa.list_(pa.float32(), 2))}),
        "same": pa.table({"c": [7] * rows,
                          "d": pa.array(["x", "y"] * (rows // 2))
                          .dictionary_encode()}),
        "long": pa.table({"s": [chr(97 + x % 26) * 150 for x in every]}),
    }


def lance_files(scratch):
    for version in ("2.0", "2.1", "2.2", "2.3"):
        for name, table in columns(8).items():
            path = f"{scratch}/{name}_{version}.lance"
            try:
                lance.write_dataset(table, path, data_storage_version=version)
            except Exception as error:  # a version that does not know a type
                print(f"{name} {version}: {error}"[:100])
                continue
            (data,) = os.listdir(path + "/data")
            put("lance_file", f"{name}_{version}", read(f"{path}/data/{data}"))
    path = f"{scratch}/manifests.lance"
    dataset = lance.write_dataset(columns(8)["numbers"], path,
                                  enable_stable_row_ids=True)
    dataset.delete("i = 3")
    lance.write_dataset(columns(4)["numbers"], path, mode="append")
    lance.dataset(path).delete("i % 2 = 0")
    for folder in ("_versions", "_deletions", "_transactions"):
        for i, name in enumerate(sorted(os.listdir(f"{path}/{folder}"))):
            kind = name.rsplit(".", 1)[-1]
            if kind in ("manifest", "arrow", "bin", "txn"):
                put("lance_manifest", f"{folder[1:]}_{i}_{kind}",
                    read(f"{path}/{folder}/{name}"))


def table_files(scratch):
    for name, table in columns(6).items():
        pyarrow.parquet.write_table(table, f"{scratch}/t", compression="zstd")
        put("table_file", f"{name}_parquet", read(f"{scratch}/t"))
        pyarrow.feather.write_feather(table, f"{scratch}/t",
                                      compression="uncompressed")
        put("table_file", f"{name}_arrow", read(f"{scratch}/t"))
    pyarrow.parquet.write_table(
        columns(6)["strings"], f"{scratch}/t", compression="snappy",
        data_page_version="2.0", column_encoding="PLAIN", use_dictionary=False)
    put("table_file", "strings_page2_parquet", read(f"{scratch}/t"))


def references():
    for name, text in {
            "zip": "zip://a/b.jpg::media/pack-0000.zip",
            "tar": "tar://00/x.cls::train-000.tar",
            "url": "zip://a.png::https://data.example/set/m/p.zip",
            "other_host": "zip://a.png::https://127.1/p.zip",
            "user": "https://data.example@[::1]/set/p.zip",
            "parents": "zip://../a::media/%2e%2e/../../p.zip",
            "file": "zip://a::file:///etc/passwd",
            "buckets": "s3://bucket/key", "hub": "hf://datasets/o/n@r/x",
            "colons": "zip://a:::b::c", "empty": "zip://::",
            "key": "photos/\u00e9\u200b x.jpg"}.items():
        put("reference", name, text.encode())


# Media

def media(folder):
    os.makedirs(folder)
    picture = ["-f", "lavfi", "-i", "testsrc2=size=32x32:rate=5:duration=1"]
    sound = ["-f", "lavfi", "-i", "sine=frequency=440:duration=1"]
    ffmpeg(f"{folder}/h264.mp4", *picture, *sound, "-c:v", "libx264", "-g", "3",
           "-c:a", "aac", "-b:a", "16k")
    ffmpeg(f"{folder}/vp9.webm", *picture, "-c:v", "libvpx-vp9", "-g", "2")
    ffmpeg(f"{folder}/mpeg2.ts", *picture, *sound, "-c:v", "mpeg2video",
           "-c:a", "mp2")
    ffmpeg(f"{folder}/mjpeg.avi", *picture, "-c:v", "mjpeg")
    for name, words in {"pcm.wav": "pcm_s16le", "lossless.flac": "flac",
                        "packets.mp3": "libmp3lame", "opus.ogg": "libopus",
                        "aac.m4a": "aac"}.items():
        ffmpeg(f"{folder}/{name}", *sound, "-ar", "48000", "-c:a", words)
    pages = [Image.new("RGB", (40, 30), c) for c in ("red", "green", "blue")]
    for i, page in enumerate(pages):
        ImageDraw.Draw(page).line((0, i, 30, 20), fill="white")
    pages[0].save(f"{folder}/pages.tif", save_all=True,
                  append_images=pages[1:], compression="tiff_lzw")
    pages[0].save(f"{folder}/moves.gif", save_all=True, append_images=pages[1:])
    pages[0].save(f"{folder}/one.jpg")
    pages[0].save(f"{folder}/one.png")
    pages[0].save(f"{folder}/pages.pdf", save_all=True, append_images=pages[1:])


# Of the fixed head of stream_info: its size, and where it tells size and CRC of
# what follows in it; 12 bytes on, the same of entries.
HEADS = {b"RVI1": ("video", 256, 101), b"RAU1": ("audio", 256, 70),
         b"RMI1": ("image", 128, 72)}


def put_index(plugin, name, info, entries):
    put(plugin + "_index", name.replace(".", "_"),
        struct.pack("<H", len(info)) + info + entries)


def kept(scratch, folder):
    """Indexes of files as they are, and the catalog that holds them."""
    path, names = f"{scratch}/index", sorted(os.listdir(folder))
    subprocess.run([ROWFS, "index", "build", folder, "--output", path,
                    "--name-column", "file_name"], check=True)
    file = sqlite3.connect(path, isolation_level=None)
    rows = file.execute("SELECT key, plugin, stream_info, entries FROM media "
                        "WHERE code=0 AND length(plugin)>0").fetchall()
    for key, plugin, info, entries in rows:
        put_index(plugin.decode(), "kept_" + names[int(key.split(b"/")[0])],
                  info, entries)
    least = min(rows, key=lambda row: len(row[2]) + len(row[3]))[0]
    file.execute("DELETE FROM media WHERE key<>?", (least,))
    file.execute("UPDATE media SET key=?", (least,))
    file.execute("UPDATE snapshot SET fingerprint=?", (b"fuzz",))
    print("catalog:", least, file.execute(
        "SELECT column_key FROM value_index UNION ALL "
        "SELECT column_key FROM name_index").fetchall())
    for sql in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=512", "VACUUM"):
        file.execute(sql).fetchall()
    file.close()
    put("catalog", "small", read(path))


def cells(data):
    """(plugin, stream_info, entries) wherever they lie in a data file"""
    for magic, (plugin, size, at) in HEADS.items():
        begin = data.find(magic)
        while begin >= 0:
            head = data[begin:begin + size]
            rest, _, count, crc = struct.unpack_from("<QIQI", head, at)
            for i in range(len(data) - count + 1):
                if zlib.crc32(data[i:i + count]) == crc:
                    yield (plugin, data[begin:begin + size + rest],
                           data[i:i + count])
                    break
            begin = data.find(magic, begin + 1)


def stored(scratch, folder):
    """Indexes of what ingest makes of the files."""
    path = f"{scratch}/stored"
    subprocess.run([ROWFS, "ingest", folder, "--output", path], check=True)
    for name in sorted(os.listdir(path + "/data")):
        if not name.endswith(".lance"):
            continue
        for i, found in enumerate(cells(read(f"{path}/data/{name}"))):
            put_index(found[0], f"stored_{i}", *found[1:])


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch + "/cache"
        references()
        lance_files(scratch)
        table_files(scratch)
        media(f"{scratch}/media")
        kept(scratch, f"{scratch}/media")
        stored(scratch, f"{scratch}/media")


if __name__ == "__main__":
    main()
