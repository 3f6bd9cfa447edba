#!/usr/bin/env python3
"""Who rowfs says it is to a store, and where that is said: every source of AWS
keys, keys that expire, requester pays, regions, the Hugging Face hub, URLs that
a dataset names."""
import json
import os
import socket
import subprocess
import time
import urllib.parse

from common import (Proxy, Rowfs, Server, blob_of, main, moto, request, skip,
                    span)

CANARY = "hf_tokencanary0123456789"
_rig = {}


class Gate(Proxy):
    """In front of moto, which lets everybody in: only who has the keys that are
    wanted now gets through (None: nobody who signs)."""

    def __init__(self, upstream):
        self.wanted, self.token, self.region = None, None, None
        self.seen = []
        super().__init__(upstream)

    def forward(self, handler):
        said = handler.headers.get("Authorization")
        self.seen.append(dict(handler.headers.items()))
        if self.region and f"/{self.region}/s3/" not in (said or ""):
            return self.refuse(handler, 301, "PermanentRedirect",
                               {"x-amz-bucket-region": self.region})
        if self.wanted is None:
            if said is not None:
                return self.refuse(handler, 403, "AccessDenied")
            handler.headers["Authorization"] = (
                "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/"
                "aws4_request, SignedHeaders=host, Signature=0")
        elif f"Credential={self.wanted}/" not in (said or ""):
            return self.refuse(handler, 400, "ExpiredToken")
        elif handler.headers.get("X-Amz-Security-Token") != self.token:
            return self.refuse(handler, 403, "InvalidToken")
        return super().forward(handler)

    def refuse(self, handler, status, code, headers=None):
        body = (f"<Error><Code>{code}</Code><Message>no</Message></Error>"
                ).encode()
        answer(handler, body, status, headers)


def answer(handler, body, status=200, headers=None):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def soon(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ",
                         time.gmtime(time.time() + seconds))


def gate():
    if not _rig:
        host, _ = moto()
        for i in range(3):
            request(host, "PUT", f"/bkt/p/{i}.png", b"\x89PNG" + bytes([i]) * 9)
        _rig["gate"] = Gate(host)
    found = _rig["gate"]
    found.wanted = found.token = found.region = None
    found.seen.clear()
    return found


