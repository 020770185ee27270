"""Which model answered: by its own id in a prompt's log, else by a title that the config resolves."""

from palaver.importers.continue_dev.config import Models
from palaver.importers.continue_dev.fields import text_of
from palaver.model.build import JsonObject


class Answered:
    """The models of a conversation, message by message."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._of: dict[str, str] = {}
        self._last = ""
        self._last_title = ""
        self._provider = ""

    def add(self, message_id: str, title: str, model: str, provider: str) -> None:
        """A log of a message names its model: the id, or only the title that the user gave it."""
        known = model or text_of(self._models.get(title, {}), "model") or title
        if known:
            self._of[message_id] = known
            self._last = known
        self._last_title = title or self._last_title
        self._provider = provider or self._provider

    def model(self, title: str) -> str:
        """The conversation's model, where only the session's title of it may be known."""
        return self._last or text_of(self._models.get(title, {}), "model") or title

    def about(self, title: str) -> JsonObject:
        """What the config says of it."""
        found = self._models.get(self._last_title or title)
        about: JsonObject = {}
        if found:
            about["model_config"] = {"title": self._last_title or title, **found}
        if self._provider:
            about["modelProvider"] = self._provider
        return about

    def mark(self, messages: list[JsonObject], model: str) -> None:
        """Say of messages of another model that they are; of all, where the conversation's is not known yet."""
        for message in messages:
            own = self._of.pop(message["message_id"], "")
            if own and own != model:
                message["metadata"]["model_override"] = own
