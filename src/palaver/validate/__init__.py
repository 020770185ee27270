"""Judging documents: the published JSON Schema, rules, levels, the report.

`palaver.validate` is this room, and it is also what users of the library call. Whichever of the two Python finds under
that name, `palaver.validate(conversation)` judges.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from palaver.library import validate

        return validate(*arguments, **named)


sys.modules[__name__].__class__ = _CallableRoom
