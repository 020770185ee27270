"""The Dockerfile, read: what it copies is there, what it runs as, and where the archive is."""

import re
import shlex
import tomllib

from building import CHECKOUT

DOCKERFILE = (CHECKOUT / "Dockerfile").read_text("utf-8")
IGNORED = (CHECKOUT / ".dockerignore").read_text("utf-8").splitlines()
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "VOLUME", "USER", "ENTRYPOINT", "CMD"}


def instructions():
    text = "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def stages():
    found = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def test_every_instruction_is_one():
    assert {name for name, _ in instructions()} == KNOWN


def test_the_stages_start_from_the_plain_image_of_python():
    assert [stage[0][1] for stage in stages()] == ["python:3.13-slim AS build", "python:3.13-slim"]
    versions = re.findall(r"Python :: (3\.\d+)\"", (CHECKOUT / "pyproject.toml").read_text("utf-8"))
    assert "3.13" in versions


def test_everything_that_is_copied_exists_and_is_not_ignored():
    copied = [source for name, rest in stages()[0] if name == "COPY" for source in rest.split()[:-1]]
    assert len(copied) > 5
    kept = {line[1:] for line in IGNORED if line.startswith("!")}
    for source in copied:
        assert (CHECKOUT / source).exists(), source
        assert source in kept, f"{source} does not get past .dockerignore"


def test_the_build_has_all_that_the_project_names():
    build = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    wheel = build["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [build["project"]["readme"], *build["project"]["license-files"], *wheel["packages"]]
    needed += [*wheel["force-include"], *wheel["shared-data"]]
    copied = " ".join(rest for name, rest in stages()[0] if name == "COPY").split()
    for path in needed:
        assert any(path == source or path.startswith(f"{source}/") for source in copied), path


def test_it_runs_without_privileges_on_a_volume():
    last = stages()[-1]
    values = dict(last)
    assert shlex.split(values["USER"]) == ["palaver"]
    assert values["VOLUME"] == "/data"
    assert values["ENTRYPOINT"] == '["palaver"]'
    assert "PALAVER_HOME=/data" in values["ENV"]
    order = [name for name, _ in last]
    assert order.index("RUN") < order.index("USER"), "the user has to be made first"
    assert "chown palaver:palaver /data" in values["RUN"]
    assert order.index("VOLUME") > order.index("RUN"), "what is changed in a volume after its declaration is lost"


def test_the_page_mounts_what_it_reads_read_only():
    page = (CHECKOUT / "docs" / "docker.md").read_text("utf-8")
    mounts = re.findall(r"--volume (\S+)", page)
    assert len(mounts) > 4
    assert all(mount.endswith((":ro", ":/data")) for mount in mounts)
