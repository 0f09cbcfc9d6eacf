"""The web page: reviewers judge items in a browser, and the owner watches the estimate.

Nothing here is imported by the library; it needs the packages of the extra ``assay[web]``.
"""
