"""Packs, tables and servers that other tools got wrong, seen through a mount:
source_cases.py ROWFS. Inputs and right results lie in $ROWFS_SHARED/cases
(T, Z, P, N, O and W there). Exit 1 when something differs."""
import errno
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from lance_cases import Mounts, blob, load, row, row_json

EIO = {errno.EIO, errno.EACCES, errno.ESTALE}


def content(path):
    """Bytes of a file, the errno of a failure."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return error.errno


def files(point):
    """Every file of every row but row.json: path -> bytes or errno."""
    return {os.path.join(folder, name): content(os.path.join(folder, name))
            for folder, _, names in os.walk(point + "/rows")
            for name in sorted(names) if name != "row.json"}


def only_blob(folder):
    """Bytes of the one blob of a row's folder, the errno of a failure."""
    try:
        names = [n for n in os.listdir(folder) if n.endswith(".bin")]
    except OSError as error:
        return error.errno
    return content(f"{folder}/{names[0]}") if names else None


def md5(data):
    return hashlib.md5(data).hexdigest() if isinstance(data, bytes) else data


def webdataset_names(mounts, folder):
    with mounts.mount(folder + "/dots-000000.tar") as point:
        samples = load(folder)["samples"]
        mounts.expect("T1 rows", len(os.listdir(point + "/rows")),
                      len(samples))
        for i, sample in enumerate(samples):
            stem = sample["key"].rpartition("/")[2]
            want = {f"{stem}.{suffix}": text.encode()
                    for suffix, text in sample["parts"].items()}
            got = {n: content(f"{row(point, i)}/{n}")
                   for n in os.listdir(row(point, i)) if n != "row.json"}
            mounts.expect(f"T1 row {i}", got, want)
            mounts.expect(f"T1 key {i}", row_json(point, i)["__key__"],
                          sample["key"])


def webdataset_order(mounts, folder):
    shown = []
    for _ in range(2):
        with mounts.mount(folder + "/src") as point:
            shown.append(files(point))
    mounts.expect("T2 names", shown[0], shown[1])
    members = load(folder)["members"]
    mounts.expect("T2 bytes", sorted(shown[0].values()),
                  sorted(text.encode() for _, text in members))
    for path, data in shown[0].items():
        name = os.path.basename(path).replace("~2", "").lower()
        mounts.expect(f"T2 {path}", [name, data.decode()] in
                      [[n.lower(), t] for n, t in members], True)


def tar_links(mounts, folder):
    want = load(folder)["content"]
    target = want["p/a.bin"]
    for tar in ("gnu.tar", "posix.tar"):
        with mounts.mount(f"{folder}/{tar}") as point:
            got = {os.path.basename(p): d for p, d in files(point).items()}
        for member, right in want.items():
            data = got.get(os.path.basename(member))
            if member in ("p/b.bin", "p/c.bin"):
                right = target if md5(data) == target else errno.EIO
            elif member == "p/e.bin":
                right = errno.EIO
            elif member == "p/s.bin":
                mounts.expect(f"T3 {tar} {member}", len(data), right[0])
                right = right[1]
            mounts.expect(f"T3 {tar} {member}", md5(data), right)


def zip_names(mounts, folder):
    with mounts.mount(folder + "/names.zip") as point:
        got = files(point)
    mounts.expect("Z1 bytes", sorted(d.decode() for d in got.values()),
                  sorted(text for _, text in load(folder)["members"]))
    names = [os.path.basename(p) for p in got]
    mounts.expect("Z1 names", len(set(names)), len(names))
    for name in names:
        name.encode()  # a lone surrogate is no UTF-8
    mounts.expect("Z1 UTF-8", {"naïve.txt", "naïve2.txt", "é.txt",
                               "見出し.txt"} - set(names), set())


def zip_paths(mounts, folder):
    with mounts.mount(folder + "/paths.zip") as point:
        got = files(point)
    mounts.expect("Z2 bytes", sorted(d.decode() for d in got.values()),
                  sorted(text for name, text in load(folder)["members"]
                         if not name.endswith("/")))


def pictures(mounts, folder):
    want = load(folder)
    with mounts.mount(folder + "/ds") as point:
        for i, right in enumerate(want["image"]):
            got = blob(point, i, "image")
            if i in (7, 8, 9):
                mounts.expect(f"P1 row {i}", got in EIO, True)
            elif i == 2:
                local = content(folder + "/ds/files/local.png")
                mounts.expect("P1 row 2", got, local)
            else:
                mounts.expect(f"P1 row {i}", md5(got), right)
        mounts.expect("P1 name", os.path.exists(row(point, 0) + "/image.png"),
                      True)


def values(mounts, folder):
    def refuse(word):
        raise ValueError(word)

    want = load(folder)
    with mounts.mount(folder + "/values.parquet") as point:
        lines = content(point + "/metadata.jsonl").splitlines()
        for line in lines:
            json.loads(line, parse_constant=refuse)
        for i in range(len(want["big"])):
            text = content(row(point, i) + "/row.json").decode()
            value = json.loads(text, parse_int=str, parse_constant=refuse)
            mounts.expect(f"P2 big {i}", value["big"], want["big"][i])
            mounts.expect(f"P2 dec {i}", value["dec"], want["dec"][i])


