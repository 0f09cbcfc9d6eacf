"""Tags that an owner gives to items, to sort what went wrong; they change no number."""

import sqlalchemy as sa

from assay.storage.campaigns import Connected

# By the campaign's name, as tokens are, because a rebased campaign has a new number. The table has
# its own metadata because it is created with the first tag: storages without one stay as they are.
_tag = sa.Table(
    "item_tag",
    sa.MetaData(),
    *(sa.Column(name, sa.String, primary_key=True) for name in ("campaign", "item_id", "tag")),
)


class Tags(Connected):
    """Tags of a campaign's items."""

    def tags(self, campaign: str) -> dict[str, tuple[str, ...]]:
        """Tags of each item that has some, in alphabetical order."""
        tags: dict[str, tuple[str, ...]] = {}
        if self._has_tags:
            query = sa.select(_tag.c.item_id, _tag.c.tag).where(_tag.c.campaign == campaign)
            for item, tag in sorted(map(tuple, self._connection.execute(query))):
                tags[item] = (*tags.get(item, ()), tag)
        return tags

    def set_tags(self, campaign: str, item: str, tags: list[str]) -> None:
        """Give an item these tags, and no others."""
        _tag.create(self._connection, checkfirst=True)
        of_item = (_tag.c.campaign == campaign) & (_tag.c.item_id == item)
        self._connection.execute(_tag.delete().where(of_item))
        if tags:
            same = {"campaign": campaign, "item_id": item}
            self._connection.execute(_tag.insert(), [{**same, "tag": tag} for tag in tags])

    def rename_tags(self, campaign: str, new: str) -> None:
        """Let the tags of a campaign follow its new name."""
        if self._has_tags:
            renamed = _tag.update().where(_tag.c.campaign == campaign).values(campaign=new)
            self._connection.execute(renamed)

    def delete_tags(self, campaign: str) -> None:
        """Delete the tags of a campaign."""
        if self._has_tags:
            self._connection.execute(_tag.delete().where(_tag.c.campaign == campaign))

    @property
    def _has_tags(self) -> bool:
        place = self._connection.schema_for_object(_tag)
        return sa.inspect(self._connection).has_table(_tag.name, schema=place)
