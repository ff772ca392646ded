"""What people look at: the command line, pictures, the playground, evaluation."""
