"""What a document carries although anybody can work it out: left out, so that it is not taken for stated."""

from palaver.model.build import JsonObject
from palaver.model.metrics import MetricsTally

_UNCOUNTABLE = (TypeError, KeyError, AttributeError, ValueError)
"""What a message raises that is not as the schema wants it."""


class Totals:
    """Adds up the messages of each conversation that is still open, in the same way as the pipeline does."""

    def __init__(self) -> None:
        self._open: dict[str, MetricsTally] = {}

    def leave_out(self, document: JsonObject) -> None:
        """Take from `metrics` what the messages add up to; the key keeps its place in the document."""
        conversation_id = document["conversation_id"]
        tally = self._open.pop(conversation_id, None) or MetricsTally()
        try:
            tally.add(document["messages"])
            computed = tally.metrics()
        except _UNCOUNTABLE:
            return
        if _is_followed(document):
            self._open[conversation_id] = tally
            return
        match document.get("metrics"):
            case dict() as stated:
                document["metrics"] = {
                    name: value for name, value in stated.items() if computed.get(name, _NOTHING) != value
                }
            case _:
                pass


_NOTHING = object()


def leave_out_costs(document: JsonObject) -> None:
    """Take what `--with-cost` added to the messages; prices change, and documents do not."""
    for message in document["messages"]:
        match message:
            case {"metadata": {"computed_cost": {"source": "list_prices"}} as metadata}:
                del metadata["computed_cost"]
                if not metadata:
                    del message["metadata"]
            case _:
                pass


def _is_followed(document: JsonObject) -> bool:
    match document.get("fragment"):
        case {"final": False}:
            return True
        case _:
            return False
