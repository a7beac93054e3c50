"""The application."""

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles

from . import database, listings, sums, uploads
from .config import STATIC_DIR
from .versions import OnlyHttp1

app = FastAPI(lifespan=database.lifespan, openapi_url=None)
app.add_middleware(OnlyHttp1)
app.include_router(sums.router)
app.include_router(listings.router)
app.include_router(uploads.router)
app.include_router(database.router)
app.mount("/static", StaticFiles(directory=STATIC_DIR, check_dir=False))


@app.exception_handler(RequestValidationError)
async def refused(request: Request, error: RequestValidationError) -> PlainTextResponse:
    """A parameter that does not fit is 400 here, not FastAPI's 422."""
    return PlainTextResponse("bad request", status_code=400)


@app.get("/pipeline", response_class=PlainTextResponse)
async def pipeline() -> str:
    return "ok"


@app.websocket("/ws")
async def echo(socket: WebSocket) -> None:
    await socket.accept()
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if (text := message.get("text")) is not None:
            await socket.send_text(text)
        else:
            await socket.send_bytes(message["bytes"])
