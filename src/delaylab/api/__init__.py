"""The laboratory for other programs: all that they may import of it (docs/api.md).

`labs`, `loading`, `maps` and `pings` are what `import delaylab` has. Each other module has the
names of one subject, for packages that build on the laboratory, such as that of studies.
"""
