#!/usr/bin/env python3
"""Measures the gateway beside nginx, the library and img2dataset. Called by scripts/bench.

usage: gateway.py --programs DIR --peer-programs DIR --urls FILE --work DIR --rounds N --seconds N
                  [--json | --output FILE]

What is compared runs in turn, round for round, each on all processors with its client beside it. A row has the
medians of its rounds; a ratio is the median of the ratios of the rounds.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import time
import urllib.parse

import misses
from figures import Figure, show, write
from wrk import Wrk

CONNECTIONS = (1, 16, 64, 256)
URL_COUNT = 1000
WIDTH = 290

# Started by root, nginx would read as another user, who must not enter the directory.
NGINX = """
{user} worker_processes auto; pid {work}/nginx.pid; error_log {work}/nginx.log; daemon off;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=4000;
  client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
  default_type image/jpeg; add_header Cache-Control "public, max-age=604800"; add_header Vary Accept;
  server {{ listen 127.0.0.1:{port} backlog=4096; root {work}/files; }}
}}
"""


def start(arguments, **options):
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, **options)


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait(20)


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body


def hits(wrk, ports, paths, connections, options):
    """Rates and late answers of the gateway and of nginx with some connections."""
    rounds = [
        [wrk.run(port, paths[name], connections, options.seconds) for name, port in ports.items()]
        for _ in range(options.rounds)
    ]
    count = len(paths["gateway"])
    name = f"hits of {counted(count, 'URL')}, {counted(connections, 'connection')}"
    command = wrk.command(connections, options.seconds)
    ours, theirs = ([side[index] for side in rounds] for index in (0, 1))
    yield Figure(
        name, "/s", [side.rate for side in ours], "nginx", [side.rate for side in theirs],
        command, at_least=0.8)
    yield Figure(
        f"{name}, p99", "µs", [side.late for side in ours], "nginx",
        [side.late for side in theirs], command, at_most=2)


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def prepare(urls, port, directory):
    """Loads each thumbnail, and writes what the gateway sends to a file of nginx. Returns the paths at both."""
    names = [f"/image?url={urllib.parse.quote(url, safe='')}&w={WIDTH}&output=jpg" for url in urls]
    paths = {"gateway": [], "nginx": []}
    directory.mkdir()
    while len(paths["gateway"]) < URL_COUNT:
        # Further sizes of the same pictures.
        step = len(paths["gateway"]) // len(names)
        name = names[len(paths["gateway"]) % len(names)] + (f"&h={900 - step}" if step else "")
        status, body = fetch(port, name)
        if status != 200:
            raise SystemExit(f"{name}: status {status}: {body[:200]!r}")
        (directory / str(len(paths["nginx"]))).write_bytes(body)
        paths["gateway"].append(name)
        paths["nginx"].append(f"/{len(paths['nginx'])}")
    return paths


@contextlib.contextmanager
def running_nginx(work):
    """Serves the files in the directory. The value is its port."""
    port = free_port()
    (work / "nginx.conf").write_text(NGINX.format(
        user="user root;" if os.geteuid() == 0 else "", work=work, port=port))
    nginx = start(["/usr/sbin/nginx", "-c", str(work / "nginx.conf")])
    try:
        deadline = time.monotonic() + 10
        while fetch_fails(port, "/0"):
            if nginx.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("nginx does not serve: " + (work / "nginx.log").read_text())
            time.sleep(0.05)
        yield port
    finally:
        stop(nginx)


def measure_hits(options, wrk, ports, paths):
    one = {name: sides[:1] for name, sides in paths.items()}
    return [
        figure for some in (one, paths) for connections in CONNECTIONS
        for figure in hits(wrk, ports, some, connections, options)
    ]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fetch_fails(port, path):
    try:
        return fetch(port, path)[0] != 200
    except OSError:
        return True


def note_of(work, gateway):
    size = statistics.median(file.stat().st_size for file in (work / "files").iterdir())
    status = pathlib.Path(f"/proc/{gateway.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+)", status)[1]
    return f"hits have a median of {size:.0f} bytes; the gateway used at most {peak} KiB of memory"


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "peer-programs", "urls", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    work, programs = options.work, options.programs
    os.environ |= {
        "IMGCTL_SOCKET": str(work / "control.sock"), "IMGCTL_DATA_DIR": str(work / "gateway-data"),
        "IMGCTL_ALLOW_NETWORK": "127.0.0.0/8", "IMGCTL_IDLE_EXIT": "never",
    }
    subprocess.run([programs / "imgctl", "start", "--quiet"], check=True)
    gateway = start(
        [programs / "imggateway", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE)
    try:
        port = urllib.parse.urlsplit(json.loads(gateway.stdout.readline())["address"]).port
        urls, wrk = options.urls.read_text().split(), Wrk(work)
        paths = prepare(urls, port, work / "files")
        with running_nginx(work) as nginx_port:
            ports = {"gateway": port, "nginx": nginx_port}
            figures = measure_hits(options, wrk, ports, paths)
            note = note_of(work, gateway)
            figures += misses.measure(options, wrk, port, nginx_port, urls)
        if options.output:
            write(figures, options.output)
        else:
            show(figures, note, options.json)
    finally:
        stop(gateway)
        subprocess.run([programs / "imgctl", "stop", "--quiet"], check=False)


main()
