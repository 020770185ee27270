"""What an importer can be told on the command line, apart from all else: only these need pydantic."""

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """An importer's options: `-O key=value` on the command line. This one has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
