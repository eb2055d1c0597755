"""What the formats for human readers share: escaping, visual width, colour, excerpts. Knows nothing of commands."""
