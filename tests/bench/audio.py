#!/usr/bin/env python3
"""One second of a two-hour recording, in one run: through the mount, with
ffmpeg -ss, and with soundfile where it is installed.

Makes recordings, ingests and mounts them, and prints one line a figure: ours,
the peer's, the ratio.
"""
import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

from images import Server, compare, over_fsspec

KINDS = {"wav": ["-c:a", "pcm_s16le"], "flac": ["-c:a", "flac"],
         "mp3": ["-c:a", "libmp3lame", "-b:a", "128k"],
         "opus": ["-c:a", "libopus", "-b:a", "64k"]}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True).stdout


def make_sound(path, seconds, codec):
    run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
        f"sine=frequency=300:beep_factor=3:sample_rate=48000:duration={seconds}",
        "-ac", "2", *codec, str(path))


def timed(function, argument):
    begin = time.perf_counter()
    function(argument)
    return (time.perf_counter() - begin) * 1e3


def with_ffmpeg(path, at):
    run("ffmpeg", "-v", "error", "-nostdin", "-ss", str(at), "-t", "1", "-i",
        str(path), "-f", "wav", "-")


def with_soundfile(path, at):
    import soundfile
    with soundfile.SoundFile(str(path)) as sound:
        sound.seek(at * sound.samplerate)
        sound.read(sound.samplerate, dtype="int16")


def read(path):
    with open(path, "rb") as file:
        file.read()


def report(name, ours, peer, peer_name):
    print(json.dumps({"figure": f"{name} ({peer_name})",
                      "rowfs": round(ours, 3), "peer": round(peer, 3),
                      "unit": "ms", "ratio": round(ours / peer, 3)}),
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    seconds = 60 if args.smoke else 7200
    work = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-bench-"))
    mount = work / "mount"
    try:
        (work / "in").mkdir()
        for kind, codec in KINDS.items():
            make_sound(work / "in" / f"{kind}.{kind}", seconds, codec)
        run(args.rowfs, "ingest", str(work / "in"), "--output",
            str(work / "ds"))
        run(args.rowfs, "mount", str(work / "ds"), str(mount), "--cache-dir",
            str(work / "cache"))
        try:
            measure(work, mount, seconds)
        finally:
            run(args.rowfs, "umount", str(mount))
        remote(args.rowfs, work, mount, seconds)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def measure(work, mount, seconds):
    peers = {"ffmpeg": with_ffmpeg}
    try:
        import soundfile  # noqa: F401
        peers["soundfile"] = with_soundfile
    except ImportError:
        print(json.dumps({"left out": "soundfile (pip install soundfile)"}))
    for row, kind in enumerate(sorted(KINDS)):
        source = work / "in" / f"{kind}.{kind}"
        folder = mount / "rows" / f"{row:06d}" / "audio.segments"
        names = sorted(p.name for p in folder.iterdir())
        times = random.Random(3).sample(range(seconds - 1),
                                        10 if seconds < 100 else 40)
        read(folder / names[-1])  # open what is opened once
        ours = statistics.median(
            timed(read, folder / names[at]) for at in times)
        for name, peer in peers.items():
            try:
                theirs = statistics.median(
                    timed(lambda t: peer(source, t), at) for at in times)
            except Exception as error:  # a format the peer does not read
                print(json.dumps({"figure": f"1 s of {kind} ({name})",
                                  "failed": str(error)[:100]}))
                continue
            report(f"1 s of {seconds} s {kind}", ours, theirs, name)


def remote(rowfs, work, mount, seconds):
    """The same 30 ms away, with soundfile over fsspec."""
    server = Server(str(work), 0.03)

    def count(name, work_of, times):
        before = server.requests, server.bytes
        spent = statistics.median(timed(work_of, at) for at in times)
        each = [(now - then) / len(times) for now, then in zip(
            (server.requests, server.bytes), before)]
        print(json.dumps({"figure": name, "ms": round(spent), "requests":
                          round(each[0], 2), "bytes": round(each[1])}),
              flush=True)
        return spent, *each

    run(rowfs, "mount", server.url() + "/ds", str(mount), "--cache-dir",
        str(work / "cache2"))
    try:
        for row, kind in enumerate(sorted(KINDS)):
            folder = mount / "rows" / f"{row:06d}" / "audio.segments"
            times = random.Random(5).sample(range(seconds - 1), 6)
            read(folder / f"{seconds - 1:06d}.wav")
            ours = count(f"1 s of {kind} 30 ms away", lambda at: read(
                folder / f"{at:06d}.wav"), times)
            opener = over_fsspec(f"{server.url()}/in/{kind}.{kind}")
            try:
                import soundfile
            except ImportError:
                continue
            if opener is None:
                continue

            def peer(at):
                with opener() as file, soundfile.SoundFile(file) as sound:
                    sound.seek(at * sound.samplerate)
                    sound.read(sound.samplerate, dtype="int16")
            try:
                theirs = count(f"1 s of {kind}, soundfile over fsspec", peer,
                               times[:3])
            except Exception as error:  # a format the peer does not read
                print(json.dumps({"figure": f"{kind}, soundfile over fsspec",
                                  "failed": str(error)[:100]}))
                continue
            compare("rowfs", ours, theirs)
    finally:
        run(rowfs, "umount", str(mount))


if __name__ == "__main__":
    main()
