"""How far a figure may lie from what a claim says: an interval, from the digits that are printed or from a stated share.

- digits, of one significant digit: rounded to it, the figure reads the same: "3 times" is [2.5, 3.5), "20 times" is [15, 25), for zeros
  at the end of a whole number are no significant digits. Of two and more: rounded or cut off to as many, it reads the same: "605" is
  [604.5, 606), "1.0" is [0.995, 1.1). Of a stretch both ends are rounded to the finer one's last digit: "5 to 10 ms" is [4.5, 10.5).
- "15 %" (or another share): at most that far from what is claimed, on either side: for "about", "around", "almost".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from analysis.claims.quantity import Range

DIGITS = "digits"


@dataclass(frozen=True)
class Interval:
    """Lowest to highest, None = unbounded; `*_included`: whether the bound itself belongs to it."""

    low: float | None = None
    high: float | None = None
    low_included: bool = True
    high_included: bool = True

    def side(self, value: float) -> int:
        """-1 below it, 0 inside, 1 above."""
        if self.low is not None and (value < self.low or (value == self.low and not self.low_included)):
            return -1
        above = self.high is not None and (value > self.high or (value == self.high and not self.high_included))
        return int(above)

    def holds(self, figure: Range) -> bool | None:
        """Whether a figure lies in it; None where what is known of the figure doesn't tell."""
        sides = self.side(figure.low), self.side(figure.high)
        return None if sides[0] != sides[1] else sides[0] == 0


def interval(claimed: str, within: str) -> Interval:
    """The interval around a claimed number, as it is written. Raises ValueError for what isn't a number or a tolerance."""
    around = spread(claimed, claimed, within)
    if within != DIGITS or len(_significant(claimed).as_tuple().digits) < 2:
        return around
    value = _number(claimed)
    cut_off = float(value + (1 if value > 0 else -1) * Decimal(1).scaleb(_last_digit(claimed)))
    if value > 0:
        return Interval(around.low, cut_off, high_included=False)
    return Interval(cut_off, around.high, low_included=False, high_included=False)


def spread(lowest: str, highest: str, within: str) -> Interval:
    """The interval of a claimed stretch, "2 to 5 times"."""
    if within == DIGITS:
        finer = min(_last_digit(lowest), _last_digit(highest))
        return Interval(float(_rounding(lowest, finer)[0]), float(_rounding(highest, finer)[1]), high_included=False)
    share = _share(within)
    low, high = _number(lowest), _number(highest)
    return Interval(float(low - abs(low) * share), float(high + abs(high) * share))


def _rounding(text: str, last_digit: int) -> tuple[Decimal, Decimal]:
    """The numbers that are written like this when they are rounded to that power of ten, [from, to)."""
    value, half = _number(text), Decimal(5).scaleb(last_digit - 1)
    # 9.6 is rounded to 10 where 10 has one significant digit: below a power of ten a digit is worth a tenth
    finer_below = value.normalize().as_tuple().digits == (1,) and last_digit == _last_digit(text)
    return value - (half / 10 if finer_below else half), value + half


def _significant(text: str) -> Decimal:
    """A number with its significant digits alone: zeros at the end of a whole number are none."""
    return _number(text) if "." in text else _number(text).normalize()


def _last_digit(text: str) -> int:
    """The power of ten of the last significant digit: 0 for 3, 1 for 20, -1 for 1.0."""
    return int(_significant(text).as_tuple().exponent)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _share(within: str) -> Decimal:
    if not within.endswith(" %"):
        raise ValueError(f'the tolerance is {within!r}; valid choices: "{DIGITS}", or a share as "15 %"')
    return _number(within.removesuffix(" %")) / 100
