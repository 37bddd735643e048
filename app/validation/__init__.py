"""The add-a-model procedure, automated: a source is compared with transformers and written up."""
