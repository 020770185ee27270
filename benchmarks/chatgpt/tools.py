"""The tools of a conversation: the message that calls each, the one that answers, and what the model makes of it."""

import json
from typing import Any

from chatgpt.messages import Record, Tree, author, code, text

FOOTNOTE = {"start_ix": 0, "end_ix": 0, "citation_format_type": "tether_og"}
IMAGE_NULLS = dict.fromkeys(
    ["emu_omit_glimpse_image", "emu_patches_override", "lpe_keep_patch_ijhw", "lpe_delta_encoding_channel"]
)


def call(tree: Tree, recipient: str, content: Record, **own: Any) -> None:
    channel = "commentary" if tree.rng.random() < 0.5 else None
    metadata = tree.finished(**own)
    tree.add(author("assistant"), content, metadata, recipient=recipient, channel=channel, end_turn=False)


def run_python(tree: Tree) -> None:
    prose, rng = tree.prose, tree.rng
    for _ in range(rng.choice((1, 1, 2, 3))):
        source = "\n".join(prose.code(rng.randint(3, 40)))
        call(tree, "python", code(source))
        is_error = rng.random() < 0.1
        output = prose.output(rng.randint(1, 25))
        started = round(tree.now_s, 6)
        parent = {"msg_id": f"{rng.getrandbits(96):024x}_2_1", "version": "5.3"}
        states = [{"msg_type": "status", "parent_header": parent, "content": {"execution_state": "busy"}}]
        states.append({"msg_type": "execute_input", "parent_header": parent})
        stream = {"message_type": "stream", "time": started, "sender": "server", "stream_name": "stdout"}
        error = {"name": "ValueError", "traceback": output.split("\n"), "args": [prose.sentence()], "notes": []}
        result = {
            "status": "failed_with_in_kernel_exception" if is_error else "success",
            "run_id": prose.uuid(),
            "start_time": started,
            "update_time": round(started + 4, 6),
            "code": source,
            "end_time": round(started + 4, 6),
            "final_expression_output": None,
            "in_kernel_exception": error if is_error else None,
            "system_exception": None,
            "messages": [] if is_error else [stream | {"text": output}],
            "jupyter_messages": states,
            "timeout_triggered": None,
        }
        metadata = tree.answered({"aggregate_result": result, "is_complete": True})
        tree.add(author("tool", "python"), {"content_type": "execution_output", "text": output}, metadata)


def search_web(tree: Tree) -> tuple[str, Record]:
    """Calls a search and returns the answer that cites it, with the metadata of the citations."""
    return _search(tree) if tree.era.is_late else _browse(tree)


def _search(tree: Tree) -> tuple[str, Record]:
    prose, rng = tree.prose, tree.rng
    queries = [prose.sentence() for _ in range(rng.randint(1, 3))]
    asked = [{"type": "search", "q": query} for query in queries]
    content = code(json.dumps({"search_query": [{"q": query} for query in queries], "response_length": "medium"}))
    call(tree, "web.run", content, search_queries=asked, reasoning_status="is_reasoning")
    answerer = author("tool", "web.run", real_author="tool:web.run")
    told = {"search_model_queries": {"type": "search_model_queries", "queries": queries}}
    tree.add(answerer, text(""), tree.answered(told), end_turn=False)
    entries = [_entry(tree, index) for index in range(rng.randint(4, 16))]
    groups = [
        {"type": "search_result_group", "domain": entry["attribution"], "entries": entries[index : index + 2]}
        for index, entry in enumerate(entries)
        if index % 2 == 0
    ]
    thread = {"search_result_groups": groups, "debug_sonic_thread_id": f"thread_{rng.getrandbits(128):032x}"}
    tree.add(answerer, text(""), tree.answered(thread), end_turn=False)
    return _cited(tree, entries, groups)


