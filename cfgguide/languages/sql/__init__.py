"""SQL that knows a schema: a front end beside the engine."""
