"""Sampling, beam search and steering with any model that maps token ids to logits."""
