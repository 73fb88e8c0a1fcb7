"""Events, and what renders them: a terminal, a JSON-lines file, a report."""
