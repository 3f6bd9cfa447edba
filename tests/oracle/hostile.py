"""Damaged variants of golden datasets read by rowfs: each must give the right
values or one clear error. hostile.py LIBRARY FROM-TO

Prints one line for each variant that ends otherwise (wrong values, signal,
timeout, too much memory) and a table; exit 1 when there is a line of the kinds
that must not be. Variants with damaged payload can hold wrong values that
nobody can notice: formats without checksums."""
import collections
import hashlib
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile

from golden import compare, load
from rowfs_arrow import Library, RowfsError
from same import Different

# A library with sanitizers is slower, and its shadow is memory too.
SLOWER = int(os.environ.get("ROWFS_SLOWER", "1"))
CPU_SECONDS = 10 * SLOWER
WALL_SECONDS = 200 * SLOWER
SLOW_SECONDS = 2.0 * SLOWER
GROWTH_BYTES = SLOWER * (256 << 20)
# Operations of the mutator that change structure, not payload.
STRUCTURAL = ("footer", "table", "column", "pagetable", "layout", "descriptor",
              "manifest", "manfrag", "mantail", "roaring", "removed", "trunc")
# A manifest that renames or drops a column is a manifest of another schema.
LEGAL_EDITS = ("columns [", ": field pyarrow.Field", "nullable, or not")


def read_all(library, uri):
    """Everything a reader would touch; raises RowfsError on the first error."""
    table = library.open(uri)
    data = table.scan(batch_rows=700)
    order = list(range(0, table.rows, 3))[::-1]
    table.take(order)
    errors = []
    digest = []
    for name in data.schema.names:
        if "kind" not in str(data.schema.field(name).type):
            continue
        for cell in data.column(name).to_pylist():
            if isinstance(cell, dict) and "kind" in cell:
                try:
                    digest.append(hashlib.sha256(
                        table.read_blob(cell)).hexdigest())
                except RowfsError as error:
                    errors.append(error)
    if errors:
        raise errors[0]
    return table


def outcome(library, folder, uri, about):
    try:
        table = read_all(library, uri)
        compare(table, load(folder, about["latest"]), about["latest"], about)
        return "unaffected", ""
    except RowfsError as error:
        good = error.code in ("corruption", "unsupported", "not_found",
                              "permission_denied", "resource_exhausted")
        return ("error" if good else "odd error"), str(error)
    except Different as error:
        return "wrong", str(error)


def run_one(library, mutate, golden, seed, scratch):
    uri, what = mutate.mutate(seed, golden, scratch)
    with open(f"{golden}/{what['base']}.expected.json", encoding="utf-8") as f:
        about = json.load(f)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read_end)
            signal.alarm(WALL_SECONDS)
            used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            limit = int(used) + CPU_SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            result = outcome(library, golden, uri, about)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            with os.fdopen(write_end, "wb") as pipe:
                pickle.dump((result, grown * 1024), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        data = pipe.read()
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    shutil.rmtree(uri)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL)
        kind = "hang" if number in late else f"signal {number}"
        return kind, "", what, seconds
    if not data:
        return "crash", "", what, seconds
    (kind, text), grown = pickle.loads(data)
    if grown > GROWTH_BYTES:
        kind, text = "memory", f"{grown >> 20} MiB, {kind}: {text}"
    elif seconds > SLOW_SECONDS:
        kind, text = "slow", f"{seconds:.1f} s, {kind}: {text}"
    return kind, text, what, seconds


def main():
    library, shared = Library(sys.argv[1]), os.environ["ROWFS_SHARED"]
    sys.path.insert(0, f"{shared}/tools/lance")
    import mutate
    first, last = (int(x) for x in sys.argv[2].split("-"))
    counts = collections.Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            kind, text, what, _ = run_one(library, mutate,
                                          f"{shared}/data/lance-golden", seed,
                                          scratch)
            counts[kind] += 1
            hidden = kind == "wrong" and (
                what.get("op") not in STRUCTURAL or
                any(edit in text for edit in LEGAL_EDITS))
            if kind in ("unaffected", "error") or hidden:
                continue
            bad += 1
            print(f"{seed}: {kind}: {text} [{what.get('op')}: "
                  f"{what['base']}/{what['file']}: {what['what']}]"[:600],
                  flush=True)
    print(dict(counts))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
