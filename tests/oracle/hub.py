"""hf:// repositories of tables and of media folders, at a hub made here.

Usage: hub.py ROWFS
A repository of Parquet files must give what pyarrow reads in the same files, a
repository in the layout of ImageFolder its files with their labels and the
columns of metadata.csv; both with few requests and no read of a whole file that
nobody asked for.
"""
import hashlib
import http.server
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import pyarrow as pa
import pyarrow.parquet as pq

ROWFS = sys.argv[1]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files = {}  # "owner/name" -> {path: bytes}
    sent = []   # (path, bytes) of every answer

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            Hub.sent.append((self.path, len(body)))

    def listing(self, files, folder):
        prefix = folder + "/" if folder else ""
        found = {}
        for path, data in sorted(files.items()):
            if not path.startswith(prefix):
                continue
            name, _, rest = path[len(prefix):].partition("/")
            kind = "directory" if rest else "file"
            found[name] = {"type": kind, "path": prefix + name,
                           "size": 0 if rest else len(data)}
        return list(found.values())

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        for repository, files in Hub.files.items():
            api = f"/api/datasets/{repository}/"
            tree = f"{api}tree/{COMMIT}"
            resolve = f"/datasets/{repository}/resolve/{COMMIT}/"
            if path == api + "revision/main":
                return self.answer(200, json.dumps({"sha": COMMIT}).encode())
            if path == tree or path.startswith(tree + "/"):
                found = self.listing(files, path[len(tree) + 1:])
                return self.answer(200 if found else 404,
                                   json.dumps(found).encode())
            if path.startswith(resolve) and path[len(resolve):] in files:
                return self.answer(302, headers=[
                    ("Location", "/store/" + repository + "/"
                     + urllib.parse.quote(path[len(resolve):]))])
            store = f"/store/{repository}/"
            if path.startswith(store) and path[len(store):] in files:
                return self.bytes_of(files[path[len(store):]])
        return self.answer(404)

    do_HEAD = do_GET

    def bytes_of(self, data):
        wanted = self.headers.get("Range")
        etag = ("ETag", '"' + hashlib.sha256(data).hexdigest() + '"')
        if not wanted:
            return self.answer(200, data, [etag, ("Accept-Ranges", "bytes")])
        begin, _, end = wanted.removeprefix("bytes=").partition("-")
        if begin:
            first, last = int(begin), min(int(end or len(data) - 1),
                                          len(data) - 1)
        else:
            first, last = max(len(data) - int(end), 0), len(data) - 1
        if first > last:
            return self.answer(416, headers=[
                ("Content-Range", f"bytes */{len(data)}")])
        return self.answer(206, data[first:last + 1], [
            etag, ("Content-Range", f"bytes {first}-{last}/{len(data)}")])

    def log_message(self, *_):
        pass


def rowfs(folder, *words):
    done = subprocess.run(
        [ROWFS, *words, "--cache-dir", folder + "/cache"], capture_output=True)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout


def png(shade):
    from PIL import Image
    out = io.BytesIO()
    Image.new("RGB", (24, 16), (shade, 0, 0)).save(out, "PNG")
    return out.getvalue()


def check_parquet(folder):
    """Two splits in several files, pictures as struct<bytes, path>."""
    expected = []
    files = {"README.md": b"# a dataset\n"}
    for split, count in (("train-00000-of-00002", 300),
                         ("train-00001-of-00002", 200)):
        rows = [{"id": len(expected) + i, "text": f"row {i} of {split}",
                 "image": {"bytes": random.Random(i).randbytes(2000 + i),
                           "path": f"{i}.bin"}} for i in range(count)]
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=64,
                       data_page_size=8192, write_page_index=True)
        files[f"data/{split}.parquet"] = out.getvalue()
        expected += rows
    Hub.files["o/tables"] = files
    source = "hf://datasets/o/tables"
    Hub.sent.clear()
    target = folder + "/rows.jsonl"
    rowfs(folder, "scan", source, "--columns", "id,text", "--output", target)
    got = [json.loads(line) for line in open(target)]
    assert [(r["id"], r["text"]) for r in got] == [
        (r["id"], r["text"]) for r in expected]
    size = sum(map(len, files.values()))
    scanned = sum(n for path, n in Hub.sent if path.startswith("/store/"))
    assert scanned < size / 3, (scanned, size)  # the pictures stay there
    Hub.sent.clear()
    for row in (0, 299, 300, 499):
        data = rowfs(folder, "cat", source, f"rows/{row:06d}/image.bin")
        assert data == expected[row]["image"]["bytes"], row
    read = sum(n for path, n in Hub.sent if path.startswith("/store/"))
    assert read < size / 2, (read, size)
    # A folder of the repository and one of its files are sources too.
    for part in ("/data", "/data/train-00001-of-00002.parquet"):
        count = len(expected) if part == "/data" else 200
        names = rowfs(folder, "ls", source + part, "rows").split()
        assert len(names) == count, (part, len(names))
    # The commit may be named.
    assert rowfs(folder, "cat", source + "@" + COMMIT, "rows/000300/id") == (
        b"300\n")


def rows_of(folder, source):
    """{file_name: (row folder, row.json)}"""
    rows = {}
    for name in rowfs(folder, "ls", source, "rows").decode().split():
        row = json.loads(rowfs(folder, "cat", source, f"rows/{name}/row.json"))
        rows[row["file_name"]] = (name, row)
    return rows


def check_folder(folder):
    """Class folders are labels; a metadata file has columns instead."""
    notes = {"cat/1.png": "first", "cat/2.png": "second", "dog/1.png": "third"}
    pictures = {name: png(40 * i) for i, name in enumerate(notes)}
    files = {"README.md": b"# pictures\n", "noted/metadata.csv":
             ("file_name,note\n" + "".join(
                 f"{name},{note}\n" for name, note in notes.items())).encode()}
    for name, data in pictures.items():
        files["train/" + name] = files["noted/" + name] = data
    Hub.files["o/pictures"] = files
    for part in ("train", "noted"):
        source = "hf://datasets/o/pictures/" + part
        rows = rows_of(folder, source)
        assert sorted(rows) == sorted(notes), (part, rows)
        for path, (name, row) in rows.items():
            if part == "train":
                assert row["label"] == path[:3], row
            else:
                assert row["note"] == notes[path], row
            data = rowfs(folder, "cat", source,
                         f"rows/{name}/{row['image']['path']}")
            assert data == pictures[path], path
    whole = rows_of(folder, "hf://datasets/o/pictures")
    assert {"train/" + name for name in notes} <= set(whole), whole


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
    os.environ.pop("HF_TOKEN", None)
    for check in (check_parquet, check_folder):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HF_HOME"] = folder
            check(folder)
        print(check.__name__, "ok")
    server.shutdown()


if __name__ == "__main__":
    main()
