"""The papers' tables and figures made again, one file a paper.

Each experiment has ``run(...)``, which returns a frozen result with ``to_dict()``, and
``write(result, folder)``, which writes its tables and figures and returns the files.
"""
