"""The retry guard in a loop over Anthropic's Messages, and in its tool runner."""
