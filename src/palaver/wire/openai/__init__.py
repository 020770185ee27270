"""Formats of the OpenAI API: Chat Completions and Responses."""
