"""Conversations: the transcript and where it is kept."""
