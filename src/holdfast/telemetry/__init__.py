"""Send what the logs of the ledgers hold to a collector of a team, as OTLP logs, in a process of its own."""
