#!/usr/bin/env python3
"""Ten windows of 500 ms from a long video on S3, and one frame of each of many
clips, against what people use today, in one run behind one counting proxy.

Server: Ceph's radosgw where it is installed, else moto. Rivals that are not
installed are left out. One JSON object a figure: requests, bytes, rounds, ms.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "faults"))
import common  # noqa: E402
import gateway  # noqa: E402


def start_server():
    """(host, environment, stop)"""
    import shutil
    if all(shutil.which(name) for name in gateway.NEEDED):
        server = gateway.Gateway()
        gateway.client(server).create_bucket(
            Bucket="bkt", ACL="public-read")
        return server.host, gateway.keys_of(""), server.stop
    host, keys = common.moto()
    return host, keys, lambda: None


def long_video(path, minutes):
    """A minute that is encoded once and repeated: 640x360, GOP of 2 s, AAC."""
    minute = path.with_suffix(".minute.mp4")
    run = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
    subprocess.run(run + [
        "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=60",
        "-f", "lavfi", "-i", "sine=frequency=440:duration=60", "-vf",
        "noise=alls=3:allf=t", "-c:v", "libx264", "-preset", "ultrafast",
        "-b:v", "372k", "-maxrate", "500k", "-bufsize", "1M", "-g", "50", "-bf",
        "2", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "64k", str(minute)],
        check=True)
    subprocess.run(run + ["-stream_loop", str(minutes - 1), "-i", str(minute),
                          "-c", "copy", "-movflags", "+faststart", str(path)],
                   check=True)
    minute.unlink()


class Bench:
    def __init__(self, args):
        self.args = args
        self.host, self.keys, self.stop = start_server()
        self.proxy = common.Proxy(self.host)
        self.keys = {**self.keys, "AWS_ENDPOINT_URL": self.proxy.url}
        self.rowfs = common.Rowfs(args.rowfs, self.keys)
        self.folder = self.rowfs.folder
        self.minutes = 2 if args.smoke else 40
        self.clips = 6 if args.smoke else 30

    def report(self, name, ms, windows, log=None):
        log = self.proxy.take() if log is None else log
        print(json.dumps({
            "figure": name, "latency_ms": round(self.proxy.latency * 1e3),
            "requests": len(log), "bytes": sum(e[4] for e in log),
            "rounds": common.rounds(log), "ms": round(ms / windows, 2),
            "per": "window" if windows == 10 else "clip"}), flush=True)

    def write(self):
        (self.folder / "long").mkdir()
        long_video(self.folder / "long/a.mp4", self.minutes)
        common.make_clips(self.folder / "clips", self.clips, seconds=6)
        for name in ("long", "clips"):
            self.rowfs.run("ingest", self.folder / name, "--output",
                           f"s3://bkt/{name}.lance")
        data = (self.folder / "long/a.mp4").read_bytes()
        self.put_object("a.mp4", data)
        choose = random.Random(8739)
        length = self.minutes * 60
        self.starts = sorted(choose.uniform(0, length - 1) for _ in range(10))

    def put_object(self, key, data):
        if isinstance(self.stop, type(lambda: None)):
            common.request(self.host, "PUT", f"/bkt/{key}", data)
        else:
            self.s3().put_object(Bucket="bkt", Key=key, Body=data,
                                 ACL="public-read")

    def s3(self):
        import boto3
        return boto3.client(
            "s3", endpoint_url=f"http://{self.host}",
            aws_access_key_id=self.keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.keys["AWS_SECRET_ACCESS_KEY"],
            region_name="us-east-1")

    # ---- the windows

    def mounted(self):
        """Ten windows as playable clips, copied by a shell tool."""
        source = "s3://bkt/long.lance"
        self.rowfs.fresh_cache()
        with self.rowfs.mount(source) as mount:
            os.listdir(mount / "rows/000000")
            (mount / "rows/000000/video.info.json").stat()
            (mount / "rows/000000/video.at/0.png").read_bytes()
            self.proxy.take()
            begin = time.perf_counter()
            for at in self.starts:
                clip = mount / f"rows/000000/video.clips/{at:.3f}-{at + .5:.3f}.mp4"
                subprocess.run(["cp", clip, self.folder / "clip.mp4"],
                               check=True)
            self.report("rowfs mount, cp of ten clips",
                        (time.perf_counter() - begin) * 1e3, 10)

    def extracted(self):
        """Ten windows as frames, a process a window, the index kept on disk."""
        source = "s3://bkt/long.lance"
        plans, decode, total = [], [], []

        def window(at):
            done = self.rowfs.run(
                "extract-frame", source, "--column", "video", "--row", 0,
                "--from", f"{at:.3f}", "--to", f"{at + .5:.3f}", "--format",
                "ppm", "--output", self.folder / "frames", "--stats",
                "--in-process")
            return json.loads(done.stdout)

        window(self.starts[0] / 2)  # the index is on disk from here on
        self.proxy.take()
        for at in self.starts:
            report = window(at)
            assert report["requests"] == 1, report
            plans += report["ranges"]
            decode.append(report["decode_ms"])
            total.append(report["read_ms"] + report["decode_ms"] +
                         report["plan_ms"])
        log = self.proxy.take()
        self.report("rowfs extract-frame, plan + read + decode", sum(total),
                    10, log)
        self.plans, self.decode_ms = plans, sum(decode)

    def limit(self):
        """The same ranges by one kept connection, and the same decoding."""
        import http.client
        connection = http.client.HTTPConnection(
            self.proxy.url.split("//")[1])
        connection.connect()
        self.proxy.take()
        begin = time.perf_counter()
        for offset, length in self.plans:
            # Of the plain object: unsigned, of the same size.
            connection.request("GET", "/bkt/a.mp4", headers={
                "Range": f"bytes={offset}-{offset + length - 1}"})
            connection.getresponse().read()
        ms = (time.perf_counter() - begin) * 1e3
        self.report("limit: exact GETs, kept connection, + rowfs decode",
                    ms + self.decode_ms, 10)

    def ffmpeg_url(self):
        url = self.proxy.url + "/bkt/a.mp4"
        begin = time.perf_counter()
        for at in self.starts:
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-ss",
                            f"{at:.3f}", "-i", url, "-t", "0.5", "-f",
                            "rawvideo", "-y", "/dev/null"], check=True)
        self.report("ffmpeg -ss on the URL, a process a window",
                    (time.perf_counter() - begin) * 1e3, 10)

    def blob_file(self):
        """take_blobs + PyAV, a new BlobFile and container for each window."""
        try:
            import av
            import lance
            import pyarrow
        except ImportError:
            return
        options = {"aws_endpoint": self.proxy.url, "allow_http": "true",
                   "aws_access_key_id": self.keys["AWS_ACCESS_KEY_ID"],
                   "aws_secret_access_key": self.keys["AWS_SECRET_ACCESS_KEY"],
                   "aws_region": "us-east-1",
                   "aws_virtual_hosted_style_request": "false"}
        uri = "s3://bkt/blob.lance"
        if not getattr(self, "has_blob", False):
            data = (self.folder / "long/a.mp4").read_bytes()
            table = pyarrow.table({"video": lance.blob_array([data])})
            lance.write_dataset(table, uri, storage_options=options,
                                data_storage_version="2.2")
            self.has_blob = True
        dataset = lance.dataset(uri, storage_options=options)
        dataset.take_blobs("video", indices=[0])[0].size()
        self.proxy.take()
        begin = time.perf_counter()
        for at in self.starts:
            file = dataset.take_blobs("video", indices=[0])[0]
            with av.open(file) as container:
                stream = container.streams.video[0]
                stream.thread_type = "NONE"
                container.seek(int(at / stream.time_base), stream=stream)
                for frame in container.decode(stream):
                    if frame.time >= at + 0.5:
                        break
                    if frame.time >= at:
                        frame.to_ndarray(format="rgb24")
        self.report("take_blobs + PyAV, fresh",
                    (time.perf_counter() - begin) * 1e3, 10)

    # ---- the clips

    def clip_frames(self):
        source = "s3://bkt/clips.lance"
        self.rowfs.fresh_cache()
        self.rowfs.run("prefetch", source, *[
            f"rows/{i:06d}/video.info.json" for i in range(self.clips)])
        self.proxy.take()
        trace = self.folder / "trace"
        trace.unlink(missing_ok=True)
        self.rowfs.run("prefetch", source, "--trace", trace, "--in-process", *[
            f"rows/{i:06d}/video.at/{2 + i / 20}.bmp"
            for i in range(self.clips)])
        log = [e for e in self.proxy.take() if e[2]]
        ms = (max(e[6] for e in log) - min(e[5] for e in log)) * 1e3
        self.report("rowfs prefetch, one frame of each clip", ms, self.clips,
                    log)

    def run(self):
        self.write()
        for latency in ([0] if self.args.smoke else [0, 5, 30]):
            self.proxy.latency = latency / 1e3
            for method in (self.extracted, self.limit, self.mounted,
                           self.blob_file, self.ffmpeg_url, self.clip_frames):
                self.proxy.take()
                method()
        self.rowfs.__exit__()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true")
    bench = Bench(parser.parse_args())
    try:
        bench.run()
    finally:
        bench.stop()


if __name__ == "__main__":
    main()
