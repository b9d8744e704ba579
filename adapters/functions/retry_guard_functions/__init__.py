"""Tools that are Python functions, and their guarded calls: what adapters of model APIs share."""
