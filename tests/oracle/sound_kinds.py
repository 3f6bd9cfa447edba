"""The sounds of sounds.py: a table of files and how each is made.

`make` fills a folder and returns name -> Kind. Kinds whose samples are known
before a file is written carry them; of the others ffmpeg tells.
"""
import array
import math
import os
import struct
import subprocess

RATE = 44100
FRAMES = 66177  # a second and a half, and a rest that fits no block


class Kind:
    def __init__(self, name, raw="s16le", near=False, samples=None):
        self.name, self.raw, self.near, self.samples = name, raw, near, samples
        self.opus = "opus" in name
        self.decoded = None  # kept for the second look


def wave(channels=2, frames=FRAMES, rate=RATE, peak=20000):
    """Whole numbers of 16 bits: tones and a little noise, interleaved."""
    out, noise = array.array("h"), 12345
    for i in range(frames):
        for c in range(channels):
            noise = (noise * 1103515245 + 12345) % 2**31
            tone = math.sin(i * (300 + 170 * c + i / 40) * 2 * math.pi / rate)
            out.append(int(peak * tone) + (noise >> 22) % 400 - 200)
    return out


def words(values, bits, big=False):
    """16-bit samples as whole numbers of `bits`, the low bits filled."""
    if bits == 8:
        return bytes((v >> 8) + 128 for v in values)
    step = 1 << bits - 16
    order = "big" if big else "little"
    return b"".join((v * step + v % step).to_bytes(bits // 8, order, signed=True)
                    for v in values)


def floats(values, code, big=False):
    return struct.pack(f"{'>' if big else '<'}{len(values)}{code}",
                       *(v / 32768 for v in values))


def chunk(name, body, order="<"):
    return name + struct.pack(order + "I", len(body)) + body + b"\0" * (
        len(body) % 2)


def fmt(tag, channels, rate, bits, extra=b"", order="<"):
    align = channels * ((bits + 7) // 8)
    return chunk(b"fmt ", struct.pack(order + "HHIIHH", tag, channels, rate,
                                      rate * align, align, bits) + extra, order)


def extensible(tag, channels, rate, bits, valid, mask):
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    return fmt(0xFFFE, channels, rate, bits,
               struct.pack("<HHI", 22, valid, mask) + guid)


def riff(*parts, head=b"RIFF", size=None, order="<"):
    body = b"WAVE" + b"".join(parts)
    return head + struct.pack(order + "I", len(body) if size is None else size
                              ) + body


class Maker:
    def __init__(self, folder, only):
        self.folder, self.only, self.kinds = folder, only, {}

    def wants(self, name):
        return not self.only or name in self.only

    def put(self, name, data, raw="s16le", samples=None, near=False):
        if not self.wants(name):
            return
        with open(f"{self.folder}/{name}", "wb") as file:
            file.write(data)
        self.kinds[name] = Kind(name, raw, near, samples)

    def by(self, name, *command, raw="s16le", near=False, samples=None, feed=None):
        """`command` with IN and OUT in it makes the file."""
        if not self.wants(name):
            return
        place = {"IN": self.source, "OUT": f"{self.folder}/{name}"}
        done = subprocess.run([place.get(w, w) for w in command], input=feed,
                              capture_output=True)
        assert done.returncode == 0, (command, done.stderr.decode()[-400:])
        self.kinds[name] = Kind(name, raw, near, samples)

    def ffmpeg(self, name, options, **more):
        self.by(name, "ffmpeg", "-nostdin", "-v", "error", "-y", "-i", "IN",
                *options.split(), "OUT", **more)

    def sox(self, name, options="", effects="", **more):
        self.by(name, "sox", "-D", "IN", *options.split(), "OUT",
                *effects.split(), **more)


def wav_files(m, pcm):
    plain = fmt(1, 2, RATE, 16)
    data = chunk(b"data", words(pcm, 16))
    own = words(pcm, 16)

    def put(name, *parts, **more):
        m.put(name, riff(*parts), samples=more.pop("samples", own), **more)
    put("plain.wav", plain, data)
    put("ext16.wav", extensible(1, 2, RATE, 16, 16, 3), data)
    deep = words(pcm, 24)
    put("ext24.wav", extensible(1, 2, RATE, 24, 24, 3), chunk(b"data", deep),
        raw="s24le", samples=deep)
    put("ext20in24.wav", extensible(1, 2, RATE, 24, 20, 3), chunk(b"data", deep),
        raw="s24le", samples=deep)
    deep = words(pcm, 32)
    put("s32.wav", fmt(1, 2, RATE, 32), chunk(b"data", deep), raw="s32le",
        samples=deep)
    put("ext24in32.wav", extensible(1, 2, RATE, 32, 24, 3), chunk(b"data", deep),
        raw="s32le", samples=deep)
    real = floats(pcm, "f")
    put("f32.wav", fmt(3, 2, RATE, 32), chunk(b"data", real), raw="f32le",
        samples=real)
    put("ext_f32.wav", extensible(3, 2, RATE, 32, 32, 3), chunk(b"data", real),
        raw="f32le", samples=real)
    real = floats(pcm, "d")
    put("f64.wav", fmt(3, 2, RATE, 64, b"\0\0"), chunk(b"data", real),
        raw="f64le", samples=real)
    for name, count, mask in (("six", 6, 0x3F), ("eight", 8, 0x63F),
                              ("four", 4, 0), ("three", 3, 7)):
        many = words(wave(count, 30011), 16)
        put(f"{name}.wav", extensible(1, count, RATE, 16, 16, mask),
            chunk(b"data", many), samples=many)
    mono = wave(1, 30001)
    for rate in (8000, 11025, 48000, 96000, 192000):
        put(f"rate{rate}.wav", fmt(1, 1, rate, 16),
            chunk(b"data", words(mono, 16)), samples=words(mono, 16))
    small = words(mono, 8)
    put("odd_u8.wav", fmt(1, 1, RATE, 8), chunk(b"data", small),
        chunk(b"id3 ", b"x" * 7), raw="u8", samples=small)
    put("chunks.wav", chunk(b"JUNK", b"\0" * 27), chunk(
        b"bext", b"\0" * 602), plain, chunk(b"fact", struct.pack("<I", FRAMES)),
        chunk(b"LIST", b"INFOINAM\5\0\0\0abcde\0"), chunk(b"odd ", b"xyz"), data,
        chunk(b"cue ", struct.pack("<I", 0)), chunk(b"iXML", b"<a/>"))
    m.put("rf64.wav", riff(chunk(b"ds64", struct.pack(
        "<QQQI", len(own) + 72, len(own), FRAMES, 0)), plain,
        b"data" + struct.pack("<I", 2**32 - 1) + own, head=b"RF64",
        size=2**32 - 1), samples=own)
    m.put("bw64.wav", riff(chunk(b"ds64", struct.pack(
        "<QQQI", len(own) + 72, len(own), 0, 0)), plain, chunk(
            b"chna", b"\0" * 4), b"data" + struct.pack("<I", 2**32 - 1) + own,
        head=b"BW64", size=2**32 - 1), samples=own)
    m.put("rifx.wav", riff(fmt(1, 2, RATE, 16, order=">"), chunk(
        b"data", words(pcm, 16, big=True), ">"), head=b"RIFX", order=">"),
        samples=own)
    m.put("streamed.wav", riff(plain, b"data\xff\xff\xff\xff" + own,
                               size=2**32 - 1), samples=own)
    m.put("zero.wav", riff(plain, b"data\0\0\0\0" + own, size=0), samples=own)
    m.put("cut.wav", riff(plain, data)[:-1001], samples=own[:-1004])


def compressed_wavs(m):
    for name, codec in (("alaw", "pcm_alaw"), ("mulaw", "pcm_mulaw"),
                        ("ms", "adpcm_ms"), ("ima", "adpcm_ima_wav"),
                        ("mp3", "libmp3lame")):
        m.ffmpeg(f"{name}.wav", "-c:a " + codec)
    m.ffmpeg("gsm.wav", "-ac 1 -ar 8000 -c:a libgsm_ms", near=True)


def big_endian_files(m):
    m.ffmpeg("s16.aiff", "-c:a pcm_s16be")
    m.ffmpeg("s24.aiff", "-c:a pcm_s24be", raw="s24le")
    m.ffmpeg("s32.aiff", "-c:a pcm_s32be", raw="s32le")
    m.ffmpeg("sowt.aifc", "-c:a pcm_s16le -f aiff")
    m.ffmpeg("fl32.aifc", "-c:a pcm_f32be -f aiff", raw="f32le")
    m.ffmpeg("fl64.aifc", "-c:a pcm_f64be -f aiff", raw="f64le")
    m.ffmpeg("ulaw.aifc", "-c:a pcm_mulaw -f aiff")
    m.ffmpeg("ima4.aifc", "-c:a adpcm_ima_qt -f aiff", near=True)
    m.sox("mono.aiff", effects="remix 1 rate 22050")
    m.sox("s8.aiff", "-b 8", raw="u8")
    for name, codec, raw in (("s16", "pcm_s16be", "s16le"),
                             ("s16le", "pcm_s16le", "s16le"),
                             ("s24", "pcm_s24le", "s24le"),
                             ("s32", "pcm_s32be", "s32le"),
                             ("f32", "pcm_f32le", "f32le"),
                             ("ulaw", "pcm_mulaw", "s16le"),
                             ("alac", "alac", "s16le"),
                             ("ima4", "adpcm_ima_qt", "s16le")):
        m.ffmpeg(f"{name}.caf", "-c:a " + codec, raw=raw, near=name == "ima4")
    m.sox("s16.au")
    m.sox("ulaw.au", "-e mu-law")
    m.sox("f32.au", "-e float -b 32", raw="f32le")
    m.sox("s24.au", "-b 24", raw="s24le")
    m.sox("s16.w64")
    m.sox("f32.w64", "-e float -b 32", raw="f32le")


def lossless_files(m, pcm):
    for bits in (8, 16, 24):
        m.sox(f"bits{bits}.flac", f"-b {bits}",
              raw={8: "s16le", 16: "s16le", 24: "s24le"}[bits])
    raw = words(pcm, 16)
    piped = ["flac", "-s", "--force-raw-format", "--endian=little", "--sign=signed",
             "--channels=2", "--bps=16", f"--sample-rate={RATE}", "-c", "-"]
    if m.wants("piped.flac"):  # no total, no checksum, no seek table
        made = subprocess.run(piped, input=raw, capture_output=True, check=True)
        m.put("piped.flac", made.stdout, samples=raw)
        m.put("id3.flac", b"ID3\4\0\0\0\0\0\x14" + b"\0" * 20 + made.stdout,
              samples=raw)
    for name, options in (("fast", "-0"), ("best", "-8"), ("blocks", "-b 576"),
                          ("large", "--lax -b 16384"), ("verbatim", "--lax -l 0"),
                          ("seek", "-S 10x -P 9999")):
        m.by(f"{name}.flac", "flac", "-s", *options.split(), "-o", "OUT", "IN",
             samples=raw)
    m.by("flac.oga", "flac", "-s", "--ogg", "-o", "OUT", "IN", samples=raw)
    m.ffmpeg("six.flac", "-ac 6 -c:a flac")
    m.ffmpeg("rate192000.flac", "-ar 192000 -c:a flac")
    m.ffmpeg("rate8000.flac", "-ar 8000 -ac 1 -c:a flac")
    m.ffmpeg("flac.mka", "-c:a flac", samples=raw)
    m.ffmpeg("flac.mp4", "-strict -2 -c:a flac", samples=raw)
    m.ffmpeg("alac.m4a", "-c:a alac", samples=raw)
    m.ffmpeg("alac24.m4a", "-sample_fmt s32p -c:a alac", raw="s24le")
    m.ffmpeg("six_alac.m4a", "-ac 6 -c:a alac")
    m.ffmpeg("wavpack.wv", "-c:a wavpack", samples=raw)
    m.ffmpeg("wavpack24.wv", "-sample_fmt s32p -c:a wavpack", raw="s32le")
    m.ffmpeg("tta.tta", "-c:a tta", samples=raw)
    for name, codec, raw_name in (("s16", "pcm_s16le", "s16le"),
                                  ("s24", "pcm_s24le", "s24le"),
                                  ("f32", "pcm_f32le", "f32le")):
        m.ffmpeg(f"{name}.mka", "-c:a " + codec, raw=raw_name)
    m.ffmpeg("twos.mov", "-c:a pcm_s16be -vn")
    m.ffmpeg("in24.mov", "-c:a pcm_s24le -vn", raw="s24le")


def lossy_files(m):
    lame = ["lame", "--quiet"]
    for name, options in (("cbr", "-b 128"), ("vbr", "-V 2"), ("abr", "--abr 150"),
                          ("bare", "-b 96 -t"), ("bare_vbr", "-V 4 -t"),
                          ("mono", "-m m -b 64"), ("joint", "-m j -b 112"),
                          ("split", "-m s -b 192"), ("guarded", "-p -b 160"),
                          ("low8000", "--resample 8 -b 16 -m m"),
                          ("low22050", "--resample 22.05 -V 5"),
                          ("high48000", "--resample 48 -b 320"),
                          ("tagged", "-b 128 -t --tt title --ta x --id3v2-only"),
                          ("old_tag", "-b 128 --tt title --id3v1-only"),
                          ("reservoir", "-b 32 --resample 44.1")):
        m.by(f"{name}.mp3", *lame, *options.split(), "IN", "OUT")
    m.ffmpeg("mp3.mka", "-c:a libmp3lame")
    m.ffmpeg("mp3.mp4", "-c:a libmp3lame")
    m.ffmpeg("layer2.mp2", "-c:a mp2 -b:a 192k", near=True)
    lc = "-c:a aac -aac_pns 0 "
    m.ffmpeg("adts.aac", lc)
    m.ffmpeg("mono.aac", lc + "-ac 1 -ar 22050")
    m.ffmpeg("loas.latm", lc + "-f latm")
    m.ffmpeg("plain.m4a", lc)
    m.ffmpeg("noise.m4a", "-c:a aac -b:a 64k", near=True)
    m.ffmpeg("front.m4a", lc + "-movflags +faststart")
    m.ffmpeg("pieces.m4a", lc + "-movflags +frag_keyframe+empty_moov "
             "-frag_duration 300000")
    m.ffmpeg("six.m4a", lc + "-ac 6 -b:a 384k")
    m.ffmpeg("rate96000.m4a", lc + "-ar 96000")
    m.ffmpeg("rate8000.m4a", lc + "-ar 8000 -ac 1 -b:a 16k")
    m.ffmpeg("tagged.m4b", lc + "-metadata title=x -metadata album=y -f mp4")
    m.ffmpeg("aac.mka", lc)
    for name, options in (("music", "--bitrate 96"), ("speech", "--bitrate 16 "
                          "--downmix-mono"), ("long", "--framesize 60"),
                          ("short", "--framesize 2.5"), ("cbr", "--hard-cbr"),
                          ("tags", "--title x --artist y")):
        m.by(f"{name}.opus", "opusenc", "--quiet", *options.split(), "IN", "OUT",
             near=True)
    m.ffmpeg("six.opus", "-ac 6 -c:a libopus -mapping_family 1", near=True)
    m.ffmpeg("opus.webm", "-c:a libopus", near=True)
    m.ffmpeg("opus.mka", "-c:a libopus", near=True)
    m.ffmpeg("opus.mp4", "-strict -2 -c:a libopus", near=True)
    gained(m)
    for quality in (-1, 4, 10):
        m.ffmpeg(f"q{quality}.ogg", f"-c:a libvorbis -q:a {quality}")
    m.ffmpeg("mono.ogg", "-c:a libvorbis -ac 1 -ar 8000")
    m.ffmpeg("six.ogg", "-c:a libvorbis -ac 6")
    m.ffmpeg("vorbis.webm", "-c:a libvorbis")
    m.ffmpeg("vorbis.mka", "-c:a libvorbis")
    m.ffmpeg("speex.spx", "-ac 1 -ar 16000 -c:a libspeex", near=True)
    m.ffmpeg("stereo.ac3", "-c:a ac3 -b:a 192k", near=True)
    m.ffmpeg("six.ac3", "-ac 6 -ar 48000 -c:a ac3 -b:a 448k", near=True)
    m.ffmpeg("low.ac3", "-ac 1 -ar 32000 -c:a ac3", near=True)
    m.ffmpeg("six.eac3", "-ac 6 -ar 48000 -c:a eac3", near=True)
    m.ffmpeg("ac3.mp4", "-ar 48000 -c:a ac3", near=True)
    m.ffmpeg("ac3.mka", "-ar 48000 -c:a ac3", near=True)
    m.ffmpeg("dts.dts", "-ar 48000 -ac 2 -strict -2 -c:a dca -b:a 768k", near=True)
    m.ffmpeg("wma.wma", "-c:a wmav2 -b:a 128k", near=True)


def ogg_sum(page):
    """The checksum of an Ogg page."""
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 1 << 31 else 0)) & 2**32 - 1
    return crc


def gained(m):
    """A header that asks for 6 dB less."""
    name = "gain.opus"
    m.by(name, "opusenc", "--quiet", "IN", "OUT", near=True)
    if name not in m.kinds:
        return
    with open(f"{m.folder}/{name}", "r+b") as file:
        page = bytearray(file.read(28 + 19))
        page[28 + 16:28 + 18] = struct.pack("<h", -6 * 256)
        page[22:26] = bytes(4)
        page[22:26] = struct.pack("<I", ogg_sum(page))
        file.seek(0)
        file.write(page)


def make(folder, only):
    m = Maker(folder, only)
    pcm = wave()
    m.source = folder + ".wav"
    with open(m.source, "wb") as file:
        file.write(riff(fmt(1, 2, RATE, 16), chunk(b"data", words(pcm, 16))))
    wav_files(m, pcm)
    compressed_wavs(m)
    big_endian_files(m)
    lossless_files(m, pcm)
    lossy_files(m)
    os.remove(m.source)
    return m.kinds
