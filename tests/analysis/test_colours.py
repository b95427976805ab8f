"""One colour per system in all figures, and shades of it for its variants."""

from __future__ import annotations

from analysis.drawing import colours_of
from contract.colours import COLOURS
from systems.registry import SYSTEMS


def test_a_system_has_the_colour_that_it_declared() -> None:
    """In whatever order they appear; who declared none gets the first that is left."""
    found = colours_of({"x": "x", "b": "b", "a": "a"}, {"a": "blue", "b": "vermilion"})
    assert list(found) == ["x", "b", "a"]
    assert found == {"x": COLOURS["green"], "b": COLOURS["vermilion"], "a": COLOURS["blue"]}


def test_without_declarations_colours_are_given_in_turn() -> None:
    """As in results of earlier versions."""
    assert list(colours_of({"pulsar": "pulsar", "kafka": "kafka"}, {}).values()) == [
        COLOURS["blue"],
        COLOURS["vermilion"],
    ]


def test_a_colour_that_is_taken_or_unknown_is_as_none() -> None:
    """Results may say anything; two systems never look the same while there are colours."""
    found = colours_of({"a": "a", "b": "b", "c": "c"}, {"a": "blue", "b": "blue", "c": "url(#x)"})
    assert len(set(found.values())) == 3
    assert set(found.values()) <= set(COLOURS.values())


def test_variants_are_darker_than_their_system() -> None:
    """Whichever of them ran first."""
    found = colours_of({"a-bypass": "a", "a": "a", "a-other": "a", "b": "b"}, {"a": "orange"})
    assert found["a"] == COLOURS["orange"]
    shades = [int(found[name][1:3], 16) for name in ("a", "a-bypass", "a-other")]
    assert shades == sorted(shades, reverse=True)
    assert len(set(found.values())) == 4


def test_more_systems_than_colours_are_drawn_all_the_same() -> None:
    """The seventh looks like another."""
    assert len(colours_of({str(n): str(n) for n in range(7)}, {})) == 7


def test_no_two_registered_systems_have_one_colour() -> None:
    """A new system takes one that is left, or none."""
    own = [system.colour for system in SYSTEMS.values() if system.colour is not None]
    assert len(own) == len(set(own))
