"""Figures of what is measured beside another program, as a table or as JSON."""
import dataclasses
import json
import statistics


@dataclasses.dataclass
class Figure:
    """A figure of each round, beside that of another program in the same round."""
    name: str
    unit: str
    own: list
    beside: str
    other: list
    command: str
    # What is compared with a bound is a ratio, or for short times the difference.
    at_least: float = None
    at_most: float = None
    is_difference: bool = False

    def row(self):
        pairs = list(zip(self.own, self.other))
        if self.is_difference:
            key, value = "difference", statistics.median(own - other for own, other in pairs)
        else:
            key, value = "ratio", statistics.median(own / other for own, other in pairs)
        return {
            "figure": self.name, "unit": self.unit, "gateway": rounded(statistics.median(self.own)),
            "beside": self.beside, "other": rounded(statistics.median(self.other)), key: round(value, 2),
            "target": self.target, "command": self.command,
        }

    @property
    def target(self):
        sign, unit = ("+", f" {self.unit}") if self.is_difference else ("", "")
        if self.at_least is not None:
            return f"at least {self.at_least:{sign}.2f}{unit}"
        return "-" if self.at_most is None else f"at most {self.at_most:{sign}.2f}{unit}"


@dataclasses.dataclass
class MissingFigure:
    """A figure that cannot be had here, and why."""
    name: str
    reason: str

    def row(self):
        return {"figure": self.name, "missing": self.reason}


def rounded(number):
    return round(number) if number >= 100 else round(number, 2)


def write(figures, path):
    """Every value of every figure, as a JSON array."""
    path.write_text(json.dumps([dataclasses.asdict(figure) for figure in figures]))


def show(figures, note, is_json):
    rows = [figure.row() for figure in figures]
    if is_json:
        print("\n".join(map(json.dumps, rows)))
        return
    keys = ("figure", "gateway", "other", "unit", "beside", "ratio", "target", "command")
    print("| " + " | ".join(keys) + " |\n" + "|---" * len(keys) + "|")
    for row in rows:
        if "difference" in row:
            row["ratio"] = f"{row['difference']:+} {row['unit']}"
        row.setdefault("command", row.get("missing"))
        print("| " + " | ".join(str(row.get(key, "-")) for key in keys) + " |")
    print(note)