def _cited(tree: Tree, entries: list[Record], groups: list[Record]) -> tuple[str, Record]:
    answer, references = "", []
    for _ in range(tree.rng.randint(1, 6)):
        answer += f"{tree.prose.paragraph(tree.rng.randint(1, 5))} "
        cited = [tree.rng.choice(entries) for _ in range(tree.rng.randint(1, 3))]
        marker = "\ue202".join(["\ue200cite", *(f"turn0search{entry['ref_id']['ref_index']}" for entry in cited)])
        marker += "\ue201"
        references.append(_reference(marker, len(answer), cited))
        answer += f"{marker}\n\n"
    answer = answer.rstrip()
    sources = [{name: entry[name] for name in ("title", "url", "attribution")} for entry in entries[:3]]
    urls = [entry["url"] for entry in entries]
    # Past the end on purpose: so do the real ones.
    footnote = {"matched_text": " ", "start_idx": len(answer), "end_idx": len(answer), "safe_urls": [], "refs": []}
    footnote |= {"alt": "", "prompt_text": None, "type": "sources_footnote", "sources": sources, "has_images": False}
    own = {"content_references": [*references, footnote], "safe_urls": urls, "search_result_groups": groups}
    return answer, own


def _entry(tree: Tree, index: int) -> Record:
    prose = tree.prose
    domain = f"{prose.word()}.{prose.word()}.example"
    return {
        "type": "search_result",
        "url": f"https://{domain}/{prose.word()}/{prose.word()}-{prose.word()}-{prose.word()}",
        "title": prose.sentence(),
        "snippet": prose.paragraph(2),
        "ref_id": {"turn_index": 0, "ref_type": "search", "ref_index": index},
        "pub_date": None,
        "attribution": domain,
    }


def _reference(marker: str, start: int, cited: list[Record]) -> Record:
    first = cited[0]
    shown = ("title", "url", "pub_date", "snippet")
    website = {name: first[name] for name in shown} | {"attribution_segments": None}
    supporting = [{name: entry[name] for name in (*shown, "attribution")} for entry in cited[1:]]
    website |= {"supporting_websites": supporting, "refs": [entry["ref_id"] for entry in cited]}
    website |= {"hue": None, "attributions": None, "attribution": first["attribution"]}
    return {
        "matched_text": marker,
        "start_idx": start,
        "end_idx": start + len(marker),
        "safe_urls": [entry["url"] for entry in cited],
        "refs": [],
        "alt": f"([{first['title']}]({first['url']}))",
        "prompt_text": None,
        "type": "grouped_webpages",
        "items": [website],
        "fallback_items": None,
        "status": "done",
        "error": None,
        "style": None,
    }


def _browse(tree: Tree) -> tuple[str, Record]:
    """The browser of 2024: results as one text, pages quoted in messages of their own, footnotes in the answer."""
    prose, rng = tree.prose, tree.rng
    query = prose.sentence()
    call(tree, "browser", code(f"search({json.dumps(query)})"))
    entries = [_entry(tree, index) for index in range(rng.randint(3, 12))]
    pages = [
        {"type": "webpage", "title": entry["title"], "url": entry["url"], "text": entry["snippet"]}
        | {"pub_date": None, "extra": None}
        for entry in entries
    ]
    found = "\n".join(
        f"# 【{number}†{page['title']}†{entry['attribution']}】\n{page['text']}"
        for number, (page, entry) in enumerate(zip(pages, entries, strict=True))
    )
    display = {"content_type": "tether_browsing_display", "result": found, "summary": None, "assets": []}
    _browsed(tree, display | {"tether_id": None}, pages, "search", [query])
    call(tree, "browser", code("mclick([0, 1])"))
    for entry, page in zip(entries[:2], pages, strict=False):
        quote = {"content_type": "tether_quote", "url": entry["url"], "domain": entry["attribution"]}
        quote |= {"text": prose.paragraph(rng.randint(5, 60)), "title": entry["title"], "tether_id": None}
        _browsed(tree, quote, [page | {"text": quote["text"]}], "mclick", ["[0, 1]"])
    answer, citations = "", []
    for number, page in enumerate(pages[: rng.randint(1, 4)]):
        answer += prose.paragraph(rng.randint(1, 6))
        marker = f"【{number}†source】"
        extra = {"cited_message_idx": 3, "search_result_idx": number, "evidence_text": "source"}
        place = {"start_ix": len(answer), "end_ix": len(answer) + len(marker)}
        citations.append(FOOTNOTE | place | {"metadata": page | {"extra": extra}})
        answer += f"{marker}\n\n"
    return answer.rstrip(), {"citations": citations}


