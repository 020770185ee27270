"""The answer of `palaver duplicates`: what the archive holds more than once, level by level."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


class ConversationName(Part):
    """A conversation."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id there.")
    title: str | None = Field(description="Its title.")


class EqualFile(Part):
    """A file that is equal to another one."""

    path: str = Field(description="The file.")
    equal_to: str = Field(description="The one that was read first.")
    bytes: int = Field(description="The size of each.")


class MergedConversation(ConversationName):
    """One conversation from several sources."""

    sources: list[str] = Field(description="Where it came from.")


class LinkedPair(Part):
    """Two conversations that share messages."""

    first: ConversationName = Field(description="The one that holds more of the shared messages first.")
    other: ConversationName = Field(description="The one that holds them again.")
    shared_messages: int = Field(
        description="How many different messages they share that no other conversation held before."
    )
    share: float = Field(description="How much of the other conversation that is, from 0 to 1.")
    reason: str = Field(description="Why, as far as their sources say.")


class MarkedMessage(Part):
    """A message that came again within the window."""

    conversation: ConversationName = Field(description="Its conversation.")
    message_id: str = Field(description="The message.")
    first_message_id: str = Field(description="The first with its role and content.")
    apart_ms: int = Field(description="How much later it came.")


class Unchanged(Part):
    """Level 1: what is not opened again."""

    sources: int = Field(description="Sources that were read.")
    files: int = Field(description="Their files, known by size and time: one that has not changed is not opened again.")
    bytes: int = Field(description="The size of these files.")
    equal_files: int = Field(description="Files that are equal to another one.")


class Merged(Part):
    """Level 2: one conversation from several sources."""

    conversations: int = Field(description="Conversations that several sources hold.")


class Linked(Part):
    """Level 3: the same content in different conversations."""

    pairs: int = Field(description="Pairs of conversations that share messages.")
    shared_messages: int = Field(description="How many messages they share, pair by pair.")


class Marked(Part):
    """Level 4: the same role and content within a window of time."""

    messages: int = Field(description="Messages that came again.")
    conversations: int = Field(description="The conversations they are in.")
    window_ms: int = Field(description="How far apart from the first they may be.")


class DuplicatesAnswer(Answer):
    """All levels in numbers; the details of the level that was asked for."""

    unchanged: Unchanged = Field(description="Level 1: unchanged sources.")
    merged: Merged = Field(description="Level 2: one conversation from several sources.")
    linked: Linked = Field(description="Level 3: same content elsewhere.")
    marked: Marked = Field(description="Level 4: the same again within the window.")
    equal_files: list[EqualFile] | None = Field(description="With --level 1: equal files.")
    merged_conversations: list[MergedConversation] | None = Field(description="With --level 2: merged conversations.")
    linked_pairs: list[LinkedPair] | None = Field(description="With --level 3: pairs, the greatest share first.")
    marked_messages: list[MarkedMessage] | None = Field(description="With --level 4: messages that came again.")


ANSWER = DuplicatesAnswer
