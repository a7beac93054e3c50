//! `/ws`: every message comes back as it was.

use axum::{
    extract::ws::{Message, WebSocket, WebSocketUpgrade},
    response::Response,
};
use futures_util::{FutureExt, SinkExt, StreamExt};

pub async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(echo)
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
    matches!(message, Message::Text(_) | Message::Binary(_))
}
