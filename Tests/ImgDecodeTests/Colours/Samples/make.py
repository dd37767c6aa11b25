#!/usr/bin/env python3
"""Makes the pictures of this directory anew, beside this file: one photograph, described in many ways.

The numbers are those of ITU-T H.273, ITU-R BT.2100 and IEC 61966-2-1; nothing here comes from imgctl.
Needs numpy, and avifenc, heif-enc and cjxl (Debian: libavif-bin libheif-examples libjxl-tools).
"""
import os, struct, subprocess, sys, tempfile, zlib
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(sys.argv[0])))
WIDTH, HEIGHT = 64, 48
WHITE = 203.0


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write_png(path, levels, bits=16, chunks=()):
    """Levels from 0 to 1, of three channels."""
    height, width, _ = levels.shape
    rows = (np.clip(levels, 0, 1) * (2**bits - 1) + 0.5).astype(">u2" if bits == 16 else "u1")
    raw = b"".join(b"\0" + rows[y].tobytes() for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)))
        for name, data in chunks:
            file.write(chunk(name, data))
        file.write(chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def srgb_light(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def srgb_level(v):
    v = np.maximum(v, 0)
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * v ** (1 / 2.4) - 0.055)


PLACES = {
    1: ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06)),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}


def to_xyz(primaries):
    colours = np.array([[x / y, 1, (1 - x - y) / y] for x, y in PLACES[primaries]]).T
    white = np.array([0.3127 / 0.3290, 1, (1 - 0.3127 - 0.3290) / 0.3290])
    return colours * np.linalg.solve(colours, white)


def mixed(light, primaries):
    return light @ (np.linalg.inv(to_xyz(primaries)) @ to_xyz(1)).T


def bt709_level(v):
    a, b = 1.09929682680944, 0.018053968510807
    v = np.maximum(v, 0)
    return np.where(v < b, 4.5 * v, a * v**0.45 - (a - 1))


def television_level(light, suffix):
    """As Chromium shows BT.709 and BT.2020: AVIF and HEIC as sRGB, PNG by BT.1886. libjxl has the formula of cameras."""
    if suffix == "jxl":
        return bt709_level(light)
    return np.maximum(light, 0) ** (1 / 2.4) if suffix == "png" else srgb_level(light)


def pq_level(luminance):
    m1, m2 = 2610 / 16384, 2523 / 4096 * 128
    c1, c2, c3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
    y = (np.maximum(luminance, 0) / 10000) ** m1
    return ((c1 + c2 * y) / (1 + c3 * y)) ** m2


def hlg_level(light):
    """Of light of BT.2020 on a screen of 1,000 cd/m²."""
    shown = np.maximum(light, 0) * WHITE / 1000
    luminance = np.maximum(shown @ np.array([0.2627, 0.6780, 0.0593]), 1e-9)[..., None]
    scene = shown * luminance ** (1 / 1.2 - 1)
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    return np.where(
        scene <= 1 / 12, np.sqrt(3 * scene), a * np.log(np.maximum(12 * scene - b, 1e-9)) + c)


# Name: primaries, transfer, matrix of AVIF and HEIC, name for cjxl, levels of light of BT.709 in a kind of file.
WAYS = {
    "p3": (12, 13, 6, "RGB_D65_DCI_Rel_SRG", lambda l, _: srgb_level(mixed(l, 12))),
    "bt709": (1, 1, 1, "RGB_D65_SRG_Rel_709", television_level),
    "bt2020": (9, 14, 9, "RGB_D65_202_Rel_709", lambda l, suffix: television_level(mixed(l, 9), suffix)),
    "linear": (1, 8, 1, "RGB_D65_SRG_Rel_Lin", lambda l, _: l),
    "gamma22": (1, 4, 1, None, lambda l, _: np.maximum(l, 0) ** (1 / 2.2)),
    "gamma28": (1, 5, 1, None, lambda l, _: np.maximum(l, 0) ** (1 / 2.8)),
    "pq": (9, 16, 9, "RGB_D65_202_Rel_PeQ", lambda l, _: pq_level(mixed(l, 9) * WHITE)),
    "hlg": (9, 18, 9, "RGB_D65_202_Rel_HLG", lambda l, _: hlg_level(mixed(l, 9))),
}


