"""An S3 server (Ceph's radosgw) behind a proxy that counts and delays, the
figures taken there, and the claims they have to meet."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "faults"))
import common  # noqa: E402
import gateway  # noqa: E402

for _name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY",
              "all_proxy", "ALL_PROXY", "AWS_PROFILE", "AWS_CA_BUNDLE"):
    os.environ.pop(_name, None)


class Rig:
    def __init__(self, program, memory="3G"):
        missing = [name for name in gateway.NEEDED if not shutil.which(name)]
        if missing:
            sys.exit(f"rowfs bench: no {' '.join(missing)}; "
                     "scripts/install_deps installs them")
        build = pathlib.Path(program).resolve().parent
        self.program, self.bare = str(program), str(build / "bare_reads")
        if not (build / "counting_proxy").exists():
            sys.exit("rowfs bench: build counting_proxy and bare_reads first")
        self.server = gateway.Gateway(memory)
        self.claims, self.latency_ms = [], 0
        self.proxy = subprocess.Popen(
            [build / "counting_proxy", self.server.host],
            stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.proxy.stdout.readline().strip()}"
        self.keys = gateway.keys_of(self.url)
        os.environ.update(self.keys)
        self.rowfs = common.Rowfs(program, self.keys)
        self.folder = self.rowfs.folder
        self.s3 = gateway.client(self.server)
        self.s3.create_bucket(Bucket="bkt")
        # Plain GETs of others need no signature.
        self.s3.put_bucket_policy(Bucket="bkt", Policy=json.dumps({
            "Version": "2012-10-17", "Statement": [{
                "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
                "Resource": ["arn:aws:s3:::bkt/*"]}]}))
        with open("/proc/loadavg") as file:
            print(f"{os.cpu_count()} cores, loopback, load "
                  f"{file.read().split()[0]}; latency is added to each request",
                  flush=True)

    def stop(self):
        self.proxy.kill()
        self.proxy.wait()
        self.server.stop()
        self.rowfs.__exit__()

    def control(self, path):
        with urllib.request.urlopen(f"{self.url}/.proxy/{path}") as answer:
            return answer.read().decode()

    def latency(self, ms):
        self.latency_ms = ms
        self.control(f"latency/{ms}")

    def take(self):
        """(method, path, range, status, bytes, start, end) of each request
        since the last time."""
        log = []
        for line in self.control("take").splitlines():
            method, path, span, status, size, start, end = line.split()
            log.append((method, path, None if span == "-" else span[6:],
                        int(status), int(size), float(start), float(end)))
        return [entry for entry in log if entry[0] != "HEAD" or
                not entry[1].startswith("/bkt/plain/")]

    @contextlib.contextmanager
    def upstream(self):
        """Not by the proxy: what is written is not what is measured."""
        environment = {"AWS_ENDPOINT_URL": f"http://{self.server.host}"}
        before = dict(self.rowfs.environment)
        self.rowfs.environment.update(environment)
        yield
        self.rowfs.environment.update(before)

    def ingest(self, folder, name, *options):
        with self.upstream():
            words = [self.program, "ingest", str(folder), "--output",
                     f"s3://bkt/{name}", *options]
            done = subprocess.run(words, env=self.rowfs.environment,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    def pylance(self, upstream=False):
        url = f"http://{self.server.host}" if upstream else self.url
        return {"aws_endpoint": url, "allow_http": "true",
                "aws_access_key_id": gateway.KEY,
                "aws_secret_access_key": gateway.SECRET,
                "aws_region": "us-east-1",
                "aws_virtual_hosted_style_request": "false"}

    def bare_reads(self, connections, key, ranges):
        lines = "".join(f"{begin} {end - begin}\n" for begin, end in ranges)
        done = subprocess.run(
            [self.bare, str(connections), f"{self.url}/bkt/{key}"],
            input=lines, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def bare_files(self, readers, paths):
        done = subprocess.run([self.bare, str(readers)], text=True,
                              input="".join(f"{p}\n" for p in paths),
                              capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def measure(self, name, work, per=1, repeat=1, before=None, show=True):
        """Median figures of `work()`, which may return its own ms."""
        runs = []
        for _ in range(repeat):
            if before:
                before()
            self.take()
            begin = time.perf_counter()
            ms = work()
            if ms is None:
                ms = (time.perf_counter() - begin) * 1e3
            log = self.take()
            io = (max(e[6] for e in log) - min(e[5] for e in log)) if log else 0
            runs.append({"requests": len(log), "rounds": common.rounds(log),
                         "bytes": sum(e[4] for e in log), "ms": ms / per,
                         "io_ms": io * 1e3, "log": log})
        middle = sorted(runs, key=lambda run: run["ms"])[len(runs) // 2]
        middle["ms"] = statistics.median(run["ms"] for run in runs)
        middle["io_ms"] = statistics.median(run["io_ms"] for run in runs)
        if show:
            print(f"{self.latency_ms:3} ms  {name:52}"
                  f"{middle['requests']:5} requests {middle['rounds']:4} rounds "
                  f"{middle['bytes']:12,} B {middle['ms']:9.1f} ms"
                  f"{middle['io_ms']:9.1f} ms on the wire", flush=True)
        return middle

    def claim(self, what, value, bound, holds, unit=""):
        self.claims.append((what, f"{value}{unit}", f"{bound}{unit}", holds))

    def at_most(self, what, value, bound, unit=""):
        value = round(value, 2) if isinstance(value, float) else value
        self.claim(what, value, f"<= {bound}", value <= bound, unit)

    def at_least(self, what, value, bound, unit=""):
        value = round(value, 2) if isinstance(value, float) else value
        self.claim(what, value, f">= {bound}", value >= bound, unit)

    def finish(self):
        """The claims, and whether they hold."""
        print()
        for what, value, bound, holds in self.claims:
            print(f"{'ok    ' if holds else 'MISSED'} {what:74} {value:>12}"
                  f"  (wanted {bound})")


def run(bench):
    """`bench(rig, smoke)` as the program of a benchmark."""
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--rowfs", required=True)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    rig = Rig(args.rowfs)
    try:
        bench(rig, args.smoke)
        rig.finish()
    finally:
        rig.stop()
