"""Lance datasets that other readers got wrong, seen through a mount:
lance_cases.py ROWFS. Inputs and right results lie in $ROWFS_SHARED/cases.
Prints a line for each difference; exit 1 when there is one."""
import contextlib
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile


class Mounts:
    """Mounts of one run, with one cache."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.problems = []

    @contextlib.contextmanager
    def mount(self, source, *options):
        point = self.folder + "/m"
        done = subprocess.run(
            [self.program, "mount", source, point, "--cache-dir",
             self.folder + "/cache", *options],
            capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        try:
            yield point
        finally:
            subprocess.run([self.program, "umount", point], check=True,
                           timeout=120, capture_output=True)

    def expect(self, what, got, want):
        if got != want:
            self.problems.append(f"{what}: {got!r}, expected {want!r}"[:400])


def row(point, number):
    return f"{point}/rows/{number:06}"


def row_json(point, number):
    with open(row(point, number) + "/row.json", encoding="utf-8") as file:
        return json.load(file)


def blob(point, number, column):
    """Bytes of a row's blob, None for null, the errno of a failure."""
    path = row(point, number)
    try:
        names = [n for n in os.listdir(path)
                 if n.startswith(column + ".") or n == column]
        if not names:
            return None
        with open(f"{path}/{names[0]}", "rb") as file:
            return file.read()
    except OSError as error:
        return error.errno


def load(folder):
    with open(folder + "/expect.json", encoding="utf-8") as file:
        return json.load(file)


def nested_blobs(mounts, folder):
    want = load(folder)
    with mounts.mount(folder + "/nested.lance") as point:
        for i, md5 in enumerate(want["payload_md5"]):
            value = row_json(point, i)["doc"]
            if i in want["null_parent"]:
                mounts.expect(f"L1 row {i}", value, None)
                continue
            path = f"{row(point, i)}/doc"
            files = [n for n in (os.listdir(path) if os.path.isdir(path)
                                 else []) if n.startswith("payload")]
            if md5 is None:
                mounts.expect(f"L1 row {i}", (files, value["payload"]),
                              ([], None))
                continue
            with open(f"{row(point, i)}/{value['payload']['path']}",
                      "rb") as file:
                data = file.read()
            mounts.expect(f"L1 row {i}", hashlib.md5(data).hexdigest(), md5)
            mounts.expect(f"L1 row {i}", len(data), want["payload_size"][i])
            mounts.expect(f"L1 row {i}", "mime" in value, True)


def identity(mounts, folder):
    want = load(folder)
    copy = mounts.folder + "/x.lance"
    for name in ("a.lance", "b.lance"):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(f"{folder}/{name}", copy)
        with mounts.mount(copy) as point:
            inodes = set()
            for version, texts in want["versions"].items():
                at = f"{point}/.versions/{version}"
                for i, text in enumerate(texts):
                    text = text.replace("{w}", want["word"][name])
                    mounts.expect(f"L2 {name} version {version} row {i}",
                                  blob(at, i, "pic"), text.encode())
                    inodes.add(os.stat(row(at, i)).st_ino)
            count = sum(len(v) for v in want["versions"].values())
            mounts.expect(f"L2 {name}: inodes", len(inodes), count)


def evolution(mounts, folder):
    want = load(folder)
    with mounts.mount(folder + "/evolved.lance") as point:
        for i, note in enumerate(want["note"]):
            value = row_json(point, i)
            mounts.expect(f"L3 row {i}", list(value), want["columns"])
            mounts.expect(f"L3 row {i} note", value["note"], note)
            image = want["image"][i]
            mounts.expect(f"L3 row {i} image", blob(point, i, "image"),
                          None if image is None else image.encode())


def nested_values(mounts, folder):
    want = load(folder)
    for version in ("2.0", "2.1", "2.2"):
        with mounts.mount(f"{folder}/nested-{version}.lance") as point:
            mounts.expect(f"L4 {version}", len(os.listdir(point + "/rows")),
                          want["rows"])
            for number, value in want["pick"].items():
                mounts.expect(f"L4 {version} row {number}",
                              row_json(point, int(number)), value)


def blob_pages(mounts, folder):
    want = load(folder)
    for name in ("v1-2.0", "v1-2.1", "v2-2.2"):
        with mounts.mount(f"{folder}/{name}.lance") as point:
            columns = row_json(point, 2)
            column = next(k for k, v in columns.items()
                          if isinstance(v, dict) and "path" in v)
            for i in range(want["rows"]):
                value = b"row %06d " % i * (1 + i % 9)
                if i in want["null"]:
                    value = None
                elif i in want["empty"]:
                    value = b""
                mounts.expect(f"L5 {name} row {i}", blob(point, i, column),
                              value)


def external_blobs(mounts, cases):
    folder = mounts.folder + "/L6"
    done = subprocess.run([sys.executable, cases + "/make.py", "L6", "--out",
                           mounts.folder], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode:
        print("L6 skipped: " + done.stderr.strip().rpartition("\n")[2])
        return
    if not os.path.isdir(folder):
        folder = mounts.folder
    want = [b"abcd", b"0123456789abcdefghij", errno.EACCES, errno.EIO,
            errno.EIO, None]
    with mounts.mount(folder + "/ext.lance") as point:
        for i, value in enumerate(want):
            got = blob(point, i, "doc")
            if i == 2 and got in (errno.EIO, errno.EPERM):
                got = errno.EACCES  # refused, however it is called
            mounts.expect(f"L6 row {i}", got, value)
    with mounts.mount(folder + "/ext.lance", "--allow-external",
                      folder + "/elsewhere") as point:
        mounts.expect("L6 row 2, allowed", blob(point, 2, "doc"),
                      b"must not be served without --allow-external")


def main():
    program, cases = sys.argv[1], os.environ["ROWFS_SHARED"] + "/cases"
    if not os.path.isdir(cases) or not os.path.exists("/dev/fuse"):
        print("skipped: no cases, or no FUSE")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        mounts = Mounts(program, folder)
        nested_blobs(mounts, cases + "/L1")
        identity(mounts, cases + "/L2")
        evolution(mounts, cases + "/L3")
        nested_values(mounts, cases + "/L4")
        blob_pages(mounts, cases + "/L5")
        external_blobs(mounts, cases)
    for problem in mounts.problems:
        print(problem)
    return 1 if mounts.problems else 0


if __name__ == "__main__":
    sys.exit(main())
