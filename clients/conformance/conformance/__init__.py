"""The conformance suite of the client libraries."""
