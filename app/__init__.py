"""DeepInfer Desktop: converts community checkpoints offline and chats with them on small machines."""

__version__ = "0.1.0"
