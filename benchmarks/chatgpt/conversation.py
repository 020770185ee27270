"""One conversation, grown turn by turn: a prompt, what the model does about it, an answer, at times a second try."""

from chatgpt.members import Asset
from chatgpt.messages import Era, Record, Tree, author, text
from chatgpt.tools import draw_image, image_part, remember, run_python, search_web, write_canvas
from prose import Prose

# Shares of the turns, in percent, after the counts of content types in a large archive.
TURNS = {"plain": 83, "web": 6, "python": 4, "photo": 3, "canvas": 2, "drawing": 1, "memory": 1}
BRANCHED_SHARE = 0.05


class Conversation:
    def __init__(self, era: Era, prose: Prose, assets: list[Asset]) -> None:
        self.era, self.prose, self.rng, self.assets = era, prose, prose.rng, assets
        self.tree = Tree(era, prose)
        self.begun_s = self.tree.now_s
        self.tree.hide(text(""), {}, is_timed=False)
        if self.rng.random() < 0.4:
            self._instruct()

    def fill(self, turns: int) -> None:
        retried: set[int] = set()
        if self.rng.random() < BRANCHED_SHARE:
            retried = {self.rng.randrange(turns) for _ in range(self.rng.choice((1, 1, 2, 3)))}
        for turn, kind in enumerate(self.rng.choices(list(TURNS), list(TURNS.values()), k=turns)):
            parent = self.tree.leaf
            self._prompt(kind)
            prompt = self.tree.leaf
            self._answer(kind)
            if turn in retried:
                self._retry(parent, prompt)

    def record(self) -> Record:
        rng, tree = self.rng, self.tree
        conversation_id = self.prose.uuid()
        is_project = rng.random() < 0.1
        return {
            "title": self.prose.sentence()[:60].rstrip(".:"),
            "create_time": round(self.begun_s, 6),
            "update_time": round(tree.now_s, 6),
            "mapping": tree.nodes,
            "moderation_results": [],
            "current_node": tree.leaf,
            "plugin_ids": None,
            "conversation_id": conversation_id,
            "conversation_template_id": f"g-p-{conversation_id[:8]}" if is_project else None,
            "gizmo_id": f"g-p-{conversation_id[:8]}" if is_project else None,
            "gizmo_type": "snorlax" if is_project else None,
            "is_archived": rng.random() < 0.05,
            "is_starred": None,
            "safe_urls": [],
            "blocked_urls": [],
            "default_model_slug": self.era.default_model,
            "conversation_origin": None,
            "is_read_only": None,
            "voice": None,
            "async_status": None,
            "disabled_tool_ids": [],
            "is_do_not_remember": False,
            "memory_scope": "project_enabled" if is_project else "global_enabled",
            "context_scopes": None,
            "sugar_item_id": None,
            "sugar_item_visible": False,
            "pinned_time": None,
            "is_study_mode": False,
            "owner": None,
            "id": conversation_id,
        }

    def _instruct(self) -> None:
        profile, wishes = self.prose.paragraph(3), self.prose.paragraph(6)
        content = {"content_type": "user_editable_context", "user_profile": profile, "user_instructions": wishes}
        told = {"about_user_message": profile, "about_model_message": wishes}
        metadata = {"is_user_system_message": True, "user_context_message_data": told}
        self.tree.hide(content, metadata, "user", is_timed=False)

    def _prompt(self, kind: str) -> None:
        prose, rng = self.prose, self.rng
        self.tree.begin_turn()
        words = prose.paragraph(min(300, 1 + int(rng.lognormvariate(0.9, 1.1))))
        if rng.random() < 0.06:
            words += "\n\n```\n" + "\n".join(prose.code(rng.randint(5, 150))) + "\n```"
        if kind == "photo":
            self._show_photo(words)
            return
        own: Record = {}
        if self.era.is_late and rng.random() < 0.15:
            own = {"turn_summary": prose.paragraph(rng.randint(4, 12)), "summarized_turn_messages": [self.tree.leaf]}
        self.tree.add(author("user"), text(words), self.tree.asked(own))

    def _show_photo(self, words: str) -> None:
        asset = self.rng.choice(self.assets)
        content = {"content_type": "multimodal_text", "parts": [image_part(asset.pointer), words]}
        size = {"size": 138_558, "width": 1536, "height": 1024}
        attached = {"id": asset.id, "name": asset.name, "mime_type": "image/png", **size}
        self.tree.add(author("user"), content, self.tree.asked({"attachments": [attached]}))

    def _answer(self, kind: str) -> None:
        tree, rng = self.tree, self.rng
        if rng.random() < 0.05:
            tree.model = rng.choice(self.era.models)
        if self.era.is_late:
            self._lead_in()
        own: Record = {}
        words = ""
        match kind:
            case "web":
                words, own = search_web(tree)
            case "python":
                run_python(tree)
            case "canvas":
                write_canvas(tree)
            case "drawing":
                draw_image(tree, rng.choice(self.assets).pointer)
            case "memory":
                remember(tree)
        words = words or self.prose.markdown(min(400, 1 + int(rng.lognormvariate(2.5, 0.85))))
        tree.add(author("assistant"), text(words), tree.finished(**own), channel="final", end_turn=True)
        tree.now_s += 9

    def _lead_in(self) -> None:
        tree, rng, prose = self.tree, self.rng, self.prose
        if rng.random() < 0.4:
            tree.hide(text(""), tree.answered({"rebase_developer_message": True}))
        if rng.random() < 0.75:
            return
        chunks = [prose.paragraph(rng.randint(1, 3)) for _ in range(rng.randint(0, 6))]
        thought = {"summary": prose.sentence(), "content": "\n".join(chunks), "chunks": chunks, "finished": True}
        content = {"content_type": "thoughts", "thoughts": [thought] if chunks else []}
        content["source_analysis_msg_id"] = prose.uuid()
        own: Record = {"reasoning_status": "is_reasoning", "citations": [], "content_references": []}
        own |= {"classifier_response": "default", "skip_reasoning_title": "Skip"}
        tree.add(author("assistant"), content, tree.answered(own), end_turn=False)
        seconds = rng.randint(2, 90)
        recap = {"content_type": "reasoning_recap", "content": f"Thought for {seconds} seconds"}
        own = {"reasoning_status": "reasoning_ended", "finished_duration_sec": seconds}
        tree.add(author("assistant"), recap, tree.answered(own), end_turn=False)

    def _retry(self, parent: str, prompt: str) -> None:
        """An edited prompt is another child of its parent; an answer made anew another child of its prompt."""
        if self.rng.random() < 0.5:
            for _ in range(self.rng.choice((1, 1, 1, 2, 4))):
                self.tree.leaf = parent
                self._prompt("plain")
                self._answer("plain")
        else:
            self.tree.message_type = "variant"
            for _ in range(self.rng.choice((1, 1, 2))):
                self.tree.leaf = prompt
                self._answer("plain")
            self.tree.message_type = "next"
