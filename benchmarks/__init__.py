"""What the program costs: each module prints one JSON document; `table` puts them into README."""
