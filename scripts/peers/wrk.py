"""The load generator wrk."""
import dataclasses
import re
import subprocess

MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000}

# Each connection asks for the paths in turn.
SCRIPT = """
local paths, next = {}, 0
function init(arguments)
  for path in io.lines(arguments[1]) do paths[#paths + 1] = path end
end
function request()
  next = next % #paths + 1
  return wrk.format("GET", paths[next])
end
"""


@dataclasses.dataclass
class Load:
    """What a load showed: requests, requests a second, and the time of 99 % of the answers in microseconds."""
    count: int
    rate: float
    late: float


class Wrk:
    def __init__(self, work):
        self.script = work / "paths.lua"
        self.paths = work / "paths"
        self.script.write_text(SCRIPT)

    @staticmethod
    def command(connections, seconds):
        return f"wrk -t1 -c{connections} -d{seconds}s --latency --timeout 30s"

    def run(self, port, paths, connections, seconds):
        arguments = self.command(connections, seconds).split()
        url = f"http://127.0.0.1:{port}"
        if len(paths) == 1:
            arguments.append(url + paths[0])
        else:
            self.paths.write_text("\n".join(paths) + "\n")
            arguments += ["-s", str(self.script), url, "--", str(self.paths)]
        text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        if errors := re.search(r"Socket errors.*|Non-2xx.*", text):
            raise SystemExit(f"{' '.join(arguments)}: {errors[0]}")
        number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", text).groups()
        return Load(
            int(re.search(r"(\d+) requests in", text)[1]),
            float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), float(number) * MICROSECONDS[unit])
