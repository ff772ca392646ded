"""Inside engines that serve many requests: one matcher for each, one backend for all."""
