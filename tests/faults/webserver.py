#!/usr/bin/env python3
"""rowfs on a real web server, nginx: TLS, HTTP/2, ranges, compression,
redirects, passwords, proxies."""
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from common import Proxy, Rowfs, main, make_clips, skip

_rig = {}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder):
    """A root and a certificate of localhost that it signed."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True,
                       cwd=folder)
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
            "ca.key", "-out", "ca.pem", "-subj", "/CN=rowfs test root",
            "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem",
            "-out", "csr.pem", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "csr.pem", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
            "-extfile", "names")


def start(program):
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        skip("no nginx or openssl (Debian: nginx-light openssl)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rowfs-nginx-"))
    os.chmod(folder, 0o755)
    certificate(folder)
    make_clips(folder / "clips", 2)
    subprocess.run([program, "ingest", folder / "clips", "--output",
                    folder / "www/v.lance"], check=True, capture_output=True)
    shutil.copy(folder / "clips/clip000.mp4", folder / "www")
    for path in (folder / "www").rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    tls, plain = free_port(), free_port()
    password = subprocess.run(["openssl", "passwd", "-apr1", "s3cret"],
                              capture_output=True, text=True).stdout.strip()
    (folder / "passwords").write_text(f"me:{password}\n")
    (folder / "nginx.conf").write_text(f"""
user root;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  root {folder}/www;
  gzip on; gzip_min_length 1; gzip_types *; gzip_proxied any;
  server {{
    listen 127.0.0.1:{tls} ssl http2;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location /down/ {{ return 302 http://localhost:{plain}/clip000.mp4; }}
  }}
  server {{
    listen 127.0.0.1:{plain};
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
    location /up/ {{
      rewrite ^/up/(.*)$ https://localhost:{tls}/$1 redirect;
    }}
    location /private/ {{
      alias {folder}/www/; auth_basic x; auth_basic_user_file {folder}/passwords;
    }}
  }}
}}
""")
    child = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p",
                              folder], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", plain)) == 0:
                break
        time.sleep(0.1)
    _rig.update(folder=folder, child=child, plain=f"http://localhost:{plain}",
                tls=f"https://localhost:{tls}", ca=folder / "ca.pem")


def blob(rowfs, url, *options):
    return rowfs.run("cat", url, "rows/000000/video.mp4", *options).stdout


def content():
    return (_rig["folder"] / "clips/clip000.mp4").read_bytes()


def tls_is_verified_with_the_given_roots(program):
    with Rowfs(program) as rowfs:
        url = _rig["tls"] + "/clip000.mp4"
        done = rowfs.run("ls", url, code=1)
        assert b"ertificate" in done.stderr, done.stderr
        assert done.stderr.count(b"\n") == 1, done.stderr
        assert blob(rowfs, url, "--ca-file", _rig["ca"]) == content()
        rowfs.fresh_cache()
        rowfs.environment["SSL_CERT_FILE"] = str(_rig["ca"])
        assert blob(rowfs, url) == content()
        # The name counts too, not only who signed.
        done = rowfs.run("ls", url.replace("localhost", "127.0.0.1"), code=1)
        assert b"127.0.0.1" in done.stderr, done.stderr
        assert b'HTTP/2.0"' in (_rig["folder"] / "access.log").read_bytes()


def a_dataset_is_mounted_where_nothing_can_be_listed(program):
    with Rowfs(program) as rowfs:
        with rowfs.mount(_rig["tls"] + "/v.lance", "--ca-file",
                         _rig["ca"]) as mount:
            assert len(os.listdir(mount / "rows")) == 2
            data = (mount / "rows/000001/video.mp4").read_bytes()
        local = rowfs.run("cat", _rig["folder"] / "www/v.lance",
                          "rows/000001/video.mp4").stdout
        assert hashlib.sha256(data).digest() == hashlib.sha256(local).digest()


def redirects_are_followed_upwards_only(program):
    with Rowfs(program) as rowfs:
        plain, ca = _rig["plain"], _rig["ca"]
        assert blob(rowfs, plain + "/moved/clip000.mp4") == content()
        assert blob(rowfs, plain + "/up/clip000.mp4", "--ca-file",
                    ca) == content()
        done = rowfs.run("ls", _rig["tls"] + "/down/clip000.mp4", "--ca-file",
                         ca, code=1)
        assert b"away from https" in done.stderr, done.stderr


def a_password_in_the_url_opens_and_is_not_shown(program):
    with Rowfs(program) as rowfs:
        url = _rig["plain"].replace("//", "//me:s3cret@") + "/private"
        assert blob(rowfs, url + "/clip000.mp4") == content()
        done = rowfs.run("ls", url.replace("s3cret", "wr0ng") + "/clip000.mp4",
                         code=1)
        assert b"401" in done.stderr and b"wr0ng" not in done.stderr
        with rowfs.mount(url + "/clip000.mp4") as mount:
            text = (mount / ".rowfs/dataset.json").read_text()
            mounts = pathlib.Path("/proc/mounts").read_text()
            assert "s3cret" not in text + mounts, text


def a_proxy_from_the_environment_is_used(program):
    with Rowfs(program) as rowfs:
        proxy = Proxy(_rig["plain"].split("//")[1])
        rowfs.environment["http_proxy"] = proxy.url
        rowfs.environment["no_proxy"] = ""
        assert blob(rowfs, _rig["plain"] + "/clip000.mp4") == content()
        assert proxy.take()
        rowfs.fresh_cache()
        rowfs.environment["no_proxy"] = "localhost"
        assert blob(rowfs, _rig["plain"] + "/clip000.mp4") == content()
        assert not proxy.take()


if __name__ == "__main__":
    import sys
    start(sys.argv[1])
    try:
        main([tls_is_verified_with_the_given_roots,
              a_dataset_is_mounted_where_nothing_can_be_listed,
              redirects_are_followed_upwards_only,
              a_password_in_the_url_opens_and_is_not_shown,
              a_proxy_from_the_environment_is_used])
    finally:
        _rig["child"].terminate()
        _rig["child"].wait()
        shutil.rmtree(_rig["folder"], ignore_errors=True)
