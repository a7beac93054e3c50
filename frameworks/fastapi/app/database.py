"""`/async-db`: items of a range of prices, from PostgreSQL."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from fastapi import APIRouter, FastAPI, Request

from .config import DATABASE_URL, POOL_SIZE
from .models import Item, ItemList, Rating

router = APIRouter()

TEXT = """SELECT id, name, category, price, quantity, active, tags,
    rating_score, rating_count
    FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3"""
LARGEST = 2**31 - 1


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The pool connects when it is asked: a database may come later."""
    app.state.pool = None
    if DATABASE_URL:
        app.state.pool = await asyncpg.create_pool(
            DATABASE_URL, min_size=0, max_size=POOL_SIZE, init=read_json
        )
    yield


async def read_json(connection: asyncpg.Connection) -> None:
    await connection.set_type_codec(
        "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
    )


@router.get("/async-db")
async def find(
    request: Request, min: int = 10, max: int = 50, limit: int = 50
) -> ItemList:
    pool = request.app.state.pool
    rows = []
    if pool:
        limits = held(min), held(max), held(limit, 1, 50)
        try:
            rows = await pool.fetch(TEXT, *limits)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            logging.getLogger("uvicorn.error").warning("database: %s", error)
    items = [item(*row.values()) for row in rows]
    return ItemList.model_construct(items=items, count=len(items))


def held(value: int, least: int = -LARGEST, most: int = LARGEST) -> int:
    return least if value < least else most if value > most else value


def item(
    id: int, name: str, category: str, price: int, quantity: int,
    active: bool, tags: list[str], score: int, count: int,
) -> Item:
    return Item.model_construct(
        id=id, name=name, category=category, price=price, quantity=quantity,
        active=active, tags=tags,
        rating=Rating.model_construct(score=score, count=count),
    )