# What x265 calls the numbers.
X265 = {9: "bt2020", 12: "smpte432", 13: "iec61966-2-1", 14: "bt2020-10", 16: "smpte2084",
        18: "arib-std-b67"}


def photograph():
    """Soft light, a few edges, dark and bright parts, and strong colours."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    sky = np.stack([0.35 + 0.5 * y / HEIGHT, 0.55 + 0.3 * y / HEIGHT, 0.9 + 0 * y], -1)
    ground = np.stack([0.35 * x / WIDTH + 0.05, 0.3 + 0 * x, 0.08 + 0.1 * y / HEIGHT], -1)
    picture = np.where((y > 30)[..., None], ground, sky)
    picture[(x - 18) ** 2 + (y - 22) ** 2 < 90] = (0.85, 0.15, 0.1)
    picture[(x - 46) ** 2 + (y - 14) ** 2 < 40] = (1.0, 1.0, 0.97)
    picture[36:44, 38:58] = (0.1, 0.6, 0.25)
    picture[2:10, 4:12] = (0.03, 0.03, 0.05)
    # As soft as a lens makes it.
    for _ in range(3):
        edged = np.pad(picture, ((1, 1), (1, 1), (0, 0)), "edge")
        picture = sum(
            edged[y : y + HEIGHT, x : x + WIDTH] for y in range(3) for x in range(3)) / 9
    return np.round(picture * 255) / 255


def ramp():
    """Gray, then red, then blue, from 0 to 4,000 cd/m², evenly in PQ."""
    levels = np.linspace(0, 1, WIDTH)
    m1, m2 = 2610 / 16384, 2523 / 4096 * 128
    c1, c2, c3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
    power = (levels * pq_level(np.array(4000.0))) ** (1 / m2)
    luminance = 10000 * (np.maximum(power - c1, 0) / (c2 - c3 * power)) ** (1 / m1)
    rows = []
    for colour in [(1, 1, 1), (1, 0.2, 0.1), (0.1, 0.2, 1)]:
        rows += [luminance[:, None] * np.array(colour)] * 8
    return pq_level(mixed(np.array(rows), 9))


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    picture = photograph()
    light = srgb_light(picture)
    write_png("srgb.png", picture, 8)
    with tempfile.TemporaryDirectory() as directory:
        for name, (primaries, transfer, matrix, jxl, level) in WAYS.items():
            plain = os.path.join(directory, "plain.png")
            write_png(f"{name}.png", level(light, "png"), 16,
                      [(b"cICP", bytes([primaries, transfer, 0, 1]))])
            write_png(plain, level(light, "avif"))
            run("avifenc", "-d", "10", "-y", "444", "--min", "0", "--max", "4", "-s", "2",
                "--cicp", f"{primaries}/{transfer}/{matrix}", plain, f"{name}.avif")
            if name in ("p3", "bt2020", "pq", "hlg"):
                # heif-enc keeps the matrix of BT.601; the stream says the rest.
                run("heif-enc", "-q", "100", "-b", "10", "-p", "chroma=444",
                    "-p", f"x265:colorprim={X265[primaries]}",
                    "-p", f"x265:transfer={X265[transfer]}", plain, "-o", f"{name}.heic")
            if jxl:
                write_png(plain, level(light, "jxl"))
                run("cjxl", "-d", "0", "-x", f"color_space={jxl}", plain, f"{name}.jxl")
        write_png("ramp.png", ramp(), 16, [(b"cICP", bytes([9, 16, 0, 1]))])


main()
