"""The command line: parses words, calls one function, prints."""