def _browsed(tree: Tree, content: Record, pages: list[Record], command: str, arguments: list[str]) -> None:
    cited = {"citation_format": {"name": "tether_og"}, "metadata_list": pages, "original_query": None}
    own = {"_cite_metadata": cited, "command": command, "args": arguments, "status": "finished"}
    tree.add(author("tool", "browser"), content, tree.answered(own | {"is_complete": True}), weight=0.0)


def write_canvas(tree: Tree) -> None:
    prose, rng = tree.prose, tree.rng
    title, textdoc_id = prose.sentence()[:40], f"{rng.getrandbits(128):032x}"
    document = {"name": title, "type": "document", "content": prose.markdown(rng.randint(10, 120))}
    # Which of the two spells the call depends on the day.
    spelled = code(json.dumps(document), "json") if rng.random() < 0.3 else text(json.dumps(document))
    call(tree, "canmore.create_textdoc", spelled)
    canvas = {"textdoc_id": textdoc_id, "textdoc_type": "document", "version": 1, "title": title}
    own = {"canvas": canvas | {"create_source": "model"}, "command": "create_textdoc"}
    said = text(f"Successfully created text document '{title}' with textdoc_id '{textdoc_id}'")
    tree.add(author("tool", "canmore.create_textdoc"), said, tree.answered(own), weight=0.0)


def remember(tree: Tree) -> None:
    call(tree, "bio", text(tree.prose.sentence()))
    tree.add(author("tool", "bio"), text("Model set context updated."), tree.answered({}), recipient="assistant")


def draw_image(tree: Tree, pointer: str) -> None:
    prompt = {"prompt": tree.prose.paragraph(4), "size": "1536x1024", "n": 1}
    call(tree, "t2uay3k.sj1i4kz", text(json.dumps(prompt)))
    title = tree.prose.sentence()
    task = {"async_task_id": f"imagegen_{tree.rng.getrandbits(128):032x}", "async_task_title": title}
    own = task | {"async_task_type": "image_gen", "image_gen_title": title}
    content = {"content_type": "multimodal_text", "parts": [image_part(pointer, tree.prose.uuid())]}
    tree.add(author("tool", "t2uay3k.sj1i4kz"), content, tree.answered(own), weight=0.0, is_timed=False)


def image_part(pointer: str, generation_id: str = "") -> Record:
    part = {"content_type": "image_asset_pointer", "asset_pointer": pointer, "size_bytes": 138_558, "width": 1536}
    part |= {"height": 1024, "fovea": None, "metadata": None}
    if generation_id:
        origin = {"gen_id": generation_id, "seed": None, "parent_gen_id": None}
        part["metadata"] = {
            "dalle": origin | {"prompt": "", "edit_op": None, "serialization_title": "DALL-E generation metadata"},
            "gizmo": None,
            "generation": origin | {"gen_size": "xlimage", "height": 1024, "width": 1536, "orientation": "landscape"},
            "container_pixel_height": 1024,
            "container_pixel_width": 1536,
            **IMAGE_NULLS,
            "sanitized": False,
            "asset_pointer_link": None,
            "watermarked_asset_pointer": None,
            "is_no_auth_placeholder": None,
        }
    return part
