"""`/upload`: counts the bytes of a body and keeps none."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import PlainTextResponse

router = APIRouter(default_response_class=PlainTextResponse)

# The contract's headroom.
LARGEST = 25 << 20


@router.post("/upload")
async def upload(request: Request) -> str:
    if int(request.headers.get("content-length", 0)) > LARGEST:
        raise HTTPException(413, headers={"connection": "close"})
    seen = 0
    async for piece in request.stream():
        seen += len(piece)
        if seen > LARGEST:
            raise HTTPException(413, headers={"connection": "close"})
    return str(seen)
