"""The application of app.py with Django. The arguments are the same; each shard is a `postgres://` URL."""

import sys
from typing import Any
from urllib.parse import urlsplit

import django
from app import main, place
from django.conf import settings
from django.db import models
from shardwright import Map, Options
from shardwright.django import current_map, with_shard

MODELS: dict[str, Any] = {}


def connect(controllers: str, name: str, shards: dict[str, str], options: Options) -> Map:
    settings.configure(
        DATABASES={"default": {}} | {shard: database_of(url) for shard, url in shards.items()},
        DATABASE_ROUTERS=["shardwright.django.ShardRouter"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        SHARDWRIGHT={
            "CONTROLLERS": controllers,
            "MAP": name,
            "ALIASES": {shard: shard for shard in shards},
            "OPTIONS": {"token_file": options.token_file},
        },
    )
    django.setup()

    class Order(models.Model):
        id = models.BigIntegerField(primary_key=True)
        tenant_id = models.BigIntegerField()
        note = models.TextField()

        class Meta:
            app_label = "shop"
            db_table = "orders"

    MODELS["order"] = Order
    return current_map()


def database_of(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": parts.hostname,
        "PORT": parts.port,
        "NAME": parts.path.removeprefix("/"),
        "USER": parts.username,
        "PASSWORD": parts.password,
    }


def place_order(map: Map, tenant: int, number: int) -> None:
    def insert(alias: str) -> None:
        MODELS["order"].objects.using(alias).create(tenant_id=tenant, id=number, note="python")

    def exists(alias: str) -> bool:
        return bool(MODELS["order"].objects.using(alias).filter(tenant_id=tenant, id=number).exists())

    place(lambda work: with_shard(tenant, work), insert, exists)


if __name__ == "__main__":
    sys.exit(main(place_order, connect, 6_000_000))
