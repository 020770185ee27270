"""What a conversation is: its models, its published schema, and how plain documents are built and normalised.

Nothing heavy is imported here: `blocks` and `conversation` need pydantic, every other module of this room does not.
"""

SCHEMA_VERSION = "1.0.0"
