"""Costs."""


def main(*, record: bool) -> int:
    return int(record)
