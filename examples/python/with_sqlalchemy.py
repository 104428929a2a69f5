"""The application of app.py with SQLAlchemy. The arguments are the same; each shard is a `postgres://` URL."""

import sys

from app import main, place
from shardwright import Map, Options
from shardwright.sqlalchemy import ShardEngines
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    tenant_id: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str]


ENGINES: list[ShardEngines] = []


def connect(controllers: str, name: str, shards: dict[str, str], options: Options) -> Map:
    map = Map.connect(controllers, name, {}, options)
    urls = {shard: url.replace("postgres://", "postgresql+psycopg://") for shard, url in shards.items()}
    ENGINES.append(ShardEngines(map, urls.get))
    return map


def place_order(map: Map, tenant: int, number: int) -> None:
    def insert(session: Session) -> None:
        session.add(Order(tenant_id=tenant, id=number, note="python"))

    def exists(session: Session) -> bool:
        return session.get(Order, (tenant, number)) is not None

    place(lambda work: ENGINES[0].with_session(tenant, work), insert, exists)


if __name__ == "__main__":
    sys.exit(main(place_order, connect, 5_000_000))
