"""The retry guard in the OpenAI Agents SDK."""
