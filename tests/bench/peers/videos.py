"""Videos to measure with, and how others decode parts of them."""
import subprocess


def encode(path, seconds, size, rate, kbits, sound=True):
    """H.264 with two B-frames and a GOP of 2 s, AAC, moov first."""
    words = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
             f"testsrc2=size={size}:rate={rate}:duration={seconds}"]
    if sound:
        words += ["-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}",
                  "-c:a", "aac", "-b:a", "64k"]
    subprocess.run(words + [
        "-vf", "noise=alls=3:allf=t", "-c:v", "libx264", "-preset", "ultrafast",
        "-b:v", f"{kbits}k", "-maxrate", f"{kbits * 3 // 2}k", "-bufsize",
        f"{kbits * 3}k", "-g", str(rate * 2), "-bf", "2", "-pix_fmt", "yuv420p",
        "-movflags", "+faststart", str(path)], check=True)


def long_video(path, minutes):
    """A minute that is encoded once and repeated."""
    minute = path.with_name("minute.mp4")
    encode(minute, 60, "640x360", 25, 372)
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-stream_loop",
                    str(minutes - 1), "-i", str(minute), "-c", "copy",
                    "-movflags", "+faststart", str(path)], check=True)
    minute.unlink()


class Packets:
    """The video packets of a file by PyAV, and the exact read of a window."""

    def __init__(self, path):
        import av
        self.path = path
        with av.open(str(path)) as file:
            stream = file.streams.video[0]
            self.tb = stream.time_base
            self.extradata = stream.codec_context.extradata
            self.list = [(p.pts, p.pos, p.size, p.is_keyframe)
                         for p in file.demux(stream) if p.size]

    def plan(self, begin, end):
        """Of the packets from the key frame to the last one needed: first and
        last, the wanted times, span in the file, sum of sizes."""
        lo, hi = begin / self.tb, end / self.tb
        want = [i for i, p in enumerate(self.list) if lo <= p[0] < hi]
        first = min(self.list[i][0] for i in want)
        key = max(i for i in range(min(want) + 1)
                  if self.list[i][3] and self.list[i][0] <= first)
        span = self.list[key:max(want) + 1]
        return {"key": key, "last": max(want), "begin": span[0][1],
                "end": span[-1][1] + span[-1][2],
                "want": {self.list[i][0] for i in want},
                "bytes": sum(p[2] for p in span)}


class Decoder:
    """libavcodec on packets out of one range, one thread, frames as RGB."""

    def __init__(self, packets):
        import av
        self.av, self.packets = av, packets
        self.context = av.CodecContext.create("h264", "r")
        self.context.extradata = packets.extradata
        self.context.thread_count = 1
        self.scaler = av.video.reformatter.VideoReformatter()

    def frames(self, plan, data, key_only=False):
        self.context.flush_buffers()
        last = plan["key"] if key_only else plan["last"]
        count = 0
        for p in self.packets.list[plan["key"]:last + 1] + [None]:
            packet = None
            if p:
                at = p[1] - plan["begin"]
                packet = self.av.Packet(data[at:at + p[2]])
                packet.pts, packet.time_base = p[0], self.packets.tb
            for frame in self.context.decode(packet):
                if key_only or frame.pts in plan["want"]:
                    self.scaler.reformat(frame, format="rgb24").to_ndarray()
                    count += 1
        return count


def pyav_window(file, begin, end, keys=False):
    import av
    with av.open(file) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        if keys:
            stream.codec_context.skip_frame = "NONKEY"
        container.seek(int(begin / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            if frame.time >= end:
                break
            if keys or frame.time >= begin:
                frame.to_ndarray(format="rgb24")
                if keys:
                    break


def whole_clip(path):
    """All frames of a clip as RGB; how many."""
    import av
    scaler, count = av.video.reformatter.VideoReformatter(), 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for frame in container.decode(stream):
            scaler.reformat(frame, format="rgb24").to_ndarray()
            count += 1
    return count
