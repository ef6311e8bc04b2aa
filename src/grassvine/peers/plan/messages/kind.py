"""A kind of message, and the kinds that several models have."""

from dataclasses import dataclass

from grassvine.peers.fit.learning import Learning

NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class MessageKind:
    """A kind of message.

    Attributes
    ----------
    name : str
    stage : {"before", "fit", "gossip", "after"}
    numbers : int
        The largest count of numbers of 64 bits in one message.
    most : int
        How often at most one member sends it up the tree, or to a neighbour that it meets.
    contains : str
    reveals : str
        What the receiver learns of the data of the sender, or of its whole branch of the tree.
    arrays : int
        Of how many arrays a sum consists.
    wide : bool
        Whether the numbers of one array have different units.
    """

    name: str
    stage: str
    numbers: int
    most: int
    contains: str
    reveals: str
    arrays: int = 1
    wide: bool = False

    @property
    def nbytes(self) -> int:
        """The largest size of the numbers in one message, in bytes."""
        return NUMBER_BYTES * self.numbers


def held_out(learning: Learning) -> list[MessageKind]:
    """Return the message with the common error, if data are held out."""
    if not learning.holdout:
        return []
    contains = "squared error and number of the values held out"
    return [MessageKind("held-out error", "after", 2, 1, contains, "how well the model fits them")]


def variances(n_items: int) -> list[MessageKind]:
    """Return the messages that give variances and show which features have too few samples."""
    return [
        MessageKind(
            "variances",
            "before",
            n_items,
            1,
            "the sum of squared differences of each feature from its common mean",
            "the variance of each feature",
            wide=True,
        ),
        MessageKind(
            "support",
            "before",
            n_items,
            1,
            "the sum of fourth powers of those differences, over the common standard deviation",
            "how many samples determine each feature",
        ),
    ]


def one_number(name: str, contains: str) -> MessageKind:
    """Return a message of one number before the fit."""
    return MessageKind(name, "before", 1, 1, contains, "that number")


def validation(numbers: int, most: int) -> MessageKind:
    """Return the message with errors of candidates."""
    contains = "error or number of the ratings that validation holds out"
    how_well = "how well models fit them"
    return MessageKind("validation", "fit", numbers, most, contains, how_well, numbers)
