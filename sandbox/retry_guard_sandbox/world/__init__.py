"""The world of an episode: time, chance, network, faults, and the effects that really happened."""
