"""DeepInfer Desktop: converts community checkpoints offline and chats on small machines."""

__version__ = "0.1.0"
