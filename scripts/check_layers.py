#!/usr/bin/env python3
"""Check every #include in storage/, index/ and fs/ against scripts/layers.txt.

Prints one `path:line: error: ...` per offence and exits 1 if there were any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = ("storage", "index", "fs")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def load(path):
    """Return {module: modules it may include} and {header prefix: modules}."""
    allowed, third_party = {}, {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("@"):
            prefix, *modules = line[1:].split()
            third_party[prefix] = modules
        elif line:
            name, _, deps = line.partition(":")
            deps = list(allowed) if deps.strip() == "*" else deps.split()
            for dep in deps:
                if dep not in allowed:
                    sys.exit(f"layers.txt: {name} names {dep}, which is not above it")
            allowed[name] = {name, *deps}
    return allowed, third_party


def module_of(path, modules):
    return max((m for m in modules if path.startswith(m + "/")), key=len, default=None)


def check_line(rel, home, line, allowed, third_party):
    match = INCLUDE.match(line)
    if not match:
        return
    bracket, target = match.groups()
    if bracket == '"':
        module = module_of(target, allowed)
        if module is None:
            yield f'"{target}" is not a path from the root'
        elif module not in allowed[home]:
            yield f"{home} may not include {module}"
    for prefix, homes in third_party.items():
        if target.startswith(prefix) and home not in homes:
            yield f"<{target}> is only for {', '.join(homes)}"


def check(root, allowed, third_party):
    seen = set()
    for file in sorted(p for t in TREES for p in (root / t).rglob("*")):
        if file.suffix not in (".h", ".cc", ".c"):
            continue
        rel = file.relative_to(root).as_posix()
        home = module_of(rel, allowed)
        seen.add(home)
        if home is None:
            yield f"{rel}:1: error: in no module of layers.txt"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for problem in check_line(rel, home, line, allowed, third_party):
                yield f"{rel}:{number}: error: {problem}"
    for module in allowed:
        if module not in seen:
            yield f"layers.txt: error: no file is in {module}"


if __name__ == "__main__":
    problems = list(check(ROOT, *load(ROOT / "scripts/layers.txt")))
    print("\n".join(problems) or "layers: ok")
    sys.exit(bool(problems))
