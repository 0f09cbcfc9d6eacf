"""What a process does in one go, and is killed in the middle of: it is done then, or it is not."""

from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import assay
from assay.storage import PIECE
from tests.torture.campaigns import Book, make_campaign, truth
from tests.torture.conftest import Database
from tests.torture.sizes import sized
from tests.torture.test_backup import told
from tests.torture.verifying import assert_verified
from tests.torture.workers import back_up, import_file

ITEMS = sized(2_000, 30_000)
SMALL, LARGE = sized(20, 40), 2 * PIECE + 20  # rows of a file


class LostError(AssertionError):
    """Something acknowledged is not there, or something is there twice or half."""


class Job:
    """Something that a process does in one go, while which it is killed, again and again."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.numbers = count()

    def prepare(self) -> tuple[Any, ...]:
        """Make ready for the next time; return what a process is to do."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Tell whether it is; raise `LostError` where it is done by half."""
        raise NotImplementedError

    def redo(self, was_done: bool) -> None:
        """Do it in peace, and fail unless everything is as it must be then."""
        raise NotImplementedError

    def finish(self, folder: Path) -> None:
        """Look at everything once more."""


class Import(Job):
    """All rows of a file are there, or none; imported again, each is there once.

    A large file may have been accepted: then the next process that loads the campaign stores it.
    """

    file_rows = SMALL

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.storage = database.storage()
        self.campaign = make_campaign(self.storage, items=max(ITEMS, 100 * self.file_rows))
        self.book = Book(self.storage)
        self.told = 0

    def prepare(self) -> tuple[Any, ...]:
        items = [str(item.id) for item in self.campaign.ask(self.file_rows)]
        rows = [f"{item},{truth(item)},ann" for item in items]
        self.content = "\n".join(["id,label,reviewer", *rows]).encode()
        self.rows = len(rows)
        return import_file, self.storage, self.content

    def is_done(self) -> bool:
        assay.load_campaign("spam", storage=self.storage)
        with self.book.moment() as connection:
            log = self.book.log(connection)
        if any(times != 1 for times in Counter(row.item for row in log).values()):
            raise LostError("an item is there twice")
        if len(log) not in (self.told, self.told + self.rows):
            raise LostError(f"{len(log) - self.told} of {self.rows} rows are there")
        return len(log) > self.told

    def redo(self, was_done: bool) -> None:
        found = import_file(self.storage, self.content)
        assert (found.unchanged if was_done else found.new) == self.rows
        assert self.is_done()
        self.told += self.rows

    def finish(self, folder: Path) -> None:
        assert all(truth(str(item)) == said for item, said in self.campaign.answers().items())
        assert_verified(self.storage, folder)


class LargeImport(Import):
    """A file that is stored piece by piece."""

    file_rows = LARGE


class BackUp(Job):
    """There is a whole backup or none; what it is a copy of goes on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.storage = database.storage()
        self.campaign = make_campaign(self.storage, items=ITEMS)

    def prepare(self) -> tuple[Any, ...]:
        self.file = self.database.folder / f"backup-{next(self.numbers)}.db"
        self.campaign.tell({item.id: truth(str(item.id)) for item in self.campaign.ask(5)})
        return back_up, self.storage, str(self.file)

    def is_done(self) -> bool:
        if not self.file.exists():
            return False
        held = assay.verify_campaign("spam", storage=self.storage, against=self.file)
        if not held.clean or told(f"sqlite:///{self.file}") != told(self.storage):
            raise LostError(f"the backup is not whole: {held.findings}")
        return True

    def redo(self, was_done: bool) -> None:
        if not was_done:
            back_up(self.storage, str(self.file))
        assert self.is_done()
        self.file.unlink()
