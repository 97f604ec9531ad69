"""Names and texts for inputs that are drawn: a person can read them, and no fixed case uses any.

Not handled here: what they are the names of.
"""

from __future__ import annotations

from random import Random

QUALITIES = (
    "amber", "brisk", "dusky", "eager", "faint", "gentle", "hazel", "ivory", "jolly", "keen", "lunar", "mellow", "noble", "olive", "plain", "russet",
)  # fmt: skip
THINGS = (
    "anchor", "basket", "canyon", "ember", "falcon", "harbor", "lantern", "meadow", "orchard", "otter", "pebble", "quarry", "saddle", "thicket", "walnut",
)  # fmt: skip
DEEDS = ("bake", "carry", "count", "fold", "measure", "mend", "paint", "polish", "sort", "weigh")
ENDS = ("", "!", " ☕", ", über alles", " (100 %)", " «да»", "\n")  # what a text may end in
MOST_NUMBER = 900


def words(rng: Random, count: int) -> list[str]:
    """So many different things, one plain word each."""
    return rng.sample(THINGS, count)


def names(rng: Random, count: int) -> list[str]:
    """So many different names, such as `amber-otter-417`."""
    drawn = rng.sample(range(len(QUALITIES) * len(THINGS) * MOST_NUMBER), count)
    return [_name(*divmod(one, MOST_NUMBER)) for one in drawn]


def _name(pair: int, number: int) -> str:
    quality, thing = divmod(pair, len(THINGS))
    return f"{QUALITIES[quality]}-{THINGS[thing]}-{100 + number}"


def name(rng: Random) -> str:
    return names(rng, 1)[0]


def line(rng: Random) -> str:
    """What is to be done, or was, in plain letters."""
    return f"{rng.choice(DEEDS)} the {rng.choice(QUALITIES)} {rng.choice(THINGS)} {rng.randrange(2, 10_000)} times"


def text(rng: Random) -> str:
    """The same with an end that not everything lets through."""
    return f"{line(rng)}{rng.choice(ENDS)}"
