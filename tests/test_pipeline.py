"""What the hallway does with a document that no repair makes valid."""

import orjson

from palaver import pipeline
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.source import Source


class Stubborn:
    """An importer whose second document has an id that is none."""

    platform = "claude_code"

    def __init__(self, options):
        self.options = options

    def read(self, _source, run):
        for conversation_id in ("first", "", "third"):
            run.read()
            run.mapped()
            yield {
                "schema_version": "1.0.0",
                "conversation_id": conversation_id,
                "platform": {"name": "claude_code"},
                "created_at": "2026-01-01T00:00:00.000Z",
                "messages": [],
            }


def test_a_document_that_cannot_be_made_valid_is_set_aside_and_the_others_are_written(tmp_path, monkeypatch):
    options = pipeline.importer("claude_code").options
    monkeypatch.setattr(pipeline, "importer", lambda _platform: Stubborn(options))
    (tmp_path / "a").touch()
    aside = []
    report = SourceReport("a", "claude_code")
    made = list(pipeline.documents(Unit(Source.at(tmp_path / "a"), "claude_code", ""), report, {}, aside.append))
    assert [orjson.loads(line)["conversation_id"] for line in made] == ["first", "third"]
    assert [(entry.code, orjson.loads(entry.raw)["conversation_id"]) for entry in aside] == [("invalid-document", "")]
    assert not report.is_clean
    assert not report.failure
