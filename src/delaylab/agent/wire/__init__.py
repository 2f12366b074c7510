"""Types of the agent's messages, generated from the schema that the agent prints."""
