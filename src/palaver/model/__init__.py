"""The conversation format: its models, its published schemas, and helpers that build and normalise plain documents.

Only `blocks`, `conversation`, `exchange`, `cooked`, `usage` and the modules of `json_output` import pydantic. All other
modules are light, because most commands import them at start-up.
"""

SCHEMA_VERSION = "1.0.0"
EXCHANGE_SCHEMA_VERSION = "1.1.0"
