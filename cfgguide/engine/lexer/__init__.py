"""The scanner: the union FSM of every set of terminals, and what it must look ahead for."""
