"""The rules: one folder each, in family folders, discovered and never listed by hand."""
