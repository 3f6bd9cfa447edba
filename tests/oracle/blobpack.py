#!/usr/bin/env python3
"""Compare `rowfs blobpack` with the blobpack package, case by case.

Each case is a folder made twice and a command line run in both: the tool's in
this process, ours as a program called blobpack. Standard output, exit code and
every file must agree; an error of the tool's own must have the same words; and
after a failure ours must leave the folder as it was. Exit 77: no blobpack.

usage: blobpack.py ROWFS [NAME...]
"""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import blobpack_cases
import blobpack_tables

# This file has the package's name.
sys.path.pop(0)
try:
    import blobpack.cli
except ImportError:
    print("skipped: this Python has no blobpack")
    sys.exit(77)


def run_tool(argv, cwd, stdin):
    """(code, stdout, stderr or None after an uncaught exception)."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    err = io.StringIO()
    home = os.getcwd()
    saved = sys.stdin
    os.chdir(cwd)
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = blobpack.cli.main(list(argv))
            except SystemExit as end:
                code = end.code
            except BaseException:  # a traceback, exit 1
                code, err = 1, None
    finally:
        sys.stdin = saved
        os.chdir(home)
    out.flush()
    return code, out.buffer.getvalue(), err.getvalue() if err else None


def start_ours(program, argv, cwd):
    return subprocess.Popen(
        ["blobpack", *argv], executable=program, cwd=cwd,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish_ours(process, stdin):
    try:
        out, err = process.communicate(stdin.encode(), timeout=60)
    finally:
        process.kill()
    return process.returncode, out, err.decode(errors="replace")


def tree(folder):
    """{relative path: bytes, link target, or None for a folder}."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_dir():
            found[name] = None
        else:
            found[name] = path.read_bytes()
    return found


def differences(case, program, work):
    """Yield what is not as it should be."""
    theirs, ours = work / "theirs", work / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
        case.setup(folder)
    before = tree(ours)
    process = start_ours(program, case.argv, ours)  # both at once
    code, out, err = run_tool(case.argv, theirs, case.stdin)
    our_code, our_out, our_err = finish_ours(process, case.stdin)
    if case.better:
        if our_code != 0 or not case.better(ours):
            yield f"not converted: exit {our_code}, {our_err!r}"
        return
    our_err = our_err.replace(str(ours), str(theirs))
    if case.refused:  # ours is stricter here, by design
        if our_code != 1 or not our_err.startswith("error: "):
            yield f"not refused: exit {our_code}, {our_err!r}"
        if tree(ours) != before:
            yield "refused, but files changed"
        return
    if our_code != code:
        yield f"exit {our_code}, not {code}: {our_err!r} against {err!r}"
    if our_out != out:
        yield f"stdout\n  ours   {our_out!r}\n  theirs {out!r}"
    if err is not None and our_err != err and not case.own_words \
            and not our_err.startswith("warn"):
        yield f"stderr\n  ours   {our_err!r}\n  theirs {err!r}"
    if err is None and (our_err.count("\n") != 1
                        or not our_err.startswith("error: ")):
        yield f"error is not one line: {our_err!r}"
    after = tree(ours)
    wanted = before if code != 0 else case.comparable(tree(theirs), theirs)
    after = after if code != 0 else case.comparable(after, ours)
    for name in sorted(set(after) | set(wanted)):
        if after.get(name, "absent") != wanted.get(name, "absent"):
            yield (f"{name}: {str(after.get(name, 'absent'))[:200]} "
                   f"against {str(wanted.get(name, 'absent'))[:200]}")


def main():
    program = os.path.abspath(sys.argv[1])
    os.environ["COLUMNS"] = "80"
    os.umask(0o022)
    failed = count = 0
    for case in blobpack_cases.all_cases():
        if sys.argv[2:] and not any(w in case.name for w in sys.argv[2:]):
            continue
        count += 1
        work = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-blobpack-"))
        try:
            found = list(differences(case, program, work))
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if found:
            failed += 1
            print(f"FAIL {case.name}: {' '.join(case.argv)}")
            for line in found:
                print(f"  {line}")
    blobpack_tables.forget()
    print(f"{count} cases, {failed} differ")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
