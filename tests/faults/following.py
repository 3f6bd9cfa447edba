#!/usr/bin/env python3
"""`rowfs mount SOURCE@latest --follow SECONDS`: new versions appear beside what
is mounted, and never under an open file."""
import os
import time

from common import Rowfs, make_clips, main, moto


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.1)


def follows(rowfs, source):
    rowfs.run("ingest", rowfs.folder / "a", "--output", source)
    with rowfs.mount(source + "@latest", "--follow", "1") as mount:
        rows = sorted(os.listdir(mount / "rows"))
        assert len(rows) == 2 and os.listdir(mount / ".versions") == ["1"]
        video = mount / "rows/000000/video.mp4"
        inode = video.stat().st_ino
        with open(video, "rb") as file:
            head = file.read(1000)
            rowfs.run("append", rowfs.folder / "b", "--output", source)
            wait_for(lambda: "2" in os.listdir(mount / ".versions"))
            assert len(os.listdir(mount / ".versions/2/rows")) == 3
            assert (mount / ".versions/2/rows/000002/video.mp4").read_bytes()
            rowfs.run("delete", source, "--where", "0")
            wait_for(lambda: "3" in os.listdir(mount / ".versions"))
            assert len(os.listdir(mount / ".versions/3/rows")) == 2
            # The version that is mounted, its open files above all, stays.
            assert sorted(os.listdir(mount / "rows")) == rows
            whole = head + file.read()
        assert video.read_bytes() == whole and video.stat().st_ino == inode
        assert (mount / ".versions/2/rows/000000/video.mp4"
                ).read_bytes() == whole
        assert (mount / ".versions/3/rows/000000/video.mp4"
                ).read_bytes() != whole
        wait_for(lambda: ".versions/3" in (mount / ".rowfs/log").read_text())
        # Versions have files of their own: nothing is mixed by the kernel.
        other = (mount / ".versions/2/rows/000000/video.mp4").stat().st_ino
        assert other != inode
    with rowfs.mount(source + "@latest") as mount:
        assert len(os.listdir(mount / "rows")) == 2
        assert (mount / "rows/000000/video.mp4").read_bytes() != whole


def new_versions_of_a_local_dataset_appear(program):
    with Rowfs(program) as rowfs:
        clips(rowfs)
        follows(rowfs, str(rowfs.folder / "v.lance"))


def new_versions_on_s3_appear(program):
    host, keys = moto()
    with Rowfs(program, {**keys, "AWS_ENDPOINT_URL": f"http://{host}"}) as rowfs:
        clips(rowfs)
        follows(rowfs, "s3://bkt/v.lance")


def clips(rowfs):
    make_clips(rowfs.folder / "a", 2, seconds=1)
    make_clips(rowfs.folder / "b", 1, seconds=2)


if __name__ == "__main__":
    main([new_versions_of_a_local_dataset_appear, new_versions_on_s3_appear])
