"""What latents were made from: which model, and which corpus."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metro.core.latents import Latents
from metro.errors import LatentsError, short


@dataclass(frozen=True)
class MadeFrom:
    """A model or a corpus as latents name it.

    Attributes:
        name: Such as ``lewm-small-tworoom``; None: not recorded.
        digest: sha256; None: not recorded, as in a user's own arrays.
    """

    name: str | None
    digest: str | None

    @classmethod
    def read(cls, recorded: Any) -> "MadeFrom":
        """Return the source in an entry of a provenance, whatever a user wrote."""
        # Users may write anything there, such as the name alone.
        if not isinstance(recorded, Mapping):
            return cls(None, None)
        return cls(recorded.get("name"), recorded.get("digest"))

    def __str__(self) -> str:
        digest = "not recorded" if self.digest is None else short(self.digest)
        return digest if self.name is None else f"{self.name} ({digest})"


@dataclass(frozen=True)
class Provenance:
    """The model and the corpus that latents were made from."""

    model: MadeFrom
    corpus: MadeFrom

    @classmethod
    def of(cls, latents: Latents) -> "Provenance":
        """Return what the latents say about themselves."""
        recorded = latents.provenance
        return cls(*(MadeFrom.read(recorded.get(part)) for part in ("model", "corpus")))

    def is_of(self, model: str, corpus: str) -> bool:
        """Return whether the latents were made from these, given by their digests."""
        return (self.model.digest, self.corpus.digest) == (model, corpus)

    def require(
        self,
        *,
        model: str | None = None,
        corpus: str | None = None,
        or_unrecorded: bool = False,
    ) -> None:
        """Raise `LatentsError` unless the latents were made from these.

        Args:
            model: Digest of the model that is used; None: not checked.
            corpus: Digest of the corpus that is used; None: not checked.
            or_unrecorded: Accept latents that do not say what they were made from.
        """
        for part, given in (("model", model), ("corpus", corpus)):
            made: MadeFrom = getattr(self, part)
            accepted = (given, None) if or_unrecorded else (given,)
            if given is not None and made.digest not in accepted:
                raise LatentsError(
                    f"The latents were made from another {part}: {made}, not the given "
                    f"one ({short(given)}). Encode the corpus with the model again "
                    f"(metro encode), and build the graph from that (metro build)."
                )
