"""Regular expressions of ECMA-262, which JSON Schema's patterns are."""
