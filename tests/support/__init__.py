"""What tests share: oracles, judges, small grammars, vocabularies and models."""
