//! The echo: every message goes back as it came, and answers to messages that
//! arrived together are sent together.

use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use hyper::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        handshake::server::create_response_with_body,
        protocol::{Role, WebSocketConfig},
    },
};

use crate::reply::Reply;

/// Room for a message each way. A connection holds both for as long as it
/// lives, and there are sixteen thousand of them.
const BUFFER_BYTES: usize = 4096;

/// What waits at most for a client that does not read: no message is read
/// before the one before it is taken, so it is the last and a buffer.
const MESSAGE_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// The answer to the upgrade: 101, or `None` where it asks for no WebSocket.
pub fn upgrade<B>(request: &Request<B>) -> Option<Reply> {
    create_response_with_body(request, Default::default).ok()
}

/// Echoes until either side ends. `begun` is what came with the upgrade.
pub async fn echo<T>(stream: T, begun: Bytes)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_frame_size(Some(MESSAGE_LIMIT_BYTES))
        .max_message_size(Some(MESSAGE_LIMIT_BYTES));
    let mut socket = WebSocketStream::from_partially_read(
        stream,
        begun.into(),
        Role::Server,
        Some(config),
    )
    .await;
    // What a client does wrong ends its connection and nothing else.
    let _ = poll_fn(|cx| poll_echo(&mut socket, cx)).await;
}

/// Reads all there is, and only then flushes.
fn poll_echo<S>(
    socket: &mut S,
    cx: &mut Context<'_>,
) -> Poll<tungstenite::Result<()>>
where
    S: Stream<Item = tungstenite::Result<Message>>
        + Sink<Message, Error = tungstenite::Error>
        + Unpin,
{
    loop {
        // Held back while the client takes nothing.
        ready!(socket.poll_ready_unpin(cx))?;
        match socket.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(message))) => {
                // Pings and closes the library has answered.
                if message.is_text() || message.is_binary() {
                    socket.start_send_unpin(message)?;
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Pending => {
                ready!(socket.poll_flush_unpin(cx))?;
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
#[path = "websocket_test.rs"]
mod tests;
