"""See parallel_state."""
