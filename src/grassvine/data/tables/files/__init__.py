"""Tables in files: the content of a file, its format, and a reader of each format."""

from grassvine.data.tables.files.reader import Table, check_column_types, read_table

__all__ = ["Table", "check_column_types", "read_table"]
