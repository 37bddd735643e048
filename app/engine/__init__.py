"""One plain thread that owns a model: requests in, typed events out."""
