"""The retry guard for users of Python: guards, policies, outcomes and typed errors."""
