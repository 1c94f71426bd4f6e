"""Text of flat play logs: bytes into lines, a header into a layout, fields into values."""
