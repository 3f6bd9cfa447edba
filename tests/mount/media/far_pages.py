"""Pages of a PDF that lies on a web server and was never ingested, counted there:
the list of pages, a text and a picture cost a few small reads of a file of many
megabytes, and are what the file on disk gives."""
import http.server
import os
import threading

import mounted as m

PAGES, FILL = 60, 200_000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = size = 0

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.path != "/book.pdf":
            self.send_error(404)
            return
        file, begin, end = self.server.file, 0, len(self.server.file)
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if asked:
            first, last = asked.split("-")
            begin = int(first) if first else end - int(last)
            end = min(end, int(last) + 1) if first and last else end
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        if asked:
            self.send_header("Content-Range",
                             f"bytes {begin}-{end - 1}/{len(file)}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        Handler.requests += 1
        if self.command == "GET":
            Handler.size += end - begin
            self.wfile.write(file[begin:end])


def book():
    """Each page dictionary before a content that is large."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>",
               f"<< /Type /Pages /Count {PAGES} /Kids ["
               f"{' '.join(f'{4 + 2 * i} 0 R' for i in range(PAGES))}] >>".encode(),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for i in range(PAGES):
        text = (b"%" + os.urandom(FILL // 2).hex().encode() +
                f"\nBT /F 18 Tf 40 50 Td (word{i + 1}) Tj ET".encode())
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources <<"
            f" /Font << /F 3 0 R >> >> /Contents {5 + 2 * i} 0 R >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream"
                       % (len(text), text))
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
                  % (len(objects) + 1, table))


def counted(work):
    before = Handler.requests, Handler.size
    result = work()
    return result, Handler.requests - before[0], Handler.size - before[1]


def main():
    rowfs, folder = m.start()
    checks = m.Checks()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.file = book()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "near").mkdir()
    (folder / "near/book.pdf").write_bytes(server.file)
    url = f"http://127.0.0.1:{server.server_address[1]}/book.pdf"
    total = len(server.file)
    with m.mounted(rowfs, url, folder / "far", "--cache-dir", folder / "c") as far, \
            m.mounted(rowfs, folder / "near", folder / "mnt") as near:
        row = m.row_of(far, "book.pdf")
        pages = row / "document.pages"
        _, _, size = counted(lambda: list(row.iterdir()))
        checks.true(size < total / 20, f"bytes for ls of the row: {size}")
        names, requests, size = counted(lambda: sorted(os.listdir(pages)))
        print(f"pages: {requests} requests, {size} bytes of {total}")
        checks.equal(len(names), 3 * PAGES, "pages")
        checks.true(requests <= PAGES + 10, f"requests for the pages: {requests}")
        checks.true(size < 24_576 * (PAGES + 10), f"bytes for the pages: {size}")
        for number in (41, 7):
            text, requests, size = counted(
                lambda: (pages / f"{number:04}.txt").read_text())
            print(f"text {number}: {requests} requests, {size} bytes")
            checks.equal(text, f"word{number}\n", f"text {number}")
            checks.true(requests <= 6, f"requests for text {number}: {requests}")
            checks.true(size < 3 * FILL, f"bytes for text {number}: {size}")
            picture, requests, size = counted(
                lambda: (pages / f"{number:04}.png").read_bytes())
            checks.true(requests <= 2, f"requests for the same page: {requests}")
            checks.equal(picture, (m.row_of(near, "book.pdf") /
                                   f"document.pages/{number:04}.png").read_bytes(),
                         f"picture {number}")
    checks.end()


main()
