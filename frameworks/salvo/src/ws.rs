//! `/ws`: every message comes back as it was.

use futures_util::{FutureExt, SinkExt, StreamExt};
use salvo::prelude::*;
use salvo::websocket::{Message, WebSocket, WebSocketUpgrade};

#[handler]
pub async fn upgrade(
    req: &mut Request,
    res: &mut Response,
) -> Result<(), StatusError> {
    WebSocketUpgrade::new().upgrade(req, res, echo).await
}

/// Echoes whatever has arrived before it flushes, so that a burst of messages
/// is answered by one write. An error is the end of the connection.
async fn echo(mut socket: WebSocket) {
    while let Some(Ok(first)) = socket.next().await {
        let mut next = Some(first);
        while let Some(message) = next {
            if is_content(&message) && socket.feed(message).await.is_err() {
                return;
            }
            next = match socket.next().now_or_never() {
                Some(Some(Ok(message))) => Some(message),
                Some(_) => return,
                None => None,
            };
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}

/// Pings and closes are answered by the library.
fn is_content(message: &Message) -> bool {
    message.is_text() || message.is_binary()
}
