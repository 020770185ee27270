"""What a conversation is: its models, its published schema, and how plain documents are built and normalised.

Nothing heavy is imported here: the models (`blocks`, `conversation`, `exchange`, `cooked`, `usage`, `answers`) need
pydantic, no other module of this room does.
"""

SCHEMA_VERSION = "1.0.0"
