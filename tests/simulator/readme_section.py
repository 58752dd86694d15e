"""Parts of ``third_party/cann_sim/README.md`` that are made by a program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "third_party" / "cann_sim" / "README.md"


@dataclass(frozen=True)
class Section:
    """What stands between two comment lines."""

    begin: str
    end: str

    def read(self) -> str:
        text = README.read_text()
        start, end = self._place(text)
        return text[start:end].strip()

    def write(self, content: str) -> None:
        text = README.read_text()
        start, end = self._place(text)
        README.write_text(f"{text[:start]}\n{content}\n{text[end:]}")

    def _place(self, text: str) -> tuple[int, int]:
        return text.index(self.begin) + len(self.begin), text.index(self.end)
