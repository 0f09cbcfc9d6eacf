"""Experiments: the tables and figures of the papers, and the coverage study, one package each.

Each experiment has ``run(...)``, which returns a frozen result with ``to_dict()``, and
``write(result, folder)``, which writes its tables and figures and returns the files.
"""
