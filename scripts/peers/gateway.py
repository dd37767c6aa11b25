#!/usr/bin/env python3
"""Measures hits of the gateway beside nginx, which serves the same bytes as files. Called by scripts/bench --gateway.

usage: gateway.py --programs DIR --urls FILE --work DIR --rounds N --seconds N [--json]

The two run in turn, round for round, each on all processors with wrk beside it. A row has the medians of
its rounds; a ratio is the median of the ratios of the rounds.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import urllib.parse

CONNECTIONS = (1, 16, 64, 256)
URL_COUNT = 1000
WIDTH = 290
MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000}

NGINX = """
worker_processes auto; pid {work}/nginx.pid; error_log {work}/nginx.log; daemon off;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=4000;
  client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
  default_type image/jpeg; add_header Cache-Control "public, max-age=604800"; add_header Vary Accept;
  server {{ listen 127.0.0.1:{port} backlog=4096; root {work}/files; }}
}}
"""

# Each connection asks for the paths in turn.
WRK = """
local paths, next = {}, 0
function init(arguments)
  for path in io.lines(arguments[1]) do paths[#paths + 1] = path end
end
function request()
  next = next % #paths + 1
  return wrk.format("GET", paths[next])
end
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


def load(work, port, paths, connections, seconds):
    """Requests a second, and the times of half and of 99 % of the answers in microseconds."""
    arguments = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    url = f"http://127.0.0.1:{port}"
    if len(paths) == 1:
        arguments.append(url + paths[0])
    else:
        (work / f"paths-{port}").write_text("\n".join(paths) + "\n")
        arguments += ["-s", str(work / "paths.lua"), url, "--", str(work / f"paths-{port}")]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    if errors := re.search(r"Socket errors.*|Non-2xx.*", text):
        raise SystemExit(f"{' '.join(arguments)}: {errors[0]}")

    def time(share):
        number, unit = re.search(rf"{share}%\s+([\d.]+)(us|ms|s)\b", text).groups()
        return float(number) * MICROSECONDS[unit]

    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), time(50), time(99)


def row(work, ports, paths, connections, options):
    """The figures of the gateway and of nginx with some connections."""
    rounds = []
    for _ in range(options.rounds):
        rounds.append([
            load(work, port, paths[name], connections, options.seconds)
            for name, port in ports.items()
        ])
    gateway, nginx = ([statistics.median(column) for column in zip(*side)] for side in zip(*rounds))
    ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in rounds)
    return {
        "urls": len(paths["gateway"]), "connections": connections,
        "gateway_per_second": round(gateway[0]), "nginx_per_second": round(nginx[0]),
        "ratio": round(ratio, 2), "gateway_p50_us": round(gateway[1]),
        "nginx_p50_us": round(nginx[1]), "gateway_p99_us": round(gateway[2]),
        "nginx_p99_us": round(nginx[2]),
    }


def show(rows, is_json):
    if is_json:
        for each in rows:
            print(json.dumps(each))
        return
    keys = list(rows[0])
    print("| " + " | ".join(key.replace("_", " ") for key in keys) + " |")
    print("|" + "---|" * len(keys))
    for each in rows:
        print("| " + " | ".join(str(each[key]) for key in keys) + " |")


def resident_kibibytes(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def measure(options, work, gateway, port):
    urls = pathlib.Path(options.urls).read_text().split()
    names = [f"/image?url={urllib.parse.quote(url, safe='')}&w={WIDTH}&output=jpg" for url in urls]
    paths = {"gateway": [], "nginx": []}
    (work / "files").mkdir()
    while len(paths["gateway"]) < URL_COUNT:
        # Further sizes of the same pictures.
        step = len(paths["gateway"]) // len(names)
        name = names[len(paths["gateway"]) % len(names)] + (f"&h={900 - step}" if step else "")
        status, body = fetch(port, name)
        if status != 200:
            raise SystemExit(f"{name}: status {status}: {body[:200]!r}")
        (work / "files" / str(len(paths["nginx"]))).write_bytes(body)
        paths["gateway"].append(name)
        paths["nginx"].append(f"/{len(paths['nginx'])}")
    nginx_port = free_port()
    (work / "nginx.conf").write_text(NGINX.format(work=work, port=nginx_port))
    (work / "paths.lua").write_text(WRK)
    nginx = start(["/usr/sbin/nginx", "-c", str(work / "nginx.conf")])
    ports = {"gateway": port, "nginx": nginx_port}
    try:
        while fetch_fails(nginx_port, "/0"):
            if nginx.poll() is not None:
                raise SystemExit("nginx did not start: " + (work / "nginx.log").read_text())
        one = {name: sides[:1] for name, sides in paths.items()}
        rows = [
            row(work, ports, some, connections, options)
            for some in (one, paths) for connections in CONNECTIONS
        ]
        show(rows, options.json)
        size = statistics.median(file.stat().st_size for file in (work / "files").iterdir())
        print(f"median of {size:.0f} bytes; the gateway used at most {resident_kibibytes(gateway)} KiB")
    finally:
        stop(nginx)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fetch_fails(port, path):
    try:
        return fetch(port, path)[0] != 200
    except OSError:
        return True


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "urls", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    work = pathlib.Path(options.work)
    os.environ |= {
        "IMGCTL_SOCKET": str(work / "control.sock"), "IMGCTL_DATA_DIR": str(work / "gateway-data"),
        "IMGCTL_ALLOW_NETWORK": "127.0.0.0/8",
    }
    programs = pathlib.Path(options.programs)
    subprocess.run([programs / "imgctl", "start", "--quiet"], check=True)
    gateway = start(
        [programs / "imggateway", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE)
    try:
        port = urllib.parse.urlsplit(json.loads(gateway.stdout.readline())["address"]).port
        measure(options, work, gateway, port)
    finally:
        stop(gateway)


main()
