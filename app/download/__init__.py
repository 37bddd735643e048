"""Downloads: a verdict first, then bytes that arrive."""