def row_groups(mounts, folder):
    want = load(folder)
    for name in sorted(os.listdir(folder)):
        if not os.path.isdir(f"{folder}/{name}"):
            continue
        with mounts.mount(f"{folder}/{name}") as point:
            column = next(k for k, v in row_json(point, 0).items()
                          if isinstance(v, dict))
            order = list(range(want["rows"]))
            for i in order[::-7] + order[3::11]:
                value = b"IMG%05d" % (i // 3 if 600 <= i < 900 else i) * 12
                if i % 97 == 5:
                    value = None
                elif i % 101 == 7:
                    value = b""
                mounts.expect(f"P3 {name} row {i}", blob(point, i, column),
                              value)


def names_of_values(mounts, folder):
    want = load(folder)
    shown = []
    for _ in range(2):
        with mounts.mount(folder + "/names", "--name-column",
                          "name") as point:
            rows = os.listdir(point + "/rows")
            shown.append({n: only_blob(f"{point}/rows/{n}") for n in rows})
            by = sum(len(os.listdir(f"{point}/by/name/{value}")) for value in
                     os.listdir(point + "/by/name"))
    mounts.expect("N1 same", shown[0], shown[1])
    mounts.expect("N1 rows", sorted(shown[0].values()), sorted(
        b"row %d" % i for i in range(len(want["names"]))))
    mounts.expect("N1 lengths", [n for n in shown[0] if len(os.fsencode(n)) >
                                 255 or "\0" in n or n in (".", "..")], [])
    mounts.expect("N1 by", by, sum(n is not None for n in want["names"]))
    with mounts.mount(folder + "/columns") as point:
        got = [d for p, d in files(point).items()]
        mounts.expect("N1 columns", sorted(got), sorted(
            b"column %d" % i for i in range(len(want["columns"]))))
        mounts.expect("N1 row.json", len(row_json(point, 0)),
                      len(want["columns"]))


def background(mounts, folder):
    """A daemon does not lose the folder, the environment or the exit code."""
    rowfs, work = mounts.program, mounts.folder + "/O1 work"
    os.makedirs(work)
    shutil.copytree(folder, work + "/data")

    def call(*words, **more):
        return subprocess.run([rowfs, *words], capture_output=True, text=True,
                              timeout=60, check=False, cwd=work, **more)

    for point, options in (("mnt", []), ("m nt", ["--cache-dir", "cache"])):
        done = call("mount", "data/table.parquet", point, *options)
        mounts.expect(f"O1 {point}", (done.returncode, done.stderr), (0, ""))
        mounts.expect(f"O1 {point} row", row_json(f"{work}/{point}", 0)["id"],
                      1)
        again = call("mount", "data/table.parquet", point)
        mounts.expect(f"O1 {point} twice", (
            again.returncode in (1, 2), again.stderr.count("\n")), (True, 1))
        os.rename(work + "/data", work + "/moved")
        gone = content(f"{work}/{point}/rows/000001/doc.bin")
        mounts.expect(f"O1 {point} moved", gone in (
            b"two", errno.EIO, errno.ENOENT, errno.ESTALE), True)
        os.rename(work + "/moved", work + "/data")
        with subprocess.Popen(["sleep", "60"], cwd=f"{work}/{point}") as user:
            time.sleep(0.1)
            busy = call("umount", point)
            mounts.expect(f"O1 {point} busy", (
                busy.returncode, str(user.pid) in busy.stderr), (1, True))
            user.kill()
        mounts.expect(f"O1 {point} end", call("umount", point).returncode, 0)
    for source, point in (("nothing.parquet", "mnt"),
                          ("data/table.parquet", "data/table.parquet")):
        done = call("mount", source, point)
        mounts.expect(f"O1 {source} on {point}", (
            done.returncode in (1, 2), done.stdout, done.stderr.count("\n")),
            (True, "", 1))


def lying_servers(mounts, folder):
    spec = importlib.util.spec_from_file_location(
        "badhttp", os.path.dirname(folder) + "/badhttp.py")
    badhttp = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(badhttp)
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # its log
    port = badhttp.start(folder + "/root").server_address[1]
    right = load(folder)["doc_md5"]
    exact = {"ok", "no-head", "weak-etag", "lowercase", "redirect"}
    for mode in sorted(exact) + ["norange", "gzip", "wrong-total", "short",
                                 "extra-byte", "reset", "416", "etag-flip",
                                 "html"]:
        for name in ("table.parquet", "pack.zip"):
            what = f"W1 {mode} {name}"
            url = f"http://127.0.0.1:{port}/{mode}/{name}"
            try:
                with mounts.mount(url) as point:
                    got = [md5(only_blob(row(point, i)))
                           for i in range(len(right))]
            except RuntimeError as error:
                mounts.expect(what, (mode in exact, url in str(error)),
                              (False, True))
                continue
            wrong = [g for g, r in zip(got, right) if g != r and
                     (mode in exact or g not in EIO)]
            mounts.expect(what, wrong, [])


def main():
    program, cases = sys.argv[1], os.environ["ROWFS_SHARED"] + "/cases"
    if not os.path.isdir(cases) or not os.path.exists("/dev/fuse"):
        print("skipped: no cases, or no FUSE")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        mounts = Mounts(os.path.abspath(program), folder)
        for case, name in (
                (webdataset_names, "T1"), (webdataset_order, "T2"),
                (tar_links, "T3"), (zip_names, "Z1"), (zip_paths, "Z2"),
                (pictures, "P1"), (values, "P2"), (row_groups, "P3"),
                (names_of_values, "N1"), (background, "O1"),
                (lying_servers, "W1")):
            case(mounts, f"{cases}/{name}")
    for problem in mounts.problems:
        print(problem)
    return 1 if mounts.problems else 0


if __name__ == "__main__":
    sys.exit(main())
