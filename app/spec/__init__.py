"""What a checkpoint computes: config -> adapter -> one frozen ModelSpec."""
