"""`/baseline11`: the sum of two parameters and, for POST, of the body."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import PlainTextResponse

router = APIRouter(default_response_class=PlainTextResponse)

LEAST, MOST = -(2**63), 2**63 - 1


@router.get("/baseline11")
@router.head("/baseline11")
async def get(a: int, b: int) -> str:
    return total(a, b)


@router.post("/baseline11")
async def post(a: int, b: int, request: Request) -> str:
    try:
        third = int(await request.body())
    except ValueError:
        raise HTTPException(400) from None
    return total(a, b, third)


def total(*terms: int) -> str:
    """Python's integers have no end, so 64 bits are looked at here."""
    result = sum(terms)
    if not all(LEAST <= number <= MOST for number in (*terms, result)):
        raise HTTPException(400)
    return str(result)
