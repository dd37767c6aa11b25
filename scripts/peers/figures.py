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
    target: str
    command: str
    # What is compared with the target: a ratio, or for short times the difference.
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


@dataclasses.dataclass
class MissingFigure:
    """A figure that cannot be had here, and why."""
    name: str
    reason: str

    def row(self):
        return {"figure": self.name, "missing": self.reason}


def rounded(number):
    return round(number) if number >= 100 else round(number, 2)


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
