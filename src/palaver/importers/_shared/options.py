"""The options of an importer, in a module of their own because only they need pydantic."""

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """An importer's options: `-O key=value` on the command line. This one has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
