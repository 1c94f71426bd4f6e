"""Judging a log that grows: what is new goes into kept states, once each, whatever is killed."""
