"""Fuzzes hivmc's input with AFL, then runs what AFL kept through a build with sanitizers.

    python run.py --afl FOLDER --work FOLDER [--seconds 600]

FOLDER of --afl holds afl-fuzz and afl-g++ (see README.md), --work is made and holds everything else: the two builds,
seeds, dictionary, and AFL's findings. Ends with 1 if anything crashed, hung or was reported by a sanitizer, and names
the files.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
MODULES = HERE.parents[2] / "tests" / "fixtures" / "hivm" / "modules.tar.xz"

#: What AFL mutates best is small; larger seeds only slow it down.
SEED_BYTES = 24_000
#: A seed has at least so many words that no smaller one has.
NEW_WORDS = 2
#: Operations, micro-kernels, types, attributes: what the tool tells apart by name.
WORDS = re.compile(
    r"[a-z]+(?:\.[a-z_]+)+|@[a-z]\w{2,40}|memref<[^>\"]{1,40}>+|#hivm\.\w+<\w+>|PIPE_\w+|EVENT_ID\d|affine_map"
)
#: A run longer than that may be a hang; the largest module compiles in 10 ms. It is one if it lasts longer than
#: HANG_AGAIN_S when it is repeated: on a busy machine AFL also reports runs that only waited for a core.
HANG_MS = 2000
HANG_AGAIN_S = 60
MEMORY_MIB = 400
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def modules() -> dict[str, str]:
    """Name -> text."""
    with tarfile.open(MODULES) as archive:
        return {m.name: archive.extractfile(m).read().decode() for m in archive if m.isfile()}  # type: ignore[union-attr]


def write_seeds(texts: dict[str, str], folder: Path) -> int:
    """Small modules that together have most of the words; how many."""
    folder.mkdir(exist_ok=True)
    seen: set[str] = set()
    for name, text in sorted(texts.items(), key=lambda item: len(item[1])):
        words = set(WORDS.findall(text))
        if len(text) < SEED_BYTES and len(words - seen) >= NEW_WORDS:
            seen |= words
            (folder / name).write_text(text)
    return len(list(folder.iterdir()))


def write_dictionary(texts: Iterable[str], path: Path) -> int:
    """All words of the modules, for AFL to put in; how many."""
    words = sorted({word for text in texts for word in WORDS.findall(text)})
    path.write_text("".join(f'word_{i}="{word}"\n' for i, word in enumerate(words)))
    return len(words)


def build(compiler: list[str], folder: Path, options: tuple[str, ...], environment: dict[str, str]) -> Path:
    """The harness and all that hivmc consists of."""
    folder.mkdir(exist_ok=True)
    flags = ["-std=gnu++17", "-O1", "-g", f"-I{SOURCES}", *options]
    objects = []
    for source in [
        HERE / "hivmc_fuzz.cpp",
        *sorted(SOURCES.glob("hivm/*.cpp")),
        *sorted(SOURCES.glob("hivm/micro/*.cpp")),
    ]:
        objects.append(folder / f"{source.parent.name}_{source.stem}.o")
        subprocess.run([*compiler, *flags, "-c", source, "-o", objects[-1]], check=True, env=environment)
    tool = folder / "hivmc_fuzz"
    subprocess.run([*compiler, *flags, *objects, "-o", tool, "-lpthread"], check=True, env=environment)
    return tool


def fuzz(afl: Path, tool: Path, work: Path, seconds: int, environment: dict[str, str]) -> dict[str, str]:
    """AFL's own statistics at the end."""
    command = [afl / "afl-fuzz", "-i", work / "seeds", "-o", work / "findings", "-x", work / "words.dict"]
    limits = ["-m", str(MEMORY_MIB), "-t", f"{HANG_MS}+"]
    # -d: no walk through every bit of every seed, which alone would take hours.
    with (work / "afl.log").open("w") as log:
        running = subprocess.Popen([*command, *limits, "-d", tool, "@@"], env=environment, stdout=log, stderr=log)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(seconds)
        running.terminate()  # it writes its statistics then
        running.wait()
    lines = (work / "findings" / "fuzzer_stats").read_text().splitlines()
    return {key.strip(): value.strip() for key, value in (line.split(":", 1) for line in lines)}


def broken_by(tool: Path, files: list[Path]) -> list[Path]:
    """Those of the files on which the tool does not end with 0: many at a time, and one by one where some do not."""

    def ends_well(some: list[Path]) -> bool:
        try:
            return subprocess.run([tool, *some], capture_output=True, timeout=HANG_AGAIN_S).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    broken = []
    for start in range(0, len(files), 100):
        some = files[start : start + 100]
        broken += [] if ends_well(some) else [file for file in some if not ends_well([file])]
    return broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--afl", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    work, afl = options.work.resolve(), options.afl.resolve()
    work.mkdir(parents=True)
    texts = modules()
    print(f"{write_seeds(texts, work / 'seeds')} seeds, {write_dictionary(texts.values(), work / 'words.dict')} words")
    environment = {
        **os.environ,
        "AFL_PATH": str(afl),
        "AFL_QUIET": "1",
        "AFL_NO_UI": "1",
        "AFL_NO_AFFINITY": "1",
        "AFL_SKIP_CPUFREQ": "1",
        "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    }
    tool = build([str(afl / "afl-g++")], work / "instrumented", (), environment)
    checked = build(["g++"], work / "checked", SANITIZERS, environment)
    statistics = fuzz(afl, tool, work, options.seconds, environment)
    names = ("execs_done", "execs_per_sec", "paths_total", "bitmap_cvg", "unique_crashes", "unique_hangs")
    print(", ".join(f"{name} {statistics[name]}" for name in names))
    kept, crashes, hangs = (sorted((work / "findings" / kind).glob("id:*")) for kind in ("queue", "crashes", "hangs"))
    broken = crashes + broken_by(checked, hangs) + broken_by(checked, kept)
    print(f"{len(kept) + len(hangs)} inputs through the sanitizers, {len(broken)} findings in all")
    sys.exit("\n".join(map(str, broken)))


if __name__ == "__main__":
    main()
