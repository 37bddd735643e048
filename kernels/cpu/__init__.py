"""Native SIMD kernels for machines without a card."""
