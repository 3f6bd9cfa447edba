"""The processes behind a mount, from /proc."""
import os
import pathlib
import re


def everyone():
    """Of every process that may be looked at: number, parent, command."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        yield int(folder.name), int(stat.rpartition(")")[2].split()[1]), words


def daemon_of(mount):
    """The process that serves `mount`."""
    point = os.fsencode(str(mount))
    return next(pid for pid, _, words in everyone()
                if point in words and words[0].endswith(b"rowfs"))


def workers_of(daemon):
    below, all_of_them = {daemon}, list(everyone())
    for _ in range(4):
        below |= {pid for pid, parent, _ in all_of_them if parent in below}
    return [pid for pid, _, words in all_of_them
            if pid in below and words[0].endswith(b"rowfs-worker")]


def peak_kb(pid):
    """The most memory it ever had; 0 when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", text)
    return int(found.group(1)) if found else 0
