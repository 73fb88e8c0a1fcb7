"""What a run tells of beside its stages."""

from __future__ import annotations

from torchbuild.cli.run_warnings import warner
from torchbuild.report.events import Event, Warned


def test_each_kind_of_news_has_its_name() -> None:
    """A program that reads the events knows them by reference."""
    events: list[Event] = []

    class Keeper:
        def emit(self, event: Event) -> None:
            events.append(event)

    kind = Warned(stage="fetch", reference="address-passed-over", text="")
    warner(Keeper(), kind)("a mirror was asked")

    assert events == [Warned(stage="fetch", reference="address-passed-over", text="a mirror was asked")]
