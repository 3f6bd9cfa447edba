#!/usr/bin/env python3
"""What a mounted pack costs, counted: requests of the kernel by kind. Without
/dev/fuse skipped."""
import os
import pathlib
import subprocess
import zipfile

from common import Rowfs, main, stats

MEMBERS = 3000


def requests(mount):
    return {name.split('"')[1]: int(value)
            for name, value in stats(mount).items()
            if name.startswith("rowfs_requests_total")}


def grown(mount, *words):
    """What a command in rows/ asks for; the look at the counters is two
    look-ups and an attribute or two besides."""
    before = requests(mount)
    subprocess.run(words, cwd=mount / "rows", check=True, capture_output=True)
    after = requests(mount)
    return {kind: after[kind] - before[kind] for kind in after}


def pack(folder):
    path = pathlib.Path(folder) / "pack.zip"
    with zipfile.ZipFile(path, "w") as out:
        for i in range(MEMBERS):
            suffix = "jpg" if i % 2 else "bin"
            out.writestr(f"{i:07d}.{suffix}", b"%d" % i)
    return path


def a_walk_lists_each_folder_once(program):
    with Rowfs(program) as rowfs, rowfs.mount(pack(rowfs.folder)) as mount:
        asked = grown(mount, "find", ".", "-name", "*.jpg", "-printf", "%s\n")
        print("  find:", asked)
        # The entries, and that there are no more.
        assert asked["readdir"] <= 2 * MEMBERS + 200, asked
        assert asked["lookup"] + asked["getattr"] <= 30, asked
        assert asked["opendir"] + asked["open"] + asked["read"] <= 5, asked
        again = grown(mount, "find", ".", "-printf", "%s\n")
        print("  again:", again)
        # Its times of access, of each folder that was read.
        assert again["getattr"] <= MEMBERS + 50, again
        assert sum(again.values()) - again["getattr"] <= 20, again


def files_are_read_without_opens(program):
    with Rowfs(program) as rowfs, rowfs.mount(pack(rowfs.folder)) as mount:
        paths = [f"{i:06d}/{i:07d}.jpg" for i in range(1, 1000, 2)]
        asked = grown(mount, "cat", *paths)
        print("  cat:", asked)
        assert asked["read"] <= len(paths) + 5, asked
        assert asked["lookup"] <= 2 * len(paths) + 20, asked
        assert asked["open"] <= 3, asked
        again = grown(mount, "cat", *paths)
        print("  again:", again)
        assert again["read"] + again["open"] + again["lookup"] <= 20, again


if __name__ == "__main__":
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise SystemExit(77)
    main([a_walk_lists_each_folder_once, files_are_read_without_opens])
