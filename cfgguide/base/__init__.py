"""What knows nothing of grammars or texts: limits, locks, files, caches, bounded memories."""
