"""See parallel_state and runtime_context."""
