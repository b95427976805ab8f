"""The colours by which systems are told apart in figures: those of Okabe and Ito, told apart by colour-blind readers too, that stand
out on white.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

ColourName = Literal["blue", "vermilion", "green", "purple", "orange", "sky"]
COLOURS: Mapping[str, str] = dict(
    zip(get_args(ColourName), ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"), strict=True)
)
