"""What the commands share. Not a command itself."""
