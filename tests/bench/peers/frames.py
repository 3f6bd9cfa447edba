#!/usr/bin/env python3
"""Rivals of `rowfs bench frames` that are libraries, each in this process:

    frames.py pyav|torchcodec FILE all | frames N...

Prints {"frames": n, "ms": milliseconds}: frames as RGB in memory, nothing
encoded, the file opened once. Exit 77 when the library is not installed."""
import json
import sys
import time


def pyav(path):
    import av
    container = av.open(path)
    stream = container.streams.video[0]
    stream.thread_type = "NONE"

    def everything():
        count = 0
        for frame in container.decode(stream):
            frame.to_ndarray(format="rgb24")
            count += 1
        return count

    def one(number):
        rate = stream.average_rate
        target = round(number / rate / stream.time_base) + (
            stream.start_time or 0)
        container.seek(target, stream=stream)
        for frame in container.decode(stream):
            if frame.pts >= target:
                frame.to_ndarray(format="rgb24")
                return

    return everything, one


def torchcodec(path):
    from torchcodec.decoders import VideoDecoder
    decoder = VideoDecoder(path, num_ffmpeg_threads=1)

    def everything():
        for i in range(len(decoder)):
            decoder[i]  # pylint: disable=pointless-statement
        return len(decoder)

    return everything, lambda number: decoder[number]


def main():
    name, path, what, *numbers = sys.argv[1:]
    try:
        everything, one = {"pyav": pyav, "torchcodec": torchcodec}[name](path)
    except (ImportError, OSError, RuntimeError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(77)
    begin = time.perf_counter()
    if what == "all":
        count = everything()
    else:
        for number in numbers:
            one(int(number))
        count = len(numbers)
    ms = (time.perf_counter() - begin) * 1e3
    print(json.dumps({"frames": count, "ms": round(ms, 3)}))


if __name__ == "__main__":
    main()
