# SPDX-License-Identifier: Apache-2.0
"""What every benchmark ends with: a table on the screen, JSON and Markdown in files."""

import datetime
import json
import os
import pathlib
import platform


def machine():
    """Processor, cores, kernel: what a figure depends on."""
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text()
        model = next(line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}"


def number(value):
    """As short as it is exact enough."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(head, lines):
    """A Markdown table that is aligned as text too."""
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    row = lambda cells: "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([row(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(row, lines)])


def write(folder, name, command, rows, text):
    """Writes <name>.json and <name>.md into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    whole = {"command": command, "machine": machine(), "date": date, "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n")
    (folder / f"{name}.md").write_text(f"{text}\n\n`{command}` on {whole['machine']}, {date}\n")
