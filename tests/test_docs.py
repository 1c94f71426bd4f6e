"""The docs keep their word: every Python block runs, every local link leads somewhere."""

import re
from pathlib import Path

import pytest

from niulab.envs.encoding import Encoding
from niulab.envs.registration import ENV_IDS
from niulab.envs.settings import make_settings

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    page for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md") if page.exists()
]
BLOCK = re.compile(r"^```python( long)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
HEADINGS = [
    "Description",
    "Action Space",
    "Observation Space",
    "Starting State",
    "Rewards",
    "Episode End",
    "Information",
    "Arguments",
    "References",
    "Version History",
]


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks_of(page, *, long):
    """The page's Python blocks, each below as many blank lines as put errors on the page's line."""
    text = page.read_text("utf-8")
    for match in BLOCK.finditer(text):
        if long or not match[1]:
            yield "\n" * text[: match.start(2)].count("\n") + match[2]


def run_blocks(page, *, long):
    """A page's blocks run one after the other in one namespace, as a reader would type them."""
    names = {"__name__": "__main__"}
    for code in blocks_of(page, long=long):
        exec(compile(code, name_of(page), "exec"), names)  # noqa: S102, our own docs


WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]
WITH_LONG_CODE = [page for page in PAGES if "\n```python long\n" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page, long=False)


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_LONG_CODE, ids=name_of)
def test_long_code_blocks_run(page, tmp_path, monkeypatch):
    """Blocks marked ```python long, after the page's others."""
    monkeypatch.chdir(tmp_path)
    run_blocks(page, long=True)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_local_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    lost = []
    for target, anchor in LINK.findall(text):
        other = (page.parent / target) if target else page
        if not other.exists():
            lost.append(target)
        elif anchor and other.suffix == ".md" and anchor[1:] not in anchors(other):
            lost.append(target + anchor)
    assert lost == []


def anchors(page):
    """Anchors of a page's headings, in the form in which forges make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_each_id_has_a_page_with_gymnasiums_headings_layout_and_menu(env_id):
    page = ROOT / "docs" / "environments" / (env_id.split("/")[1].removesuffix("-v0") + ".md")
    text = page.read_text("utf-8")
    settings = make_settings(env_id)
    has_menu = settings.stakes == "menu"
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == HEADINGS
    assert text.startswith(f"# {env_id}\n")
    assert Encoding(settings).layout_table() in text
    for index, slip in enumerate(settings.menu if settings.bets and has_menu else ()):
        assert f"| {index} | `{slip}` |" in text
