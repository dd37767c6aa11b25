"""Misses of the gateway, beside loads by the library, lists of imgctl, and img2dataset.

Every URL is asked for once: a number in its query makes it a new one, and the origin sends the same picture.
"""
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse

from figures import Figure, MissingFigure

# The box and the format of all of them.
OPTIONS = "&w=256&h=256&output=jpg"
CONNECTIONS = 64
# More than any program makes in a second.
MAXIMUM_RATE = 4000
LIST_RATE = 400

IMG2DATASET = [
    "--processes_count", "2", "--thread_count", "32", "--output_format", "files", "--image_size", "256",
    "--resize_mode", "keep_ratio_largest", "--encode_quality", "80", "--resize_only_if_bigger", "True",
]
SHARD_COUNT = 8

numbers = itertools.count()


def new_urls(urls, count):
    return [f"{url}?miss={next(numbers)}" for url in itertools.islice(itertools.cycle(urls), count)]


def path(url):
    return f"/image?url={urllib.parse.quote(url, safe='')}{OPTIONS}"


class Connection:
    """A connection to a server, which costs its client little time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.host = f"127.0.0.1:{port}"

    def get(self, target):
        """The time in milliseconds until the last byte, and the number of bytes of the body."""
        request = f"GET {target} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()
        start = time.perf_counter()
        self.socket.sendall(request)
        answer, total = b"", None
        while total is None or len(answer) < total:
            received = self.socket.recv(1 << 18)
            if not received:
                raise SystemExit(f"{target}: the server has closed the connection")
            answer += received
            total = total or self.length(answer)
        elapsed = time.perf_counter() - start
        head, body = answer.split(b"\r\n\r\n", 1)
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise SystemExit(f"{target}: {head!r} {body[:200]!r}")
        return elapsed * 1e3, len(body)

    @staticmethod
    def length(answer):
        """The bytes of the whole answer, as soon as its header is there."""
        end = answer.find(b"\r\n\r\n")
        if end < 0:
            return None
        field = re.search(rb"(?i)\r\ncontent-length: *(\d+)", answer[:end])
        return end + 4 + int(field[1])


def single(options, port, nginx_port, urls):
    """Misses one at a time, in turn with loads by the library. After each load, a file of nginx tells what the
    exchange with any HTTP server takes while the processors have other things in their caches."""
    arguments = [options.programs / "imgbench", "load-process"]
    gateway, nginx = Connection(port), Connection(nginx_port)
    ours, theirs, files = [], [], []
    with subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as library:
        def load(url):
            print(url, file=library.stdin, flush=True)
            microseconds, count = library.stdout.readline().split()
            return float(microseconds) / 1e3, int(count)

        def miss(url):
            return gateway.get(path(url))

        # The first loads connect.
        for url in new_urls(urls, 4):
            load(url), miss(url.replace("miss", "first")), nginx.get("/0")
        for index in range(200 * options.seconds):
            # New URLs of one picture.
            own, other, warmup = (new_urls([urls[index % len(urls)]], 1)[0] for _ in range(3))
            results = {}
            order = [("own", miss, own), ("other", load, other)]
            for name, call, url in order if index % 2 else reversed(order):
                results[name] = call(url)
            if results["own"][1] != results["other"][1]:
                raise SystemExit(f"{own}: the gateway and the library made different thumbnails")
            ours.append(results["own"][0])
            theirs.append(results["other"][0])
            load(warmup)
            files.append(nginx.get("/0")[0])
        library.stdin.close()
    commands = "GET /image : imgbench load-process"
    yield Figure(
        "misses, 1 connection", "ms", ours, "the library", theirs, commands, at_most=0.2,
        is_difference=True)
    loads_and_files = [load + file for load, file in zip(theirs, files)]
    yield Figure(
        "misses, 1 connection", "ms", ours, "the library and a file of nginx", loads_and_files,
        f"{commands} and GET /0", is_difference=True)


def write_list(options, urls):
    listing = options.work / "misses"
    listing.write_text("\n".join(urls) + "\n")
    return listing


def submit(options, urls):
    """Pictures a second of a list."""
    start = time.perf_counter()
    subprocess.run(
        [options.programs / "imgctl", "submit", "--wait", "--format", "jpeg", write_list(options, urls)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return len(urls) / (time.perf_counter() - start)


def img2dataset(options, urls):
    """Pictures a second of a list, while it runs."""
    output, temporary = options.work / "img2dataset", options.work / "img2dataset-temporary"
    shutil.rmtree(output, ignore_errors=True)
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"NO_ALBUMENTATIONS_UPDATE": "1", "TMPDIR": str(temporary)}
    subprocess.run(
        [options.peer_programs / "img2dataset", "--url_list", write_list(options, urls), "--output_folder",
         output, "--number_sample_per_shard", str(-(-len(urls) // SHARD_COUNT)), *IMG2DATASET],
        check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shards = [json.loads(file.read_text()) for file in output.glob("*_stats.json")]
    count = sum(shard["successes"] for shard in shards)
    if count != len(urls):
        raise SystemExit(f"img2dataset made {count} of {len(urls)}")
    span = max(shard["end_time"] for shard in shards) - min(shard["start_time"] for shard in shards)
    return count / span


def many(options, wrk, port, urls):
    """Misses of many connections, in turn with lists of imgctl and of img2dataset."""
    has_peer = (options.peer_programs / "img2dataset").is_file()
    ours, lists, peers = [], [], []
    for _ in range(options.rounds):
        paths = [path(url) for url in new_urls(urls, MAXIMUM_RATE * options.seconds)]
        load = wrk.run(port, paths, CONNECTIONS, options.seconds)
        if load.count > len(paths):
            raise SystemExit("wrk asked for a URL twice")
        ours.append(load.rate)
        lists.append(submit(options, new_urls(urls, LIST_RATE * options.seconds)))
        if has_peer:
            peers.append(img2dataset(options, new_urls(urls, LIST_RATE * options.seconds)))
    name, command = f"misses, {CONNECTIONS} connections", wrk.command(CONNECTIONS, options.seconds)
    yield Figure(
        name, "/s", ours, "imgctl submit", lists, f"{command} : imgctl submit --wait --format jpeg LIST")
    if has_peer:
        yield Figure(
            name, "/s", ours, "img2dataset, while it runs", peers,
            f"{command} : img2dataset {' '.join(IMG2DATASET)}", at_least=1)
    else:
        yield MissingFigure(f"{name}, beside img2dataset", "img2dataset is not installed")


def measure(options, wrk, port, nginx_port, urls):
    return [
        *single(options, port, nginx_port, urls), *many(options, wrk, port, urls),
        MissingFigure("misses, beside imgproxy", "imgproxy has no package in Debian or PyPI"),
    ]
