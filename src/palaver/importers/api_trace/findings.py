"""Kinds of findings in logs of API calls."""

from palaver.model.finding import finding_kind

BAD_RECORD = finding_kind("bad-record", "error", "A record of a log tells of no call; a masked copy is set aside.")
DAMAGED_STREAM = finding_kind(
    "damaged-stream", "warning", "A recorded answer is damaged or out of order; what can be read is kept."
)
CUT_ANSWER = finding_kind("cut-answer", "warning", "A recorded answer ends before its end.")
UNREADABLE_REQUEST = finding_kind(
    "unreadable-request", "warning", "The body of a request is no JSON; it is kept as text beside the answer."
)
UNREADABLE_ANSWER = finding_kind(
    "unreadable-answer", "warning", "An answer is in no format that is known; it is kept as it is."
)
MISSING_REQUEST = finding_kind("missing-request", "warning", "An answer whose request is not in the log.")
MISSING_ANSWER = finding_kind("missing-answer", "note", "A request to which the log holds no answer.")
LOCAL_TIME = finding_kind("local-time", "note", "A time without an offset was read as UTC; it may be a local one.")
AMBIGUOUS_CHUNKS = finding_kind(
    "ambiguous-chunks", "warning", "Chunks without an id may belong to several calls; they are kept apart."
)
MERGE_ERROR = finding_kind("merge-error", "note", "A line that tells what could not be merged; it holds no call.")
