"""What the tests here share: rowfs as a process, a server whose every answer a
test decides, a proxy that counts."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse


def skip(reason):
    if os.environ.get("ROWFS_REQUIRE_SERVERS") == "1":
        sys.exit(f"failed: {reason}, and ROWFS_REQUIRE_SERVERS is set")
    print(f"skipped: {reason}")
    sys.exit(77)


class Server(http.server.ThreadingHTTPServer):
    """`answer(handler)` on a free port; answers write what they like."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def handle_one_request(self):
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def do_any(self):
                answer(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_any

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass  # clients hang up; tests look at what they got


def span(handler, size):
    """The (begin, end) a request asks for; None without a Range."""
    text = handler.headers.get("Range")
    if not text:
        return None
    begin, _, end = text.split("=")[1].partition("-")
    if not begin:
        return max(0, size - int(end)), size
    return int(begin), min(size, int(end) + 1) if end else size


class Proxy(Server):
    """Passes requests on to `upstream` (host:port), after a latency, and keeps
    (method, path, range, status, bytes, start, end, If-None-Match) of each."""

    def __init__(self, upstream, latency=0.0):
        self.upstream, self.latency, self.log = upstream, latency, []
        self.lock, self.local = threading.Lock(), threading.local()
        super().__init__(self.forward)

    def forward(self, handler):
        start = time.monotonic()
        time.sleep(self.latency)
        size = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(size) if size else None
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self.upstream, timeout=60)
            self.local.connection = connection
        connection.putrequest(handler.command, handler.path, skip_host=True,
                              skip_accept_encoding=True)
        for name, value in handler.headers.items():
            if name.lower() not in ("connection", "transfer-encoding"):
                connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        data = reply.read()
        handler.send_response_only(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("connection", "transfer-encoding",
                                    "content-length", "keep-alive"):
                handler.send_header(name, value)
        length = (reply.getheader("Content-Length") or len(data)
                  if handler.command == "HEAD" else len(data))
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(data)
        with self.lock:
            self.log.append((handler.command, handler.path,
                             handler.headers.get("Range"), reply.status,
                             len(data), start, time.monotonic(),
                             handler.headers.get("If-None-Match")))

    def take(self):
        with self.lock:
            log, self.log = self.log, []
        return log


def rounds(log):
    """The longest chain of requests of which none overlaps the one before."""
    chain, free = 0, 0.0
    for entry in sorted(log, key=lambda e: e[6]):
        if entry[5] >= free:
            chain, free = chain + 1, entry[6]
    return chain


class Rowfs:
    """The program with a cache folder of its own."""

    def __init__(self, program, environment=None):
        self.program = program
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-faults-"))
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, **(environment or {}),
                            "HOME": str(self.folder)}
        self.mounts = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words, code=0, **options):
        words = [str(word) for word in words]
        takes_cache = words[0] in ("mount", "ls", "cat", "prefetch", "info",
                                   "extract-frame", "read-blob")
        if takes_cache and "--cache-dir" not in words:
            words += ["--cache-dir", str(self.cache)]
        done = subprocess.run([self.program, *words], capture_output=True,
                              env=self.environment, timeout=120, **options)
        assert code is None or done.returncode == code, (
            words, done.returncode, done.stdout[-500:], done.stderr[-2000:])
        return done

    def fresh_cache(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    @contextlib.contextmanager
    def mount(self, source, *options):
        self.mounts += 1
        folder = self.folder / f"mount{self.mounts}"
        self.run("mount", source, folder, *options)
        try:
            yield folder
        finally:
            self.run("umount", folder)


def moto():
    """An S3 server in memory with a bucket "bkt"; (host:port, environment)."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        skip(f"{sys.executable} has no moto (set ROWFS_PYTHON)")
    import logging
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host = "127.0.0.1:%d" % server.get_host_and_port()[1]
    keys = {"AWS_ACCESS_KEY_ID": "AKIDCANARY",
            "AWS_SECRET_ACCESS_KEY": "canary/secret+key",
            "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    request(host, "PUT", "/bkt")
    return host, keys


def request(host, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(host, timeout=60)
    # moto wants to see some signature; it does not check it.
    connection.request(method, urllib.parse.quote(path), body, {
        "Authorization": "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/"
                         "aws4_request, SignedHeaders=host, Signature=0",
        **(headers or {})})
    reply = connection.getresponse()
    data = reply.read()
    assert reply.status < 300, (method, path, reply.status, data[:300])
    return data


def upload(host, folder, prefix):
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            name = path.relative_to(folder)
            request(host, "PUT", f"/bkt/{prefix}/{name}", path.read_bytes())


def make_clips(folder, count, seconds=4, rate=25, gop=50):
    """Small H.264 files, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
             f"testsrc2=size=160x96:rate={rate}:duration={seconds}", "-vf",
             f"hue=h={i * 11}", "-c:v", "libx264", "-preset", "ultrafast",
             "-g", str(gop), "-bf", "2", "-pix_fmt", "yuv420p",
             str(folder / f"clip{i:03d}.mp4")], check=True)


def blob_of(row):
    """The one file of a row's folder that is not a value."""
    return [path for path in pathlib.Path(row).iterdir()
            if path.is_file() and path.suffix not in (".json", ".txt")][0]


def stats(mount):
    """.rowfs/stats as {name{labels}: value}."""
    lines = (mount / ".rowfs/stats").read_text().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in lines if line and not line.startswith("#")}


def trace(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def main(tests):
    """Run the functions, or those named behind the program's path."""
    program, wanted = sys.argv[1], sys.argv[2:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        begin = time.monotonic()
        test(program)
        print(f"ok {test.__name__} ({time.monotonic() - begin:.1f} s)",
              flush=True)
