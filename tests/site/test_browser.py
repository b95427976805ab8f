"""A site in a real browser, opened as a file: links, keyboard, filters, permalinks, comparisons, pictures, themes, and no request."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, sync_playwright

from bench.site.write import INDEX
from tests.chromium import ARGUMENTS, CHROMIUM, needs_chromium
from tests.site.bundles import bundle_of
from tests.site.campaigns import site_of
from tests.site.reports import KAFKA, PULSAR, Ran, report_of

pytestmark = [pytest.mark.integration, needs_chromium]
WIDE: ViewportSize = {"width": 1200, "height": 900}


@dataclass
class Reader:
    """Somebody who looks at one site. `wrong`: errors that the console told; `asked`: addresses that were requested."""

    page: Page
    site: Path
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(60_000)  # of a machine that does other things as well
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str = "") -> None:
        """Opens the site anew at an address within it."""
        self.page.goto("about:blank")
        self.page.goto(f"file://{self.site / INDEX}{address}")

    def settle(self) -> None:
        """Waits until what the address says is drawn."""
        self.wait_for("shownAddress === location.hash")

    def wait_for(self, condition: str) -> None:
        """Waits until an expression is true; the pages' policy lets nothing but the browser's own tools evaluate one."""
        self.page.evaluate(
            f"new Promise(done => {{ const look = () => {condition} ? done() : requestAnimationFrame(look); look(); }})"
        )

    def texts(self, selector: str) -> list[str]:
        self.settle()
        return self.page.locator(selector).all_inner_texts()

    @property
    def view(self) -> str:
        self.settle()
        return self.page.locator("main").inner_text()

    @property
    def address(self) -> str:
        self.settle()
        return str(self.page.evaluate("location.hash"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Path) -> Reader:
    """One window for all tests: opening one takes longer than looking at a page."""
    return Reader(browser.new_page(), site)


@pytest.fixture
def reader(opened: Reader) -> Iterator[Reader]:
    """At the end of each test nothing was wrong, and nobody was asked for anything."""
    opened.page.set_viewport_size(WIDE)
    opened.page.emulate_media(media="screen", color_scheme="light")
    opened.wrong.clear()
    opened.asked.clear()
    yield opened
    assert opened.wrong == []
    assert [url for url in opened.asked if not url.startswith((f"file://{opened.site}/", "data:", "about:"))] == []


def entries_named(reader: Reader, name: str) -> dict[str, str]:
    """Campaign -> the entry's name in addresses, of the rows that a contestant has."""
    rows = reader.page.locator("tr[data-entry]").filter(has=reader.page.locator("th", has_text=name))
    found = rows.evaluate_all(
        "rows => rows.map(row => [row.querySelector('a')?.textContent ?? 'published', row.dataset.entry])"
    )
    return {str(campaign).split(",")[0]: str(entry) for campaign, entry in found}


def test_the_front_page_answers(reader: Reader) -> None:
    """Who is best at which promise and rate, on which hosts, how sure; the promises are apart."""
    reader.open()
    assert reader.texts("section > h2")[:2] == [
        "Level 1: acknowledged when a quorum of brokers has it, on disk",
        "Level 2: acknowledged when a quorum of brokers has it, in memory or page cache",
    ]
    first = reader.page.locator("article").first.inner_text()
    assert "kafka-4.10.0 has the lowest response latency p99" in first
    assert "A difference is shown: ratio 0.66" in first and "9 blocks" in first
    assert "local: 3 brokers and 1 client; local: Example CPU, 2 CPUs, 23 GiB" in first
    assert reader.page.locator("article svg[role=img]").count() >= 3


def test_every_link_leads_somewhere(reader: Reader) -> None:
    """Each address of the site that is on any of its views shows something, without an error."""
    reader.open()
    waiting, seen = ["#results"], set()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        reader.page.evaluate("address => { location.hash = address }", address)
        assert "isn't on this site" not in reader.view
        assert len(reader.page.locator("#view").inner_text()) > 20, address
        links = reader.page.locator("a[href]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
        assert all(link.startswith("#") for link in links), links
        waiting += [link for link in links if link != "#main"]
    assert len(seen) >= 10


def test_filters_change_what_is_shown_and_the_address(reader: Reader) -> None:
    """And the address alone shows the same again."""
    reader.open()
    reader.page.select_option("select[name=system]", "pulsar")
    reader.page.select_option("select[name=promise]", "2-sync-async")
    reader.page.select_option("select[name=metric]", "response_latency_p50")
    assert reader.address == "#results?system=pulsar&promise=2-sync-async&metric=response_latency_p50"
    shown = reader.view
    assert reader.texts("tr[data-entry] th") == ["pulsar 4.2.4"]
    assert "response latency p50" in shown
    reader.open(reader.address)
    assert reader.view == shown
    assert reader.page.locator("select[name=system]").input_value() == "pulsar"


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("#results?version=kafka+4.10.0", ["kafka-4.10.0"]),
        ("#results?system=kafka&until=2023-11-14", ["kafka 4.3.1"]),
        ("#results?since=2023-11-20&system=nats", ["nats 2.15.1"]),
        ("#results?workload=kill-leader%3A+400+msg%2Fs+of+1+KiB&system=kafka", ["kafka 4.3.1"]),
        ("#results?hosts=local%3A+3+brokers+and+1+client&system=valkey", ["valkey 9.1.2"]),
    ],
)
def test_each_filter_lets_through_what_it_says(reader: Reader, address: str, names: list[str]) -> None:
    """By version, dates, workload, hosts; what was published has no date, and stays."""
    reader.open(address)
    assert reader.texts("tr[data-entry]:not(.published) th") == names


