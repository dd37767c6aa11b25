"""Measures libjpeg-turbo's scaled decode alone: JPEG files in memory, all cores, no resize, no encode.

usage: scaled-decode.py COUNT THREADS DIRECTORY OUTPUT

Decodes COUNT pictures, each of DIRECTORY in turn, at the smallest scale of eighths that leaves twice the
size of a thumbnail within 256 x 256, so that a resize with a better kernel can follow. Writes the
seconds to the file OUTPUT.
"""
import ctypes
import pathlib
import sys
import threading
import time

BOX = 256
TJPF_RGB = 0

turbojpeg = ctypes.CDLL("libturbojpeg.so.0")
turbojpeg.tjInitDecompress.restype = ctypes.c_void_p
turbojpeg.tjGetErrorStr.restype = ctypes.c_char_p


def output_size(handle, data):
    """The size that the scale makes of a picture."""
    width, height, subsampling, colours = (ctypes.c_int() for _ in range(4))
    if turbojpeg.tjDecompressHeader3(
        ctypes.c_void_p(handle), data, ctypes.c_ulong(len(data)), ctypes.byref(width),
        ctypes.byref(height), ctypes.byref(subsampling), ctypes.byref(colours)):
        raise ValueError(turbojpeg.tjGetErrorStr().decode())
    longest = max(width.value, height.value)
    eighths = next((n for n in (1, 2, 4) if longest * n >= 8 * 2 * BOX), 8)
    return tuple((side.value * eighths + 7) // 8 for side in (width, height))


def decode(handle, data, size):
    width, height = size
    pixels = ctypes.create_string_buffer(width * height * 3)
    if turbojpeg.tjDecompress2(
        ctypes.c_void_p(handle), data, ctypes.c_ulong(len(data)), pixels, width, 0, height,
        TJPF_RGB, 0):
        raise ValueError(turbojpeg.tjGetErrorStr().decode())


def main():
    count, thread_count = int(sys.argv[1]), int(sys.argv[2])
    files = sorted(path for path in pathlib.Path(sys.argv[3]).rglob("*") if path.is_file())
    pictures = [path.read_bytes() for path in files]
    numbers = iter(range(count))
    lock = threading.Lock()
    errors = []

    def work():
        handle = turbojpeg.tjInitDecompress()
        try:
            while not errors:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    break
                data = pictures[number % len(pictures)]
                # ctypes releases the interpreter's lock, so the decodes run beside each other.
                decode(handle, data, output_size(handle, data))
        except ValueError as error:
            errors.append(error)
        finally:
            turbojpeg.tjDestroy(ctypes.c_void_p(handle))

    threads = [threading.Thread(target=work) for _ in range(thread_count)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    if errors:
        sys.exit(f"scaled-decode.py: {errors[0]}")
    pathlib.Path(sys.argv[4]).write_text(f"{seconds}\n")


main()
