"""Measures libjpeg-turbo alone: JPEG files in memory, all cores, no resize.

usage: libjpeg.py pixels|thumbnail COUNT THREADS DIRECTORY OUTPUT

Decodes COUNT pictures, each of DIRECTORY in turn, at the smallest scale of eighths that leaves twice the
size of a thumbnail within 256 x 256, so that a resize with a better kernel can follow. "pixels" decodes to
RGB. "thumbnail" decodes to planes, and encodes a thumbnail of each picture whose planes were made before.
Writes the seconds to the file OUTPUT.
"""
import ctypes
import pathlib
import sys
import threading
import time

BOX = 256
QUALITY = 80
TJPF_RGB = 0
TJSAMP_420 = 2
# Planes without padding between their rows.
ALIGNMENT = 1

turbojpeg = ctypes.CDLL("libturbojpeg.so.0")
turbojpeg.tjInitDecompress.restype = ctypes.c_void_p
turbojpeg.tjInitCompress.restype = ctypes.c_void_p
turbojpeg.tjGetErrorStr.restype = ctypes.c_char_p
turbojpeg.tjBufSizeYUV2.restype = ctypes.c_ulong


def call(function, handle, *arguments):
    if function(ctypes.c_void_p(handle), *arguments):
        raise ValueError(turbojpeg.tjGetErrorStr().decode())


class Picture:
    """A JPEG file in memory."""

    def __init__(self, handle, data):
        self.data = data
        width, height, subsampling, colours = (ctypes.c_int() for _ in range(4))
        call(
            turbojpeg.tjDecompressHeader3, handle, data, ctypes.c_ulong(len(data)), ctypes.byref(width),
            ctypes.byref(height), ctypes.byref(subsampling), ctypes.byref(colours))
        self.width, self.height, self.subsampling = width.value, height.value, subsampling.value

    def size(self, eighths):
        return tuple((side * eighths + 7) // 8 for side in (self.width, self.height))

    @property
    def scale(self):
        longest = max(self.width, self.height)
        return next((n for n in (1, 2, 4) if longest * n >= 8 * 2 * BOX), 8)

    def decode_pixels(self, handle, eighths):
        width, height = self.size(eighths)
        pixels = ctypes.create_string_buffer(width * height * 3)
        call(
            turbojpeg.tjDecompress2, handle, self.data, ctypes.c_ulong(len(self.data)), pixels, width, 0,
            height, TJPF_RGB, 0)
        return pixels

    def decode_planes(self, handle):
        width, height = self.size(self.scale)
        planes = ctypes.create_string_buffer(
            turbojpeg.tjBufSizeYUV2(width, ALIGNMENT, height, self.subsampling))
        call(
            turbojpeg.tjDecompressToYUV2, handle, self.data, ctypes.c_ulong(len(self.data)), planes, width,
            ALIGNMENT, height, 0)


class Thumbnail:
    """The planes of a picture, as large as those of a thumbnail."""

    def __init__(self, decoder, encoder, picture):
        # The scale whose longer side is nearest to the box.
        eighths = min(range(1, 9), key=lambda n: abs(max(picture.size(n)) - BOX))
        self.width, self.height = picture.size(eighths)
        pixels = picture.decode_pixels(decoder, eighths)
        self.planes = ctypes.create_string_buffer(
            turbojpeg.tjBufSizeYUV2(self.width, ALIGNMENT, self.height, TJSAMP_420))
        call(
            turbojpeg.tjEncodeYUV3, encoder, pixels, self.width, 0, self.height, TJPF_RGB, self.planes,
            ALIGNMENT, TJSAMP_420, 0)

    def encode(self, encoder):
        data, count = ctypes.c_void_p(), ctypes.c_ulong(0)
        call(
            turbojpeg.tjCompressFromYUV, encoder, self.planes, self.width, ALIGNMENT, self.height, TJSAMP_420,
            ctypes.byref(data), ctypes.byref(count), QUALITY, 0)
        turbojpeg.tjFree(data)


def measure(kind, count, thread_count, directory):
    decoder, encoder = turbojpeg.tjInitDecompress(), turbojpeg.tjInitCompress()
    files = sorted(path for path in pathlib.Path(directory).rglob("*") if path.is_file())
    pictures = [Picture(decoder, path.read_bytes()) for path in files]
    thumbnails = [Thumbnail(decoder, encoder, picture) for picture in pictures] if kind == "thumbnail" else []
    numbers = iter(range(count))
    lock = threading.Lock()
    errors = []

    def work():
        decoder, encoder = turbojpeg.tjInitDecompress(), turbojpeg.tjInitCompress()
        try:
            while not errors:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    break
                picture = pictures[number % len(pictures)]
                # ctypes releases the interpreter's lock, so the decodes run beside each other.
                if thumbnails:
                    picture.decode_planes(decoder)
                    thumbnails[number % len(thumbnails)].encode(encoder)
                else:
                    picture.decode_pixels(decoder, picture.scale)
        except ValueError as error:
            errors.append(error)
        finally:
            for handle in (decoder, encoder):
                turbojpeg.tjDestroy(ctypes.c_void_p(handle))

    threads = [threading.Thread(target=work) for _ in range(thread_count)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    if errors:
        sys.exit(f"libjpeg.py: {errors[0]}")
    return seconds


def main():
    kind, count, thread_count, directory, output = sys.argv[1:]
    seconds = measure(kind, int(count), int(thread_count), directory)
    pathlib.Path(output).write_text(f"{seconds}\n")


main()
