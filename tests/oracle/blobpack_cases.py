"""The cases of blobpack.py: folders to make and command lines to run."""
import dataclasses
import hashlib
import json
import os
import random
import typing

from blobpack_shards import GOOD, damaged_shards, shard
from blobpack_tables import lance_cases, parquet_cases
from blobpack_tars import SAMPLES, header, padded, pax_record, tar, tars


@dataclasses.dataclass
class Case:
    name: str
    argv: list
    setup: typing.Callable = lambda folder: None
    stdin: str = ""
    refused: bool = False  # ours says no where the tool goes on
    better: typing.Callable | None = None  # the tool breaks off; ours is right
    own_words: bool = False  # the tool's error names another cause
    comparable: typing.Callable = lambda files, folder: files


def tree_of(contents):
    """A setup that writes {path: bytes}."""
    def setup(folder):
        for name, data in contents.items():
            path = os.path.join(os.fsencode(folder),
                                name if isinstance(name, bytes) else os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as sink:
                sink.write(data)
    return setup


def both(*setups):
    def setup(folder):
        for each in setups:
            each(folder)
    return setup


def noise(seed, count, top=5000):
    """Files of many sizes and depths."""
    rng = random.Random(seed)
    made = {}
    for index in range(count):
        parts = [rng.choice("abcXYZ") * rng.randint(1, 4)
                 for _ in range(rng.randint(0, 3))]
        size = rng.choice([0, 1, rng.randint(2, 100), rng.randint(100, top)])
        name = "/".join(["src", *parts, f"f{index}.{rng.choice('abc')}"])
        made[name] = rng.randbytes(size)
    return made


# Arguments.

def argument_cases():
    words = [
        [], ["-h"], ["--help"], ["--version"], ["--ver"], ["--v"], ["--h"],
        ["nothing"], ["-x"], ["--nothing"], ["-x", "ls", "p"], ["--", "ls"],
        ["ls", "--", "p"], ["ls", "p", "q"], ["ls", "p", "--what"], ["ls"],
        ["ls", "--force", "p"], ["ls", "-hh"], ["ls", "-hx"], ["ls", "-h=1"],
        ["ls", "--help=1"], ["-hls"], ["--version=1"], ["--version", "ls"],
        ["pack"], ["pack", "a"], ["pack", "-h"], ["unpack", "-h"],
        ["unpack"], ["ls", "-h"], ["verify", "-h"], ["manifest", "-h"],
        ["convert-wds", "-h"], ["convert-lance", "-h"],
        ["convert-parquet", "-h"], ["pack", "a", "b", "-h"],
        ["pack", "a", "b", "c"], ["pack", "--max-pack-bytes", "x", "-h"],
        ["pack", "--max-pack-bytes", "1.5", "a", "b"],
        ["pack", "--max-pack-bytes", "", "a", "b"],
        ["pack", "--max-pack-bytes", "1__0", "a", "b"],
        ["pack", "--max-pack-bytes", "_1", "a", "b"],
        ["pack", "--max-pack-bytes"], ["pack", "--ref-base", "-x", "a", "b"],
        ["pack", "--ref-base", "--", "a", "b"], ["pack", "--m", "x", "a"],
        ["pack", "--", "-a", "b"], ["pack", "a", "--", "b"],
        ["pack", "a b", "-c d"], ["pack", "-1", "-2"], ["pack", "-1.5", "b"],
        ["pack", "-", "b"], ["pack", "--re=x", "a", "b"],
        ["convert-wds", "--shard-prefix=1", "a", "b"],
        ["convert-wds", "--s", "a", "b"], ["convert-wds", "--shard"],
        ["convert-lance", "--column"], ["convert-lance", "a"],
        ["convert-parquet", "--field", "a", "b", "src", "dst"],
        ["convert-parquet", "--field", "src", "dst"],
        ["convert-parquet", "src", "--field"],
        ["manifest", "--force", "--force", "p"], ["manifest", "--f", "p"],
        ["pac", "a", "b"], ["verify", "p", "-"], ["verify", "nowhere"],
        ["ls", "nowhere"], ["manifest", "nowhere"], ["unpack", "nowhere"],
    ]
    for index, argv in enumerate(words):
        yield Case(f"arguments-{index}", argv)


# pack.

NAMES = ["A", "a.txt", "a-b/c", "a/b", "a b/c d", "é空.bin", ".hidden",
         ".d/.e", "x#y?z", "%41", "a:b", "CON", "...", "~", "a\tb", "a;b",
         "z" * 200, "Ω/ß/ß.txt", "😀/😀", "a.b.c.d", "-x", "a\u200bb"]
BAD_NAMES = [" a", "a ", "a\u3000", "a\x1c", "a\n", "a\\b", "a::b", "::",
             "d /\x85", "\u2028x"]


def pack_cases():
    flat = tree_of({f"src/{name}": name.encode() for name in NAMES})
    yield Case("pack-names", ["pack", "src", "dst"], flat)
    for name in BAD_NAMES:
        yield Case(f"pack-bad-name-{name!r}", ["pack", "src", "dst"],
                   tree_of({"src/0": b"0", f"src/{name}": b"x", "src/zz": b""}))
    yield Case("pack-name-not-utf8", ["pack", "src", "dst"],
               tree_of({b"src/\xff\xfe": b"x"}))
    yield Case("pack-colon-end", ["pack", "src", "dst"],
               tree_of({"src/a:": b"x"}), refused=True)
    for seed in range(4):
        setup = tree_of(noise(seed, 40))
        for limit in (1, 200, 1_000, 5_078, 20_000, 10**12, 10**30):
            yield Case(f"pack-roll-{seed}-{limit}",
                       ["pack", "src", "dst", "--max-pack-bytes", str(limit)],
                       setup)
    exact = 22 + 2 * (100 + 30 + 46 + 2)
    for extra in (-1, 0, 1):
        yield Case(f"pack-exact-{extra}",
                   ["pack", f"--max-pack-bytes={exact + extra}", "src", "dst"],
                   tree_of({"src/a": b"1" * 100, "src/b": b"2" * 100,
                            "src/c": b"3" * 100}))
    small = tree_of({"src/a": b"A" * 64, "src/d/e": b""})
    for limit in ("0", "-5", "+700", " 700 ", "7_00"):
        yield Case(f"pack-limit-{limit!r}",
                   ["pack", "src", "dst", "--max-pack-bytes", limit], small)
    for base in ("x", "a/../b", "", "/abs", "a//b/", "zip://"):
        yield Case(f"pack-ref-base-{base}",
                   ["pack", "src", "dst", "--ref-base", base], small)
    for dst in ("dst/", "./dst", "a/b/c", "src/out", "d//e/.", "."):
        yield Case(f"pack-to-{dst}", ["pack", "src", dst], small)
    for src in ("src/", "./src", "src/.", "src//d", "src/../src", "."):
        yield Case(f"pack-from-{src}", ["pack", src, "dst"], small)
    yield Case("pack-many-blocks", ["pack", "src", "dst"],
               tree_of({"src/big": bytes(3 << 20), "src/b": b"x" * (1 << 20),
                        "src/c": b"y" * ((1 << 20) - 31), "src/d": b"z"}))
    yield Case("pack-no-source", ["pack", "nowhere//x/.", "dst"])
    yield Case("pack-file-source", ["pack", "src/a", "dst"], small)
    yield Case("pack-empty-source", ["pack", "src/", "dst"],
               lambda d: (d / "src" / "e").mkdir(parents=True))
    yield Case("pack-to-file", ["pack", "src", "src/a"], small)
    yield Case("pack-below-file", ["pack", "src", "src/a/b"], small)
    for name in ("x.zip", ".zip", "pack-0000.zip", "d.zip/f"):
        yield Case(f"pack-into-{name}", ["pack", "src", "dst"],
                   both(small, tree_of({f"dst/{name}": b""})))
    yield Case("pack-into-others", ["pack", "src", "dst"],
               both(small, tree_of({"dst/x.ZIP": b"", "dst/sub/y.zip": b""})))

    def links(folder):
        small(folder)
        (folder / "src" / "l").symlink_to("a")
        (folder / "src" / "m").symlink_to("d")
        (folder / "src" / "n").symlink_to("nowhere")
        (folder / "src" / "o").symlink_to("../src")
    yield Case("pack-links", ["pack", "src", "dst"], links)


# ls, verify and unpack of shards, good and bad.

def reading_cases():
    for name, data in damaged_shards():
        setup = tree_of({"p/pack-0000.zip": data})
        yield Case(f"ls-{name}", ["ls", "p"], setup)
        yield Case(f"verify-{name}", ["verify", "p"], setup)
        yield Case(f"unpack-{name}", ["unpack", "p", "out"], setup)
    one, two = shard([("a", b"1")]), shard([("b", b"22"), ("a", b"3")])
    double = tree_of({"p/x.zip": one, "p/y.zip": two, "p/z.zip": b"bad"})
    same = tree_of({"p/x.zip": one, "p/y.zip": two})
    distinct = tree_of({"p/x.zip": one, "p/.y.zip": shard([("b/c", b"22")]),
                        "p/n.ZIP": b"", "p/s/t.zip": two})
    for verb in (["ls", "p"], ["verify", "p"], ["unpack", "p", "out"],
                 ["manifest", "p"], ["ls", "./p/"], ["verify", "p/."]):
        for name, setup in (("double", double), ("same", same),
                            ("distinct", distinct)):
            yield Case(f"{'-'.join(verb)}-{name}", verb, setup)
    for verb in ("ls", "verify", "manifest"):
        yield Case(f"{verb}-here", [verb, "."], tree_of({"x.zip": one}))
        yield Case(f"{verb}-folder-zip", [verb, "p"],
                   tree_of({"p/x.zip": one, "p/y.zip/f": b""}))
        yield Case(f"{verb}-file", [verb, "x.zip"], tree_of({"x.zip": one}))
        yield Case(f"{verb}-dangling", [verb, "p"], lambda d: (
            (d / "p").mkdir(), (d / "p" / "x.zip").symlink_to("nowhere")))


# manifest and verify with one.

def manifest_cases():
    one, two = shard([("a", b"1")]), shard([("b", b"2")])
    pack = {"p/x.zip": one, "p/y.zip": two}

    def entry(data):
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    right = {"x.zip": entry(one), "y.zip": entry(two)}
    manifests = {
        "right": {"shards": right},
        "extra": {"shards": {**right, "z.zip": entry(one), "é": None}},
        "missing": {"shards": {"x.zip": entry(one)}},
        "bytes": {"shards": {**right, "x.zip": {**entry(one), "bytes": 1}}},
        "hash": {"shards": {**right, "y.zip": entry(one) | {"bytes": len(two)}}},
        "upper": {"shards": {**right, "x.zip": {
            "bytes": len(one), "sha256": entry(one)["sha256"].upper()}}},
        "null": {"shards": {**right, "x.zip": None}},
        "no-bytes": {"shards": {**right, "x.zip": {"sha256": ""}}},
        "no-hash": {"shards": {**right, "x.zip": {"bytes": len(one)}}},
        "no-hash-other-size": {"shards": {**right, "x.zip": {"bytes": 3}}},
        "number": {"shards": {**right, "x.zip": 5}},
        "no-shards": {"algorithm": "sha256"},
        "list": [1, 2],
        "empty": {"shards": {}},
    }
    for name, value in manifests.items():
        yield Case(f"verify-manifest-{name}", ["verify", "p"], tree_of(
            {**pack, "p/pack.manifest.json": json.dumps(value).encode()}))
    for name, text in (("text", b"{"), ("nothing", b""), ("bom", b"\xff\xfe")):
        yield Case(f"verify-manifest-{name}", ["verify", "p"],
                   tree_of({**pack, "p/pack.manifest.json": text}))
    for argv in (["manifest", "p"], ["manifest", "p/"],
                 ["manifest", "--force", "p"]):
        yield Case(f"{'-'.join(argv)}", argv, tree_of(pack))
        yield Case(f"{'-'.join(argv)}-again", argv,
                   tree_of({**pack, "p/pack.manifest.json": b"old"}))
    yield Case("manifest-names", ["manifest", "p"], tree_of(
        {f"p/{n}.zip": one for n in ("é", '"', "\\", "\t", "😀", "\x7f", "a")}))
    yield Case("manifest-folder", ["manifest", "p"], tree_of(
        {**pack, "p/pack.manifest.json/x": b""}))


# unpack.

def unpack_cases():
    names = {
        "up": "../x", "inner-up": "a/../../x", "absolute": "/etc/x",
        "dot": "./a", "double": "a//b", "backslash": "a\\b", "colons": "a::b",
        "space": " a", "colon-end": "a:", "plain": "a/b/c", "long": "x" * 300,
    }
    for name, key in names.items():
        yield Case(f"unpack-key-{name}", ["unpack", "p", "out"],
                   tree_of({"p/x.zip": shard([("ok", b"1"), (key, b"2")])}))
    for name, keys in (("file-folder", ["a", "a/b"]),
                       ("folder-file", ["a/b", "a"])):
        yield Case(f"unpack-{name}", ["unpack", "p", "out"], tree_of(
            {"p/x.zip": shard([(k, b"1") for k in keys])}))
    pack = tree_of({"p/x.zip": shard(GOOD)})
    yield Case("unpack-over", ["unpack", "p", "out"],
               both(pack, tree_of({"out/a.bin": b"old", "out/other": b"o"})))
    yield Case("unpack-onto-folder", ["unpack", "p", "out"],
               both(pack, tree_of({"out/a.bin/x": b"old"})))
    yield Case("unpack-below-file", ["unpack", "p", "out"],
               both(pack, tree_of({"out/d": b"file"})))
    yield Case("unpack-to-file", ["unpack", "p", "out"],
               both(pack, tree_of({"out": b"file"})))
    for dst in ("out/", "a/b/c", "./out/.", "p", "."):
        yield Case(f"unpack-to-{dst}", ["unpack", "p", dst], pack)

    def link(folder):
        pack(folder)
        (folder / "elsewhere").mkdir()
        (folder / "out").mkdir()
        (folder / "out" / "d").symlink_to("../elsewhere")
    yield Case("unpack-through-link", ["unpack", "p", "out"], link)

    def inner_link(folder):
        pack(folder)
        (folder / "out" / "real").mkdir(parents=True)
        (folder / "out" / "d").symlink_to("real")
    yield Case("unpack-inner-link", ["unpack", "p", "out"], inner_link)


# convert-wds.

def wds_cases():
    for name, data in tars():
        yield Case(f"wds-{name}", ["convert-wds", "t", "dst"],
                   tree_of({"t/a.tar": data}),
                   refused=name in ("raw-pax-nul", "raw-pax-long"),
                   own_words="neg" in name)
    two = tree_of({"t/b.x.tar": tar(SAMPLES), "t/a.tar": tar([("z", b"1")]),
                   "t/c.tar.gz": b"", "t/d/e.tar": b""})
    clash = tree_of({"t/b.x.tar": tar(SAMPLES), "t/a.tar": tar(SAMPLES),
                     "t/.tar": tar([("q", b"")])})
    for options in ([], ["--shard-prefix"], ["--max-pack-bytes", "1000"],
                    ["--max-pack-bytes", "0"], ["--ref-base", "x/y"]):
        for name, setup in (("two", two), ("clash", clash)):
            yield Case(f"wds-{name}-{'-'.join(options)}",
                       ["convert-wds", "t", "dst", *options], setup)
    for src in ("t/a.tar", "t/c.tar.gz", "t/nowhere.tar", "t/d", "nowhere",
                "t/a.tar/", "t//b.x.tar"):
        yield Case(f"wds-from-{src}", ["convert-wds", src, "dst"], two)
    yield Case("wds-folder-tar", ["convert-wds", "t", "dst"],
               tree_of({"t/x.tar/f": b""}))
    yield Case("wds-into-pack", ["convert-wds", "t", "dst"],
               both(two, tree_of({"dst/x.zip": b""})))
    yield Case("wds-nul", ["convert-wds", "t", "dst"], tree_of(
        {"t/a.tar": header(b"x", 13, b"x") + padded(
            pax_record(b"path", b"a\0b")) + header(b"a", 0) + bytes(1024)}),
               refused=True)
    yield Case("wds-colon-end", ["convert-wds", "t", "dst"],
               tree_of({"t/a.tar": tar([("a:", b"1")])}), refused=True)


def all_cases():
    yield from argument_cases()
    yield from pack_cases()
    yield from reading_cases()
    yield from manifest_cases()
    yield from unpack_cases()
    yield from wds_cases()
    yield from lance_cases(Case)
    yield from parquet_cases(Case)
