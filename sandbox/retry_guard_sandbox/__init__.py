"""A fault sandbox: services, faults and a ledger of the effects that really happened."""
