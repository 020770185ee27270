"""Thumbs up and down as a rating."""

from palaver.model.build import JsonObject

_UP, _DOWN = 5, 1


def rating_of(thumbs: list[tuple[str, bool]]) -> JsonObject | None:
    """One figure for all thumbs, each with its time: their mean, and the time of the last."""
    if not thumbs:
        return None
    scores = [_UP if is_up else _DOWN for _, is_up in thumbs]
    rating: JsonObject = {"score": round(sum(scores) / len(scores), 2)}
    if rated_at := max(time for time, _ in thumbs):
        rating["rated_at"] = rated_at
    return rating
