"""Another CPU's last digits are no difference, and nothing else passes for them."""

from __future__ import annotations

import pytest

from bench.verify.last_digits import same_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"p": 0.027826379825861305, "n": 3}', '{"p": 0.02782637982586208, "n": 3}'),
        ("a,1.5e-07,x", "a,1.5000000000000001e-07,x"),
        ('<i id="p387007afe6"/><b clip="url(#p387007afe6)"/>', '<i id="p4174f0644f"/><b clip="url(#p4174f0644f)"/>'),
    ],
)
def test_last_digits_are_no_difference(one: str, other: str) -> None:
    """Of numbers with a point or an exponent, and in the names that are made of them."""
    assert same_text(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"p": 0.02782637982}', '{"p": 0.02782637983}'),
        ('{"n": 1700000000000000001}', '{"n": 1700000000000000002}'),
        ('{"p": 0.5}', '{"q": 0.5}'),
        ('{"p": 0.5, "p": 0.5}', '{"p": 0.5}'),
        ('{"p": -0.5}', '{"p": 0.5}'),
        ('<i id="p387007afe6"/><b clip="url(#p387007afe6)"/>', '<i id="p4174f0644f"/><b clip="url(#p0000000000)"/>'),
    ],
)
def test_anything_else_is_one(one: str, other: str) -> None:
    """A digit before the twelfth, a whole number, a key, a sign, another picture."""
    assert not same_text(one, other)