def test_two_of_one_campaign_are_compared_block_by_block(reader: Reader) -> None:
    """With the report's own verdict, chosen by ticking two rows."""
    reader.open("#results?promise=1-sync-sync&until=2023-11-14")
    boxes = reader.page.locator("tr:not(.published) input[type=checkbox]")
    boxes.nth(0).check()
    assert reader.page.locator("#picked .go").count() == 0
    boxes.nth(1).check()
    reader.page.click("#picked .go")
    assert reader.texts("h1") == ["Compare two entries"]
    assert "kafka 4.3.1 has the lowest response latency p99" in reader.view
    assert (
        "No difference is shown" in reader.view
        and "with fewer than 6 blocks no 95 % interval is possible" in reader.view
    )
    assert reader.page.locator("#figures tbody tr").count() >= 7


def test_what_is_alike_in_two_campaigns_is_compared_without_an_interval(reader: Reader) -> None:
    """And it is said that they share no block."""
    reader.open("#results?promise=1-sync-sync")
    kafka = entries_named(reader, "kafka 4.3.1")
    reader.open(f"#compare?a={kafka['demo']}&b={kafka['both-levels']}")
    assert "share no block" in reader.view
    assert "ranges overlap: no difference shown" in reader.view
    assert "Bundled without the records of messages: both-levels. Nobody can recompute its figures." in reader.view


def test_what_is_not_alike_is_not_compared_and_it_says_why(reader: Reader) -> None:
    """Another promise, another workload, a published result: each by its name, and no figure of the two on one axis."""
    reader.open("#results?system=kafka")
    for button in reader.page.locator("button", has_text="more workloads").all():
        button.click()
    kafka = entries_named(reader, "kafka 4.3.1")
    assert kafka.keys() == {"demo", "both-levels", "faults"}
    reader.open("#results?system=kafka&promise=2-sync-async")
    memory = entries_named(reader, "kafka 4.3.1")["both-levels"]
    reader.open(f"#compare?a={kafka['demo']}&b={memory}")
    assert reader.texts("#unlike tbody th") == ["promise"]
    assert reader.page.locator("#view svg").count() == 0
    reader.open(f"#compare?a={kafka['demo']}&b={kafka['faults']}")
    assert reader.texts("#unlike tbody th") == ["workload: faults"]
    published = reader.page.evaluate("MODEL.entries.find(entry => entry.campaign.published).id")
    reader.open(f"#compare?a={kafka['demo']}&b={published}")
    assert reader.texts("#unlike tbody th")[0] == "where it comes from"
    assert reader.page.locator("#view svg").count() == 0


def test_a_promise_never_shares_an_axis_with_another(reader: Reader) -> None:
    """Nor another rate, workload or testbed: in every group that is drawn, all entries are alike."""
    reader.open()
    worst = reader.page.evaluate(
        "Math.max(...groupsOf(MODEL.entries).flatMap(group => group.entries.filter(entry => !entry.campaign.published)"
        ".map(entry => unlike(group.entries[0], entry).length)))"
    )
    assert worst == 0
    assert reader.page.evaluate("groupsOf(MODEL.entries).length") > 3


def test_versions_are_in_their_order_and_compared_with_the_first(reader: Reader) -> None:
    """4.10 comes after 4.4; which is lower, and whether that is shown, is the first sentence."""
    reader.open("#versions?system=kafka")
    card = reader.page.locator("article").first
    ticks = card.locator("svg").first.locator("[aria-label='x-axis tick label'] text").all_text_contents()
    assert ticks == ["3.9.19 blocks", "4.3.19 + 2 blocks", "4.4.09 blocks", "4.10.09 blocks"]  # on two lines
    assert "kafka-4.10.0 has the lowest response latency p99" in card.inner_text()
    assert reader.texts("article li")[:2] == [
        "kafka-4.10.0 to kafka-3.9.1: A difference is shown: ratio 0.667, 95 % interval 0.653 to 0.68, 9 blocks.",
        "kafka-4.4.0 to kafka-3.9.1: No difference is shown: ratio 1, 95 % interval 0.994 to 1.01, 9 blocks; the interval includes 1.",
    ]


