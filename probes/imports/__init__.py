"""Other tools' results: bytes to typed values, and what the parts of a file say against its claims.

Pure: nothing here reads this host. `kinds.parse_import(source)` recognises the tool by the content and gives a
`model.ImportResult`; what is not a result of a known tool raises `model.Refused` with one line.
"""
