#!/usr/bin/env python3
"""Check what a compiler does not: sizes, guards, names, banned words, links.

Prints one `path:line: error: ...` per offence and exits 1 if there were any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRODUCT = ("storage/", "index/", "fs/")
LINES_MAX, TEST_LINES_MAX, COLUMNS_MAX, SCRIPT_LINES_MAX = 600, 800, 80, 150
# Oracles and benchmarks compare whole formats: a page more.
ORACLE_LINES_MAX = 500

# (what, pattern, where it is banned, path prefixes that may use it)
BANNED = (
    ("using namespace", r"\busing namespace\b", ("",), ()),
    ("std::mutex; use rowfs::Mutex", r"\bstd::(recursive_|shared_|timed_)?mutex\b",
     ("",), ("storage/base/sync.h", "index/plugins/common/beside")),
    ("std::thread; use ThreadPool", r"\bstd::(thread|jthread|async)\b",
     PRODUCT, ("storage/base/thread_pool", "index/plugins/common/beside")),
    ("printing", r"\bstd::(cout|cerr)\b|(?<![\w:])(std::)?(f?printf|puts)\(",
     PRODUCT, ("fs/cli/", "storage/base/log")),
    ("reinterpret_cast; use bytes.h", r"\breinterpret_cast\b", PRODUCT,
     ("storage/base/bytes", "index/runtime/plugin_", "index/plugins/")),
    ("sleep; use Clock", r"(?<![\w:])(::)?(u|nano)?sleep\(", PRODUCT, ()),
    ("rand", r"(?<![\w:])(std::|::)?s?rand\(", ("",), ()),
    ("system_clock::now; use Clock", r"system_clock::now", ("",),
     ("storage/base/clock.h",)),
    ("a disabled test", r"\bDISABLED_", ("tests/",), ()),
    ("FIXME", r"\bFIXME\b", ("",), ()),
    ("TODO without an issue number", r"\bTODO\b(?!\(#\d+\):)", ("",), ()),
    ("#pragma once; use a guard", r"#\s*pragma once", ("",), ()),
)
BANNED = [(what, re.compile(p), where, ok) for what, p, where, ok in BANNED]
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
CODE = (".h", ".cc", ".c")


def check_header(rel, lines):
    guard = "ROWFS_" + re.sub(r"\W", "_", rel).upper() + "_"
    text = "\n".join(lines)
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield 1, f"the include guard is not {guard}"
    if not lines or not lines[0].startswith(("//", "/*")):
        yield 1, "no comment at the top that says what this is"


def check_code(rel, lines):
    limit = TEST_LINES_MAX if rel.startswith("tests/") else LINES_MAX
    if len(lines) > limit:
        yield limit, f"{len(lines)} lines, more than {limit}"
    if rel.endswith(".h"):
        yield from check_header(rel, lines)
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and "#include" not in line:
            yield number, f"{len(line)} columns, more than {COLUMNS_MAX}"
        for what, pattern, where, allowed in BANNED:
            if (rel.startswith(where) and not rel.startswith(allowed or "\n")
                    and pattern.search(line)):
                yield number, f"banned: {what}"


def check_spaces(lines, tabs_allowed):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "space at the end of the line"
        if "\t" in line and not tabs_allowed:
            yield number, "a tab"


def check_markdown(path, lines):
    fenced = False
    titles = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        titles += line.startswith("# ")
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if "://" not in target and not (path.parent / target).exists():
                yield number, f"the link to {target} leads nowhere"
    if titles != 1:
        yield 1, f"{titles} titles, one wanted"


def check_semantics(lines, tests):
    """Each bullet under a heading that says Semantics names existing tests."""
    bullets, inside, last = [], False, None
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            inside = "semantics" in line.lower()
            last = None
        elif re.match(r"[*-] ", line):
            last = [number, line]
            if inside:
                bullets.append(last)
        elif last and line.startswith("  "):
            last[1] += " " + line.strip()
        elif not line.strip():
            last = None
    for number, text in bullets:
        named = re.findall(r"`(\w+\.\w+)`", text)
        known = [name for name in named if name in tests]
        if not known:
            yield number, "no existing test is named for this sentence"
        for name in set(named) - set(known):
            if name[0].isupper():
                yield number, f"there is no test {name}"


def problems_of(path, rel, tests):
    lines = path.read_text(errors="replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    else:
        yield len(lines), "no newline at the end of the file"
    yield from check_spaces(lines, path.name == "Makefile")
    if path.suffix in CODE:
        yield from check_code(rel, lines)
    elif path.suffix == ".md":
        yield from check_markdown(path, lines)
    elif path.suffix == ".py":
        limit = ORACLE_LINES_MAX if rel.startswith("tests/") else SCRIPT_LINES_MAX
        if len(lines) > limit:
            yield 1, f"{len(lines)} lines, more than {limit}"
    if rel == "fs/README.md":
        yield from check_semantics(lines, tests)


def main():
    kinds = CODE + (".md", ".py", ".txt", ".sh", ".cmake", ".proto")
    files = [p for top in ("storage", "index", "fs", "tests", "scripts")
             for p in sorted((ROOT / top).rglob("*"))]
    files = [p for p in files + [ROOT / "README.md", ROOT / "CMakeLists.txt"]
             if p.suffix in kinds and p.is_file()
             and "tests/corpus/" not in p.relative_to(ROOT).as_posix()]
    tests = {f"{a}.{b}" for p in files if p.suffix == ".cc"
             for a, b in TEST.findall(p.read_text(errors="replace"))}
    found = [f"{rel}:{number}: error: {what}" for p in files
             for rel in [p.relative_to(ROOT).as_posix()]
             for number, what in problems_of(p, rel, tests)]
    print("\n".join(found) or "tidy: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
