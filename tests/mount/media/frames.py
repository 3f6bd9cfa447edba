"""Every shown frame read from a mount equals the frame of one sequential ffmpeg
decode, forwards, backwards and shuffled; times are those of ffprobe. For
generated videos, and for all shared samples that ffmpeg decodes; ingested and
as plain files."""
import hashlib
import json
import random
import shutil
import subprocess
from decimal import Decimal

import mounted as m

FRAMES_MAX = 150  # of one file that are compared in order


def sequential(path):
    """MD5 of each frame as RGB, of the video stream rowfs shows."""
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries",
         "stream=width,height,color_space", "-of", "json", str(path)],
        capture_output=True, text=True, check=False)
    if probe.returncode != 0 or not json.loads(probe.stdout)["streams"]:
        return []
    stream = json.loads(probe.stdout)["streams"][0]
    flags = "flags=" + m.FLAGS
    if stream.get("color_space", "unknown") == "unknown" and (
            stream["height"] > 576 or stream["width"] >= 1280):
        flags += ":in_color_matrix=bt709"
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", str(path),
         "-map", "0:V:0", "-vsync", "passthrough", "-vf",
         f"scale={flags},format=rgb24", "-f", "framemd5", "-"],
        capture_output=True, text=True, timeout=240, check=False)
    return [line.split(",")[-1].strip() for line in done.stdout.splitlines()
            if line and line[0] != "#"]


def ppm_md5(path):
    data = path.read_bytes()
    begin = 0
    for _ in range(3):  # P6, size, maxval
        begin = data.index(b"\n", begin) + 1
    return hashlib.md5(data[begin:]).hexdigest()


def times(path):
    """Seconds of the shown frames; None where ffprobe does not know them."""
    text = m.run("ffprobe", "-v", "error", "-select_streams", "V:0",
                 "-show_entries", "frame=best_effort_timestamp", "-of",
                 "csv=p=0", path)
    if "N/A" in text:
        return None
    base = m.run("ffprobe", "-v", "error", "-select_streams", "V:0",
                 "-show_entries", "stream=time_base", "-of", "csv=p=0", path)
    num, den = base.split()[0].strip(",").split("/")
    stamps = [int(x.strip(",")) for x in text.split() if x.strip(",")]
    return [Decimal(t) * int(num) / int(den) for t in sorted(stamps)]


def check_file(checks, source, row, exact_times):
    expected = sequential(source)
    frames = m.only(row, ".frames")
    try:
        names = sorted(x.name for x in frames.iterdir()) if frames else None
    except OSError:
        names = None
    if names is None:
        # A file that ffmpeg decodes must have frames; others need none.
        checks.equal(expected, [], f"{source.name}: no frames view")
        return
    checks.equal(len(names), len(expected), f"{source.name}: frames")
    if len(names) != len(expected):
        return
    order = list(range(min(len(names), FRAMES_MAX)))
    some = random.Random(7).sample(order, min(len(order), 12))
    # First those that nothing was decoded before.
    for way in (some, order[::-1][:12], order):
        for k in way:
            path = frames / (names[k].rsplit(".", 1)[0] + ".ppm")
            checks.equal(ppm_md5(path), expected[k], f"{source.name} frame {k}")
    if exact_times:
        info = json.loads(m.only(row, ".info.json").read_text(),
                          parse_float=Decimal)
        shown = [Decimal(t) for t in info["frame_times"]]
        real = times(source)
        if real is None:
            return
        checks.equal([t - shown[0] for t in shown],
                     [t - real[0] for t in real], f"{source.name}: times")


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    videos = folder / "videos"
    videos.mkdir()
    made = {
        "h264.mp4": ["-f", "lavfi", "-i", "sine=duration=2", "-c:v", "libx264",
                     "-g", "20", "-bf", "3", "-pix_fmt", "yuv420p", "-c:a",
                     "aac"],
        "vp9.webm": ["-c:v", "libvpx-vp9", "-b:v", "200k", "-g", "20",
                     "-deadline", "realtime", "-cpu-used", "8"],
        "mpeg4.avi": ["-c:v", "mpeg4", "-g", "12", "-bf", "2"],
        "mpeg2.ts": ["-c:v", "mpeg2video", "-g", "12", "-bf", "2"],
        "vfr.mkv": ["-vf", "select='not(eq(mod(n\\,5)\\,3))'", "-vsync", "vfr",
                    "-c:v", "libx264", "-g", "15", "-pix_fmt", "yuv420p"],
        # Equal in all but their pictures: so are their indexes.
        "twin.avi": ["-vf", "scale=32:24", "-c:v", "rawvideo", "-pix_fmt",
                     "yuv420p"],
        "twin2.avi": ["-vf", "negate,scale=32:24", "-c:v", "rawvideo",
                      "-pix_fmt", "yuv420p"],
        "turned.mp4": ["-c:v", "libx264", "-g", "10", "-pix_fmt", "yuv420p",
                       "-metadata:s:v", "rotate=90"],
        "turned2.mp4": ["-c:v", "libx264", "-g", "10", "-pix_fmt", "yuv422p",
                        "-metadata:s:v", "rotate=270"],
        "ten.mkv": ["-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params",
                    "log-level=none:keyint=20"],
    }
    for name, words in made.items():
        m.make(videos / name, *words)
    for source in m.shared_media():
        if source.suffix not in (".mp3", ".wav"):
            shutil.copy(source, videos / source.name)
    dataset = folder / "set.lance"
    m.run(rowfs, "ingest", videos, "--output", dataset)
    for source in (dataset, videos):
        with m.mounted(rowfs, source, folder / "mnt") as root:
            for path in sorted(videos.iterdir()):
                check_file(checks, path, m.row_of(root, path.name),
                           path.name in made)
    checks.end()


main()