def test_what_was_lost_when_a_leader_was_killed_is_told_at_once(reader: Reader) -> None:
    """One click from the front page, in the first sentence."""
    reader.open()
    reader.page.click("text=How many messages did each system lose when its leader was killed?")
    assert reader.texts("article .headline") == [
        "kafka 4.3.1 lost 4 of 9,600 acknowledged messages; nats 2.15.1 lost none of 9,600 acknowledged messages. "
        "Lost what had to survive: kafka 4.3.1."
    ]
    assert "4.02 s (4.24)" in reader.view


def test_a_campaign_has_the_lines_that_repeat_and_check_it(reader: Reader) -> None:
    """Two clicks from the front page; the root in full."""
    reader.open()
    reader.page.click("text=How do I repeat a result?")
    reader.page.click("main a:text-is('demo')")
    lines = reader.texts(".lines code")
    assert lines[0].splitlines()[1:] == ["make setup", ".venv/bin/samebox campaign local campaigns/demo.toml"]
    root = reader.page.locator("code.root").inner_text()
    assert lines[1] == f".venv/bin/samebox verify --root {root} demo.samebox"
    assert len(root) == 64
    reader.page.locator(".lines button").first.click()
    reader.wait_for("document.querySelector('.lines [role=status]').textContent !== ''")


@pytest.mark.parametrize("view", ["results", "versions", "campaigns"])
def test_what_has_no_records_says_so_wherever_it_is_shown(reader: Reader, view: str) -> None:
    """In words, on every view that has a figure of it."""
    reader.open(f"#{view}")
    assert "Bundled without the records of messages: both-levels" in reader.view


def test_what_was_published_stands_in_grey_as_what_it_is(reader: Reader) -> None:
    """No system's colour, no verdict, no block."""
    reader.open("#results")
    for button in reader.page.locator("button", has_text="more workloads").all():
        button.click()
    card = reader.page.locator("article.published").first
    assert "published, no records" in card.inner_text().lower()
    assert "No records, so nobody can say how sure." in card.inner_text() or "No trial" in card.inner_text()
    assert (
        card.locator(".swatch").first.evaluate("swatch => getComputedStyle(swatch).backgroundColor")
        == "rgb(138, 146, 156)"
    )


