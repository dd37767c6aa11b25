"""Compares thumbnails with a resize of their pictures by Lanczos' kernel in linear light.

usage: quality.py ORIGINALS DIRECTORY OUTPUT

ORIGINALS has a line for each picture: its path, a tab and its URL. DIRECTORY has a directory for each
program. A file N.jpg there is the thumbnail of the picture in line N, which is 0 for the first one;
img2dataset's files are found by the URLs in its .json files. Writes the means of each program to the file OUTPUT
as JSON.
"""
import io
import json
import pathlib
import sys
import tempfile

import numpy as np
from PIL import Image, ImageCms, ImageOps
from scipy.ndimage import gaussian_filter
from ssimulacra2 import compute_ssimulacra2


def opened(path):
    """The picture, upright, in sRGB."""
    image = ImageOps.exif_transpose(Image.open(path))
    profile = image.info.get("icc_profile")
    if profile and image.mode == "RGB":
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        image = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"))
    return image.convert("RGB")


def reference(image, size):
    values = np.asarray(image, dtype=np.float32) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    channels = [
        Image.fromarray(linear[:, :, channel]).resize(size, Image.Resampling.LANCZOS)
        for channel in range(3)]
    small = np.clip(np.stack([np.asarray(channel) for channel in channels], axis=2), 0, 1)
    encoded = np.where(small <= 0.0031308, small * 12.92, 1.055 * small ** (1 / 2.4) - 0.055)
    return Image.fromarray(np.uint8(np.round(encoded * 255)))


def planes(image):
    """Brightness and the two colour differences."""
    return [np.asarray(plane, dtype=np.float64) for plane in image.convert("YCbCr").split()]


def ssim(first, second):
    """The mean index (Wang and others, 2004), with a Gaussian window of 1.5 pixels."""
    def blurred(values):
        return gaussian_filter(values, 1.5, truncate=3.5)

    mean_first, mean_second = blurred(first), blurred(second)
    variance_first = blurred(first * first) - mean_first**2
    variance_second = blurred(second * second) - mean_second**2
    covariance = blurred(first * second) - mean_first * mean_second
    small, large = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    index = ((2 * mean_first * mean_second + small) * (2 * covariance + large)) / (
        (mean_first**2 + mean_second**2 + small) * (variance_first + variance_second + large))
    return float(index.mean())


def displacement(expected, found):
    """How far a plane is displaced in x and y, by least squares over its slopes."""
    down, right = np.gradient(gaussian_filter(expected, 1))
    slopes = np.stack([right.ravel(), down.ravel()], axis=1)
    difference = gaussian_filter(found, 1).ravel() - gaussian_filter(expected, 1).ravel()
    return -np.linalg.lstsq(slopes, difference - difference.mean(), rcond=None)[0]


def thumbnails(directory, numbers_of_urls):
    """The files of one program by the numbers of their pictures."""
    records = list(directory.glob("*/*.json"))
    if not records:
        return {int(path.stem): path for path in directory.glob("*.jpg")}
    return {
        numbers_of_urls[json.loads(record.read_text())["url"]]: record.with_suffix(".jpg")
        for record in records}


def measured(image, path, scratch):
    found = Image.open(path).convert("RGB")
    expected = reference(image, found.size)
    expected.save(scratch)
    luma, *chroma = zip(planes(expected), planes(found))
    still = displacement(*luma)
    shifts = [displacement(*plane) - still for plane in chroma]
    difference = np.asarray(found, dtype=np.float64) - np.asarray(expected, dtype=np.float64)
    return {
        "ssim": ssim(*luma),
        "ssimulacra2": compute_ssimulacra2(str(scratch), str(path)),
        "bytes": path.stat().st_size,
        "channels": difference.mean(axis=(0, 1)),
        "shift": np.mean(shifts, axis=0),
    }


def summary(results):
    def mean(name):
        return np.mean([result[name] for result in results], axis=0)

    return {
        "ssim": float(mean("ssim")),
        "ssimulacra2": float(mean("ssimulacra2")),
        "bytes": float(mean("bytes")),
        "colour": float(np.abs(mean("channels")).max()),
        "displacement": float(np.hypot(*mean("shift"))),
    }


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    originals = [line.split("\t") for line in lines]
    numbers_of_urls = {url: number for number, (_, url) in enumerate(originals)}
    programs = {
        path.name: thumbnails(path, numbers_of_urls)
        for path in pathlib.Path(sys.argv[2]).iterdir() if path.is_dir()}
    results = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory) / "reference.png"
        for number, (path, _) in enumerate(originals):
            image = opened(path)
            for name, files in programs.items():
                if number in files:
                    results[name].append(measured(image, files[number], scratch))
    means = {name: summary(found) for name, found in results.items() if found}
    pathlib.Path(sys.argv[3]).write_text(json.dumps(means))


main()
