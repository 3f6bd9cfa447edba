"""Workers killed again and again while frames, sounds and pages are read: each
read gives the right bytes or EIO, no more reads fail than workers were killed,
afterwards everything is there, and the daemon never was in danger.

ROWFS_KILLS workers are killed, 25 unless it says otherwise."""
import errno
import hashlib
import os
import random
import signal
import threading
import time

import mounted as m
import processes

KILLS = int(os.environ.get("ROWFS_KILLS") or 25)
READERS = 4
# After two kills in a row a call is left alone for a minute.
QUARANTINE = 65


def make(media):
    m.make(media / "film.mp4", "-c:v", "libx264", "-g", "12", "-pix_fmt", "yuv420p",
           "-bf", "2", size="320x240", seconds=4)
    m.run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
          "sine=frequency=300:duration=40", "-c:a", "libopus", media / "sound.opus")
    m.run("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
          "testsrc2=size=600x400:rate=1:duration=1", "-frames:v", "1",
          media / "still.tif")


def items(root):
    """What there is to read: files that a worker has to make."""
    film = m.row_of(root, "film.mp4") / "video.frames"
    sound = m.row_of(root, "sound.opus") / "audio.segments"
    still = m.row_of(root, "still.tif") / "image.pages/0001"
    return ([film / f"{k:06d}.ppm" for k in range(100)] +
            [sound / f"{k:06d}.wav" for k in range(40)] +
            [still / f"{10 * k},{5 * k},200,150/max/0/default.bmp"
             for k in range(40)])


class Load:
    """Reads without end until it is told to stop; keeps what came out."""

    def __init__(self, paths, expected):
        self.paths, self.expected = paths, expected
        self.lock, self.over = threading.Lock(), threading.Event()
        self.reads, self.failed, self.wrong = 0, [], []

    def run(self, seed):
        dice = random.Random(seed)
        while not self.over.is_set():
            k = dice.randrange(len(self.paths))
            try:
                digest = hashlib.md5(self.paths[k].read_bytes()).hexdigest()
                bad = [] if digest == self.expected[k] else [self.paths[k]]
                failed = []
            except OSError as error:
                bad = [] if error.errno == errno.EIO else [(self.paths[k], error)]
                failed = [self.paths[k]]
            with self.lock:
                self.reads += 1
                self.wrong += bad
                self.failed += failed


def kill_some(daemon, count):
    """SIGKILL to `count` workers, any, one after the other."""
    dice, killed = random.Random(7), 0
    while killed < count:
        workers = processes.workers_of(daemon)
        if not workers:
            time.sleep(0.01)
            continue
        try:
            os.kill(dice.choice(workers), signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            continue
        time.sleep(dice.random() * 0.1)


def read_all(paths, expected):
    """The paths that are not what they should be."""
    bad = []
    for path, digest in zip(paths, expected):
        try:
            if hashlib.md5(path.read_bytes()).hexdigest() != digest:
                bad.append(path)
        except OSError:
            bad.append(path)
    return bad


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    media = folder / "media"
    media.mkdir()
    make(media)
    m.run(rowfs, "ingest", media, "--output", folder / "set.lance")
    # Little is kept, so that reads have to be made.
    with m.mounted(rowfs, folder / "set.lance", folder / "mnt", "--memory",
                   str(16 << 20)) as root:
        paths = items(root)
        expected = [hashlib.md5(p.read_bytes()).hexdigest() for p in paths]
        daemon = processes.daemon_of(folder / "mnt")
        load = Load(paths, expected)
        readers = [threading.Thread(target=load.run, args=(k,))
                   for k in range(READERS)]
        begin = time.monotonic()
        for reader in readers:
            reader.start()
        kill_some(daemon, KILLS)
        load.over.set()
        for reader in readers:
            reader.join()
        spent = time.monotonic() - begin
        print(f"{KILLS} kills in {spent:.0f} s: {load.reads} reads, "
              f"{len(load.failed)} EIO, {len(load.wrong)} wrong")
        checks.equal(load.wrong, [], "every read is right or EIO")
        checks.true(len(load.failed) <= KILLS, "no more failures than kills: "
                    f"{len(load.failed)}")
        checks.equal(processes.daemon_of(folder / "mnt"), daemon, "the daemon")
        bad = read_all(paths, expected)
        if bad:
            time.sleep(QUARANTINE)
            bad = read_all(bad, [expected[paths.index(p)] for p in bad])
        checks.equal(bad, [], "everything is there afterwards")
    checks.end()


main()
