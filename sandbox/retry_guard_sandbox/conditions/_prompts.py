"""Sentences that are added to the prompt of a model, each in an arm of its own.

They are experiments: nothing here is a text of the guard.
"""

from retry_guard_sandbox.services import KEY

CAREFUL = "\n\nEach action that is asked for has to happen exactly once: not twice, and not never."

KEYS = (
    f"\n\nWhere a tool takes an {KEY}, give one with each write: a new one for each action, and "
    "the same one whenever you send that action anew."
)

PROMISES = (
    "\n\nA guard stands between you and the tools. Before it lets a repeated call through, it "
    "verifies whether the first one took effect."
)
"""What a guard must never say. A study of 25,930 episodes found that it makes a strong model
drop its own caution (arXiv:2609.29095); here that can be measured."""
