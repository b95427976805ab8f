"""A site's folder: what is in it, the same bytes for the same bundles, and what is refused before anything is written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.cli.main import samebox
from bench.report.ask import ask
from bench.site.reading import read_all
from bench.site.write import DATA, INDEX, PAGES, page_files
from provisioning.errors import InvalidInput
from tests.site.bundles import bundle_of
from tests.site.campaigns import site_of
from tests.site.reports import KAFKA, PULSAR, report_of

NAMESPACES = "www.w3.org"  # of SVG and HTML: names that look like addresses


def data_of(site: Path) -> dict[str, Any]:
    """What data.js assigns."""
    said = re.fullmatch(r"const SAMEBOX = JSON\.parse\('(.*)'\);\n", (site / DATA).read_text(encoding="ascii"))
    assert said is not None
    document: dict[str, Any] = json.loads(re.sub(r"\\(['\\])", r"\1", said[1]))
    return document


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read(*paths: Path) -> list[str]:
    return [shown.identity for shown in read_all(paths, lambda _name: None)]


def typed(*words: object) -> Result:
    return CliRunner().invoke(samebox, [str(word) for word in words], standalone_mode=False)


def test_the_same_bundles_give_the_same_bytes(bundles: list[Path], site: Path, tmp_path: Path) -> None:
    """In another order, under other names, and with one of them twice."""
    moved = [
        path if path.is_dir() else shutil.copy(path, tmp_path / f"{number}.samebox")
        for number, path in enumerate(bundles)
    ]
    again = site_of([*reversed([Path(path) for path in moved]), bundles[0]], tmp_path / "again")
    assert files_of(again) == files_of(site)


def test_it_holds_the_pages_and_the_data_and_nothing_else(site: Path) -> None:
    """The licences of what is vendored among them."""
    assert set(files_of(site)) == {*page_files(), DATA}
    assert {"index.html", "vendor/d3.LICENSE", "vendor/plot.LICENSE", "vendor/d3.min.js"} <= set(page_files())
    for script in re.findall(r'(?:src|href)="([^"#:]+)"', (site / INDEX).read_text()):
        assert (site / script).is_file()


def test_no_page_knows_an_address_and_all_are_forbidden_to_ask() -> None:
    """The browser enforces it, should a script of ours or of the libraries ever try."""
    for name in page_files():
        found = set(re.findall(r"https?://([\w.-]+)", (PAGES / name).read_text()))
        assert found <= {NAMESPACES, "d3js.org"}, name  # the library's own name for itself, in a comment
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', (PAGES / INDEX).read_text())
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "http" not in policy[1] and "*" not in policy[1] and "eval" not in policy[1]


def test_no_script_writes_markup() -> None:
    """What comes from a bundle is text: nothing of ours takes a string for HTML or for a program."""
    for name in page_files():
        if name.startswith("js/"):
            script = (PAGES / name).read_text()
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script
            ), name


def test_everything_of_a_campaign_is_there(site: Path) -> None:
    """Root, lines, whether there are records; promises, workloads and hosts once each."""
    data = data_of(site)
    named = {data["tables"]["texts"][each["campaign"]]: each for each in data["campaigns"] if each["root"]}
    assert list(named) == ["demo", "both-levels", "watch-kafka", "faults"]
    assert [each["records"] for each in named.values()] == [True, False, True, True]
    assert len(data["tables"]["promises"]) >= 2 and len(data["tables"]["hosts"]) == 1
    demo = named["demo"]
    assert demo["root"].startswith(demo["id"])
    texts = data["tables"]["texts"]
    assert texts[demo["verify"]] == ".venv/bin/samebox verify --root ROOT demo.samebox"
    assert [texts[line] for line in demo["repeat"]][1:] == [
        "make setup",
        ".venv/bin/samebox campaign local campaigns/demo.toml",
    ]
    (published,) = [each for each in data["campaigns"] if each["root"] is None]
    assert len(published["entries"]) == 3 and not published["records"]


def test_what_a_bundle_says_can_not_leave_its_string(tmp_path: Path) -> None:
    """Neither as markup nor as script, whatever quotes and line ends are in it; it comes back as it was, marks apart."""
    evil = "</script><script>alert(1)</script>'\"\\'); alert(2) //\u2028`${x}`<!--"
    bundle_of(report_of([KAFKA, PULSAR], blocks=1, question=evil, caveats=[evil]), tmp_path / "evil.samebox")
    site = site_of([tmp_path / "evil.samebox"], tmp_path / "site")
    content = (site / DATA).read_text()
    assert "<" not in content and content.count("\n") == 1
    assert evil in data_of(site)["tables"]["texts"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[: len(content) // 2], "not a bundle"),
        (lambda _content: b"", "not a bundle"),
        (lambda content: content.replace(b'"contestant": "kafka"', b'"contestant": "kafkb"', 1), "report"),
    ],
)
def test_a_bundle_that_can_not_be_read_ends_it_before_anything_is_written(
    change: Any, said: str, bundles: list[Path], tmp_path: Path
) -> None:
    """One sentence, with its name, beside others that are sound."""
    broken = tmp_path / "broken.samebox"
    broken.write_bytes(change(bundles[0].read_bytes()))
    with pytest.raises(InvalidInput) as caught:
        site_of([bundles[2], broken], tmp_path / "site")
    assert str(broken) in str(caught.value) and said in str(caught.value)
    assert not (tmp_path / "site").exists()


def test_a_report_that_is_none_is_refused_by_the_bundle_s_name(tmp_path: Path) -> None:
    """Sealed as it should be, and without what a report has."""
    report = report_of([KAFKA, PULSAR], blocks=1)
    del report["trials"][0]["validity"]
    bundle_of(report, tmp_path / "odd.samebox")
    with pytest.raises(InvalidInput, match=r"odd\.samebox: report\.json: .*trials\[0\]\.validity is missing"):
        read(tmp_path / "odd.samebox")


@pytest.mark.parametrize("path", ["none.samebox", "results"])
def test_what_is_no_bundle_is_refused(path: str, tmp_path: Path) -> None:
    """What isn't there, and a folder that isn't an import."""
    (tmp_path / "results").mkdir()
    with pytest.raises(InvalidInput, match=path):
        read(tmp_path / path)


def test_half_an_import_is_refused(bundles: list[Path], tmp_path: Path) -> None:
    """Its table is missing."""
    (tmp_path / "half").mkdir()
    shutil.copy(bundles[1] / "import.json", tmp_path / "half")
    with pytest.raises(InvalidInput, match=r"half: holds an import\.json and no summary\.csv"):
        read(tmp_path / "half")


def test_many_are_read_in_batches(bundles: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """However few fit into scratch at a time."""
    monkeypatch.setattr("bench.site.reading._BATCH_BYTES", 1)
    asked: list[int] = []

    def counted(module: str, arguments: Any) -> str:
        asked.append(len(list(Path(arguments[0]).iterdir())))
        return ask(module, arguments)

    found = read_all(bundles, lambda _name: None, counted)
    assert asked == [1] * 5
    assert len(found) == 5


def test_a_folder_that_is_no_site_is_left_alone(bundles: list[Path], tmp_path: Path) -> None:
    """With a file of somebody's in it, or with one in the place of a page's folder; an empty folder may be filled."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(InvalidInput, match=r"aren't part of an earlier site \(thesis\.tex\)"):
        site_of(bundles[:1], tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput, match="is a file"):
        site_of(bundles[:1], tmp_path / "file" / "site")
    (tmp_path / "empty").mkdir()
    assert (site_of(bundles[:1], tmp_path / "empty") / INDEX).is_file()


def test_an_earlier_site_is_replaced(bundles: list[Path], tmp_path: Path) -> None:
    """As a whole, and nothing is left beside it."""
    first = files_of(site_of(bundles[:1], tmp_path / "site"))
    second = files_of(site_of(bundles[2:3], tmp_path / "site"))
    assert first.keys() == second.keys() and first[DATA] != second[DATA]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_the_command_as_typed(bundles: list[Path], tmp_path: Path) -> None:
    """How many, how large, and what to type to look at it; refusals are sentences."""
    done = typed("site", *bundles, "-o", tmp_path / "site", "--plain")
    assert re.search(r"^5 campaigns, 15 entries, [\d,]+ bytes$", done.stdout, re.M), done.output
    (line,) = re.findall(r"^Look at it: xdg-open (.*)$", done.stdout, re.M)
    assert Path(line).resolve() == tmp_path / "site" / INDEX
    refused = typed("site", tmp_path / "none.samebox", "-o", tmp_path / "other", "--plain")
    assert isinstance(refused.exception, InvalidInput)
    assert not (tmp_path / "other").exists()
