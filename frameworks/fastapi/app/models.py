"""What is answered; Pydantic writes it without a detour over Python."""

from pydantic import BaseModel


class Rating(BaseModel):
    score: int
    count: int


class Item(BaseModel):
    id: int
    name: str
    category: str
    price: int
    quantity: int
    active: bool
    tags: list[str]
    rating: Rating


class ItemList(BaseModel):
    items: list[Item]
    count: int


class ListedItem(Item):
    total: int


class Listing(BaseModel):
    items: list[ListedItem]
    count: int
