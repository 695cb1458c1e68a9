"""docs/training.md, docs/tuning.md and docs/glossary.md name tests and files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAINING = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
TUNING = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
NAMES = {page: re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page) for page in (TRAINING, TUNING)}
NAMED = [one for names in NAMES.values() for one in names]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_an_invariants_test_exists(path, name):
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("page", NAMES, ids=["training", "tuning"])
def test_every_invariant_names_its_test(page):
    sentences = page.split("## What always holds")[1].split("\n## ")[0].split("\n- ")[1:]
    named = NAMES[page]
    assert len(sentences) == len(named) and all(f"`{path}" in s for s, (path, _) in zip(sentences, named, strict=True))


@pytest.mark.parametrize("page", [TRAINING, TUNING, GLOSSARY], ids=["training", "tuning", "glossary"])
def test_the_files_that_the_page_names_exist(page):
    for path in re.findall(r"`((?:course|simgpu|grader|labs|notebooks)/[\w./]*)`", page):
        assert (ROOT / path).exists(), path


def test_the_glossary_has_each_word_once_in_the_order_of_the_alphabet():
    words = re.findall(r"^\| \*\*(.+?)\*\*", GLOSSARY, re.M)
    assert len(words) > 60 and words == sorted(set(words), key=str.lower)