def reader(program, environment=None):
    """rowfs without any keys but those given."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    return Rowfs(program, {"AWS_ENDPOINT_URL": gate().url,
                           "AWS_EC2_METADATA_DISABLED": "true",
                           **(environment or {})})


def lists(rowfs, wanted, token=None):
    door = _rig["gate"]
    door.wanted, door.token = wanted, token
    door.seen.clear()
    rowfs.fresh_cache()
    done = rowfs.run("ls", "s3://bkt/p", "rows", code=None)
    assert done.returncode == 0 and len(done.stdout.split()) == 3, done
    assert door.seen
    return done


def keys_come_from_every_source_of_the_chain(program):
    with reader(program) as rowfs:
        lists(rowfs, None)  # anonymous
        environment, home = rowfs.environment, rowfs.folder

        # Last in the chain first: each is asked only while nothing before it
        # has anything.
        def instance(handler):
            if handler.path == "/latest/api/token":
                return answer(handler, b"session")
            if handler.headers.get("X-aws-ec2-metadata-token") != "session":
                return answer(handler, b"", 401)
            if handler.path.endswith("/security-credentials/"):
                return answer(handler, b"role")
            return answer(handler, {
                "AccessKeyId": "AKIDINSTANCE", "SecretAccessKey": "s",
                "Token": "i", "Expiration": soon(3600)})

        environment["AWS_EC2_METADATA_DISABLED"] = "false"
        environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = Server(instance).url
        lists(rowfs, "AKIDINSTANCE", "i")

        def container(handler):
            if handler.headers.get("Authorization") != "let me in":
                return answer(handler, b"", 403)
            return answer(handler, {
                "AccessKeyId": "AKIDCONTAINER", "SecretAccessKey": "s",
                "Token": "c", "Expiration": soon(3600)})

        environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = (
            Server(container).url + "/creds")
        environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "let me in"
        lists(rowfs, "AKIDCONTAINER", "c")

        (home / ".aws").mkdir()
        (home / ".aws/credentials").write_text(
            "[default]\naws_access_key_id = AKIDFILE\n"
            "aws_secret_access_key = s\n[other]\naws_access_key_id=AKIDOTHER\n"
            "aws_secret_access_key=s\n")
        lists(rowfs, "AKIDFILE")
        (home / ".aws/config").write_text(
            "[profile mine]\nsource_profile = other\n"
            "aws_access_key_id = AKIDMINE\naws_secret_access_key = s\n"
            "aws_session_token = m\n")
        lists(dict_environment(rowfs, AWS_PROFILE="other"), "AKIDOTHER")
        lists(dict_environment(rowfs, AWS_PROFILE="mine"), "AKIDMINE", "m")

        def sts(handler):
            size = int(handler.headers.get("Content-Length") or 0)
            text = handler.rfile.read(size).decode() + handler.path
            assert "AssumeRoleWithWebIdentity" in text and "webtoken" in text
            answer(handler, f"""<AssumeRoleWithWebIdentityResponse>
              <AssumeRoleWithWebIdentityResult><Credentials>
              <AccessKeyId>AKIDWEB</AccessKeyId><SecretAccessKey>s
              </SecretAccessKey><SessionToken>w</SessionToken>
              <Expiration>{soon(3600)}</Expiration></Credentials>
              </AssumeRoleWithWebIdentityResult>
              </AssumeRoleWithWebIdentityResponse>""".encode())

        (home / "identity").write_text("webtoken")
        lists(dict_environment(
            rowfs, AWS_WEB_IDENTITY_TOKEN_FILE=str(home / "identity"),
            AWS_ROLE_ARN="arn:aws:iam::1:role/r",
            AWS_ENDPOINT_URL_STS=Server(sts).url), "AKIDWEB", "w")
        lists(dict_environment(rowfs, AWS_ACCESS_KEY_ID="AKIDENV",
                               AWS_SECRET_ACCESS_KEY="s",
                               AWS_SESSION_TOKEN="e"), "AKIDENV", "e")


class dict_environment:
    """`rowfs` with more in its environment."""

    def __init__(self, rowfs, **more):
        self.rowfs, self.more = rowfs, more

    def fresh_cache(self):
        self.rowfs.fresh_cache()

    def run(self, *words, **options):
        before = dict(self.rowfs.environment)
        self.rowfs.environment.update(self.more)
        try:
            return self.rowfs.run(*words, **options)
        finally:
            self.rowfs.environment.clear()
            self.rowfs.environment.update(before)


def keys_that_expire_are_renewed_under_a_mount(program):
    door = gate()
    door.wanted, door.token = "AKID1", "t1"
    asked = []

    def container(handler):
        asked.append(handler.path)
        number = door.wanted[-1]
        answer(handler, {"AccessKeyId": f"AKID{number}",
                         "SecretAccessKey": "s", "Token": f"t{number}",
                         "Expiration": soon(3600)})

    source = Server(container)
    with reader(program, {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": source.url}) as rowfs:
        door.wanted, door.token = "AKID1", "t1"
        with rowfs.mount("s3://bkt/p") as mount:
            assert blob_of(mount / "rows/000000").read_bytes()[-1] == 0
            first = len(asked)
            door.wanted, door.token = "AKID2", "t2"
            assert blob_of(mount / "rows/000001").read_bytes()[-1] == 1
            assert len(asked) > first, "the keys were not renewed"
            assert any("AKID2" in h.get("Authorization", "")
                       for h in door.seen)


def requester_pays_is_said_in_every_request(program):
    with reader(program, {"AWS_REQUEST_PAYER": "requester",
                          "AWS_ACCESS_KEY_ID": "AKIDPAYS",
                          "AWS_SECRET_ACCESS_KEY": "s"}) as rowfs:
        lists(rowfs, "AKIDPAYS")
        assert all(h.get("x-amz-request-payer") == "requester"
                   for h in _rig["gate"].seen), _rig["gate"].seen


def the_region_of_a_bucket_is_found(program):
    with reader(program, {"AWS_ACCESS_KEY_ID": "AKIDFAR",
                          "AWS_SECRET_ACCESS_KEY": "s"}) as rowfs:
        _rig["gate"].region = "eu-west-3"
        lists(rowfs, "AKIDFAR")
        wrong = [h for h in _rig["gate"].seen
                 if "/eu-west-3/" not in h["Authorization"]]
        assert len(wrong) == 1, wrong  # once, then it is known


# ---- the hub

class Hub:
    """One dataset whose files lie behind a redirect to another server."""

    def __init__(self):
        self.commits = {"main": "a" * 40, "v1": "b" * 40}
        self.files = {"a" * 40: {"x.png": b"\x89PNG\r\n\x1a\nmain"},
                      "b" * 40: {"x.png": b"\x89PNG\r\n\x1a\nv1"}}
        self.strangers, self.asked = [], []
        self.storage = Server(self.store)
        self.hub = Server(self.serve)

    def store(self, handler):
        self.strangers.append(dict(handler.headers.items()))
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(handler.path).query)
        data = self.files[query["c"][0]][query["f"][0]]
        part = span(handler, len(data))
        headers = {"ETag": '"x"'}
        if part:
            headers["Content-Range"] = (
                f"bytes {part[0]}-{part[1] - 1}/{len(data)}")
        answer(handler, data[slice(*part)] if part else data,
               206 if part else 200, headers)

    def serve(self, handler):
        self.asked.append(handler.path)
        if handler.headers.get("Authorization") != f"Bearer {CANARY}":
            return answer(handler, {"error": "who are you"}, 401)
        words = [urllib.parse.unquote(w) for w in handler.path.split("/")[1:]]
        if words[:2] == ["api", "datasets"] and words[4] == "revision":
            if words[5] not in self.commits:
                return answer(handler, {"error": "no such revision"}, 404)
            return answer(handler, {"sha": self.commits[words[5]]})
        if words[:2] == ["api", "datasets"]:
            commit = words[5].split("?")[0]
            if len(words) > 6:
                return answer(handler, {"error": "no such folder"}, 404)
            return answer(handler, [
                {"type": "file", "path": name, "size": len(data)}
                for name, data in self.files[commit].items()])
        if words[3] == "resolve":
            commit, name = words[4], "/".join(words[5:])
            if name not in self.files.get(commit, {}):
                return answer(handler, b"", 404)
            return answer(handler, b"", 302, {
                "Location": f"{self.storage.url}/blob?c={commit}&f={name}"
                            "&sig=signaturecanary"})
        return answer(handler, b"", 404)


def hub_revisions_are_pinned_and_the_token_stays_at_the_hub(program):
    hub = Hub()
    with Rowfs(program, {"HF_ENDPOINT": hub.hub.url, "HF_TOKEN": CANARY,
                         "ROWFS_LOG": "debug"}) as rowfs:
        def content(source):
            return rowfs.run("cat", source, "rows/000000/image.png",
                             code=None)
        for source, want in (("hf://datasets/o/n", b"main"),
                             ("hf://datasets/o/n@v1", b"v1"),
                             ("hf://datasets/o/n@" + "b" * 40, b"v1")):
            done = content(source)
            assert done.stdout.endswith(want), (source, done)
        # A commit needs no question what it is.
        hub.asked.clear()
        rowfs.fresh_cache()
        assert content("hf://datasets/o/n@" + "b" * 40).returncode == 0
        assert not [p for p in hub.asked if "/revision/" in p], hub.asked
        # The branch moves on: what is mounted does not.
        rowfs.fresh_cache()
        with rowfs.mount("hf://datasets/o/n@main") as mount:
            name = blob_of(mount / "rows/000000")
            hub.commits["main"] = "b" * 40
            assert name.read_bytes().endswith(b"main")
            log = (mount / ".rowfs/log").read_text()
            shown = subprocess.run(["ps", "axww"], capture_output=True,
                                   text=True).stdout
            about = (mount / ".rowfs/dataset.json").read_text()
            for text in (log, shown, about):
                assert CANARY not in text and "signaturecanary" not in text
        assert content("hf://datasets/o/n@main").stdout.endswith(b"v1")
        assert hub.strangers
        for headers in hub.strangers:
            assert "Authorization" not in headers, headers
            assert CANARY not in str(headers), headers
        # From the file that the hub's own tools keep.
        del rowfs.environment["HF_TOKEN"]
        rowfs.fresh_cache()
        done = content("hf://datasets/o/n@v1")
        assert done.returncode == 1 and b"401" in done.stderr, done
        rowfs.environment["HF_HOME"] = str(rowfs.folder / "hf")
        (rowfs.folder / "hf").mkdir()
        (rowfs.folder / "hf/token").write_text(CANARY + "\n")
        assert content("hf://datasets/o/n@v1").stdout.endswith(b"v1")
        done = content("hf://datasets/o/n@none")
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done


# ---- URLs that a dataset names

def urls_in_a_remote_dataset_lead_to_no_private_address(program):
    try:
        import lance
        import pyarrow
    except ImportError:
        skip("no pylance (set ROWFS_PYTHON)")
    inside = []

    def secret(handler):
        inside.append(handler.path)
        answer(handler, b"\x89PNG secret", 200, {"ETag": '"s"'})

    target = Server(secret)
    port = target.server_address[1]
    host = socket.gethostname()
    try:
        addresses = {socket.gethostbyname(host)}
    except OSError:
        addresses = set()
    # Its own host may be one; others may not.
    urls = [f"http://localhost:{port}/b",
            f"http://[::ffff:127.0.0.1]:{port}/c",
            f"http://2130706433:{port}/d"]
    if addresses & {"127.0.0.1", "127.0.1.1"}:
        # An innocent name; where it leads shows when it is resolved.
        urls.append(f"http://{host}:{port}/e")
    with Rowfs(program) as rowfs:
        folder = rowfs.folder / "www/e.lance"
        # pylance writes no such URLs: others of the same length, changed after.
        stand_ins = ["file:///" + chr(ord("a") + i) * (len(url) - 8)
                     for i, url in enumerate(urls)]
        blobs = [lance.Blob.from_uri(uri, position=0, size=4)
                 for uri in stand_ins]
        lance.write_dataset(
            pyarrow.Table.from_arrays(
                [pyarrow.array(range(len(urls))), lance.blob_array(blobs)],
                schema=pyarrow.schema([("id", pyarrow.int64()),
                                       lance.blob_field("doc")])),
            str(folder), data_storage_version="2.2",
            allow_external_blob_outside_bases=True)
        for path in (folder / "data").rglob("*"):
            data = path.read_bytes()
            for uri, url in zip(stand_ins, urls):
                assert data.count(uri.encode()) == 1, (path, uri)
                data = data.replace(uri.encode(), url.encode())
            path.write_bytes(data)

        def serve(handler):
            path = rowfs.folder / "www" / handler.path.lstrip("/")
            if not path.is_file():
                return answer(handler, b"", 404)
            data = path.read_bytes()
            part = span(handler, len(data))
            headers = {"ETag": '"w"'}
            if part:
                headers["Content-Range"] = (
                    f"bytes {part[0]}-{part[1] - 1}/{len(data)}")
            return answer(handler, data[slice(*part)] if part else data,
                          206 if part else 200, headers)

        allowed = [word for url in urls for word in (
            "--allow-external", url.rsplit("/", 1)[0] + "/")]
        source = Server(serve).url + "/e.lance"
        with rowfs.mount(source, *allowed) as mount:
            for row in range(len(urls)):
                folder = mount / f"rows/{row:06d}"
                assert (folder / "id").read_text() == f"{row}\n"
                try:
                    got = (folder / "doc.bin").read_bytes()
                    raise AssertionError((urls[row], got, inside))
                except OSError:
                    pass
        assert not inside, inside


if __name__ == "__main__":
    main([keys_come_from_every_source_of_the_chain,
          keys_that_expire_are_renewed_under_a_mount,
          requester_pays_is_said_in_every_request,
          the_region_of_a_bucket_is_found,
          hub_revisions_are_pinned_and_the_token_stays_at_the_hub,
          urls_in_a_remote_dataset_lead_to_no_private_address])
