"""Claude Code session trees: lines spelled as versions 2.1.x spell them, mixed as they were counted in real sessions.

    <projects>/<encoded folder>/<uuid>.jsonl                             a session
    <projects>/<encoded folder>/<uuid>/subagents/agent-<id>.jsonl        an agent it started
    <projects>/<encoded folder>/<uuid>/subagents/agent-<id>.meta.json    its side file, in later versions

Session sizes are log-normal, from a few KB to several MB; one in twenty begins as the copy of another.
"""

from pathlib import Path

from claude_code.lines import ERAS, TOKEN_FIELDS, Truth
from claude_code.session import Session, new_session, session_of
from prose import Prose

__all__ = ["TOKEN_FIELDS", "generate_single", "generate_tree"]

MEAN_SESSION_BYTES = 600_000
SMALLEST_SESSION_BYTES = 3_000


def generate_tree(projects: Path, megabytes: float, sessions: int | None, prose: Prose) -> Truth:
    truth, rng = Truth(), prose.rng
    wanted = int(megabytes * 1_000_000)
    shares = [rng.lognormvariate(0, 1.5) for _ in range(sessions or max(1, wanted // MEAN_SESSION_BYTES))]
    folders = [_working_folder(prose, number) for number in range(1 + len(shares) // 12)]
    shares_left = sum(shares)
    earlier: Session | None = None
    for share in shares:
        # What one session overshot, the following ones make up for.
        target = max(SMALLEST_SESSION_BYTES, int((wanted - truth.bytes) * share / shares_left))
        shares_left -= share
        session = new_session(projects, rng.choice(folders), prose, truth)
        with session.lines.opened():
            if earlier is not None and rng.random() < 0.05:
                session.replay(earlier)
            session.fill(target)
        earlier = session
    return truth


def generate_single(projects: Path, megabytes: float, prose: Prose) -> Truth:
    truth = Truth()
    session = session_of(ERAS[0], projects, _working_folder(prose, 0), prose, truth, has_hooks=True)
    session.may_start_agents = False
    with session.lines.opened():
        session.fill(int(megabytes * 1_000_000))
    return truth


def _working_folder(prose: Prose, number: int) -> str:
    name = prose.sentence().split(" ")[-1] if prose.is_unicode else prose.word()
    return f"/home/dev/{prose.rng.choice(['projects', 'work', 'src'])}/{prose.word()}.{name}-{number}"
