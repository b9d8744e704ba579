"""What is known of each tool: the contract schema, its sources, identity and evidence."""
