"""`/json/{count}`: the first items of the dataset, each with its total."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Path as PathParameter
from pydantic import TypeAdapter

from .config import DATASET_PATH
from .models import Item, ListedItem, Listing

DATASET = TypeAdapter(list[Item]).validate_json(Path(DATASET_PATH).read_bytes())

router = APIRouter()


@router.get("/json/{count}")
async def listing(
    count: Annotated[int, PathParameter(ge=0)], m: int = 1
) -> Listing:
    items = [
        ListedItem.model_construct(
            **item.__dict__, total=item.price * item.quantity * m
        )
        for item in DATASET[:count]
    ]
    return Listing.model_construct(items=items, count=len(items))