def test_a_figure_is_saved_as_a_picture(reader: Reader, tmp_path: Path) -> None:
    """A PNG of 1,800 pixels, which isn't empty, with what it is in it."""
    reader.open("#results?promise=1-sync-sync&until=2023-11-14")
    with reader.page.expect_download() as saved:
        reader.page.locator("button.save").first.click()
    assert saved.value.suggested_filename == "response-latency-p99-at-400-msg-s-of-1-kib.png"
    saved.value.save_as(tmp_path / "figure.png")
    content = (tmp_path / "figure.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1_800 and 400 < height < 1_600
    assert len(content) > 20_000
    said = reader.page.evaluate(
        "pictureLines(aboutGroup(groupsOf(filtered({until: '2023-11-14'}))[0], 'x',"
        " MODEL.campaigns.filter(each => each.name === 'demo'))).join(' ')"
    )
    for words in ("2023-11-14", "Level 1:", "3 brokers and 1 client", "demo: root "):
        assert words in said


def test_everything_is_reached_by_the_keyboard_and_seen_to_be(reader: Reader) -> None:
    """Tab comes to every control in turn, each with an outline; Enter and Space do what a click does."""
    reader.open("#results?until=2023-11-14&system=kafka")
    controls = "a[href], button, select, input, [tabindex='0']"
    expected = reader.page.locator(controls).evaluate_all("all => all.filter(each => each.checkVisibility()).length")
    reached: set[int] = set()
    for _ in range(4 * expected):  # a date has a place for each of its parts
        reader.page.keyboard.press("Tab")
        place, outlined = reader.page.evaluate(
            f'() => {{ const all = [...document.querySelectorAll("{controls}")].filter(each => each.checkVisibility());'
            " const at = document.activeElement; const style = getComputedStyle(at);"
            " return [all.indexOf(at), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2]; }"
        )
        if place >= 0:
            assert outlined, place
            reached.add(place)
    assert reached == set(range(expected))
    reader.page.locator("tr[data-entry] input").first.focus()
    reader.page.keyboard.press("Space")
    assert "Choose one more" in reader.page.locator("#picked").inner_text()
    reader.page.locator("nav a", has_text="Faults").focus()
    reader.page.keyboard.press("Enter")
    assert reader.texts("h1") == ["What users feel when something breaks"]
    assert reader.page.evaluate("document.activeElement.id") == "main"


def test_a_filter_keeps_the_keyboard_s_place(reader: Reader) -> None:
    """Whoever chooses by arrow keys goes on choosing."""
    reader.open()
    reader.page.locator("select[name=system]").focus()
    reader.page.keyboard.press("ArrowDown")
    reader.wait_for("location.hash.includes('system=')")
    assert reader.page.evaluate("document.activeElement.name") == "system"


def test_dark_and_print_look_otherwise(reader: Reader) -> None:
    """Dark where the reader's system is; on paper white, without what can only be clicked."""
    reader.open()
    light = reader.page.screenshot()
    reader.page.emulate_media(color_scheme="dark")
    dark = reader.page.screenshot()
    assert reader.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    reader.page.emulate_media(media="print")
    printed = reader.page.screenshot()
    assert len({light, dark, printed}) == 3
    assert reader.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not reader.page.locator("nav").is_visible() and not reader.page.locator("#filters").is_visible()


@pytest.mark.parametrize("address", ["#results", "#versions", "#faults", "#campaigns"])
def test_a_narrow_screen_scrolls_in_one_direction(reader: Reader, address: str) -> None:
    """Of 400 pixels: what is wider scrolls by itself."""
    reader.page.set_viewport_size({"width": 400, "height": 800})
    reader.open(address)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_an_address_of_nothing_is_told(reader: Reader) -> None:
    """Of an entry and a campaign that aren't on the site, and of no view at all."""
    reader.open("#compare?a=0123.0&b=4567.1")
    assert "This link names an entry that isn't on this site." in reader.view
    reader.open("#campaign?id=__proto__")
    assert "This link names a campaign that isn't on this site." in reader.view
    reader.open("#constructor?system=__proto__")
    assert "Nothing passes these filters." in reader.view


def test_what_a_hostile_bundle_says_is_text(browser: Browser, tmp_path: Path) -> None:
    """Markup and scripts in every text that is shown: nothing runs, nothing is asked for, and it is there to be read."""
    evil = "<img src=http://127.0.0.1:9/x onerror='window.hit=1'><script>window.hit=1</script>"
    hurt = [
        Ran(evil, evil, evil, 4.0, workload=evil, lost=(1,)),
        Ran("__proto__", "constructor", "1", 3.0, workload=evil, lost=(0,)),
    ]
    report = report_of(hurt, blocks=2, question=evil, caveats=[evil], repeat=[f"samebox ab {evil}"])
    report["manifest"]["system_profile"]["name"] = evil
    bundle_of(report, tmp_path / "evil.samebox")
    bundle_of(report_of([KAFKA, PULSAR], name="sound", blocks=2), tmp_path / "sound.samebox")
    site = site_of([tmp_path / "evil.samebox", tmp_path / "sound.samebox"], tmp_path / "site")
    page = browser.new_page(viewport=WIDE)
    reader = Reader(page, site)
    reader.open()
    identity = page.evaluate("MODEL.campaigns.find(campaign => campaign.name === 'demo').id")
    for address in (
        "#results",
        "#versions",
        "#faults",
        "#campaigns",
        f"#campaign?id={identity}",
        f"#compare?a={identity}.0&b={identity}.1",
    ):
        reader.open(address)
        assert "<img src=" in reader.view, address
        assert page.locator("main img, main script").count() == 0
    for button in page.locator("button.save").all():
        with page.expect_download():
            button.click()
    assert page.evaluate("window.hit") is None
    assert [url for url in reader.asked if not url.startswith(("file:", "data:", "about:"))] == []
    assert reader.wrong == []
    page.close()


def test_asking_is_forbidden(browser: Browser, site: Path) -> None:
    """The page's own policy refuses whatever a script asks for, before anybody is asked."""
    page = browser.new_page()
    page.goto(f"file://{site / INDEX}")
    page.evaluate(
        "refused = []; addEventListener('securitypolicyviolation', event => refused.push(event.effectiveDirective));"
        " new Promise(done => { const image = new Image(); image.onerror = done; image.src = 'http://127.0.0.1:9/x.png'; })"
    )
    with pytest.raises(Error, match="Failed to fetch"):
        page.evaluate("fetch('http://127.0.0.1:9/')")
    assert page.evaluate("refused") == ["img-src", "connect-src"]
    page.close()
