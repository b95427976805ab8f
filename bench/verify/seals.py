"""Is a bundle, byte by byte, the one that its root stands for, and who says so? Looks at no figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.bundle.cover import cover_page
from bench.bundle.layout import COVER, SIGNATURE, SUMS
from bench.bundle.reading import Bundle
from bench.bundle.signature import NotSigned, Signed, check_signature, require_signers
from bench.verify.difference import Difference
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Expected:
    """What the bundle is to be: the `root` that was published, and whose keys may have signed it. None: anything."""

    root: str | None = None
    allowed_signers: Path | None = None


ANYTHING = Expected()


def seal_differences(bundle: Bundle) -> Iterator[Difference]:
    """Files that aren't what was bundled, and an archive that samebox didn't write so. If it yields anything, nothing in the bundle is
    evidence of anything.
    """
    found = [Difference("bytes", name, f"{SUMS} lists it, and it isn't there") for name in bundle.missing]
    found += [Difference("bytes", name, f"{SUMS} doesn't list it") for name in bundle.unlisted]
    found += [Difference("bytes", name, "its SHA-256 isn't the one that was bundled") for name in bundle.altered()]
    page = cover_page(
        bundle.about.campaign, bundle.root, records=bundle.has_records, signed=bundle.signature is not None
    )
    if bundle.cover != page:
        found.append(Difference("bytes", COVER, "not the page that follows from the root"))
    yield from found
    if not found and not _is_as_written(bundle):
        yield Difference(
            "form",
            bundle.path.name,
            "the archive isn't as samebox writes it: its files are whole, and something else was changed",
        )


def identity_differences(bundle: Bundle, expected: Expected) -> tuple[Signed | None, list[Difference]]:
    """Who signed the bundle, and in what it isn't the one that was asked for. Raises InvalidInput, MissingRequirement."""
    found = []
    if expected.allowed_signers is not None:
        require_signers(expected.allowed_signers)
    if expected.root is not None and expected.root != bundle.root:
        found.append(Difference("root", SUMS, f"the root is {bundle.root}, and {expected.root} was asked for"))
    if bundle.signature is None:
        if expected.allowed_signers is not None:
            found.append(
                Difference("signature", SIGNATURE, "it isn't signed, and --allowed-signers asks for a signature")
            )
        return None, found
    try:
        return check_signature(bundle.root, bundle.signature, expected.allowed_signers), found
    except NotSigned as error:
        return None, [*found, Difference("signature", SIGNATURE, str(error))]


def _is_as_written(bundle: Bundle) -> bool:
    try:
        return bundle.archive.is_as_written()
    except InvalidInput:
        return False
