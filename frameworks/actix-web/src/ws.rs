//! `/ws`: every message comes back as it was.

use actix_web::{HttpRequest, HttpResponse, Result, rt, web::Payload};
use actix_ws::{
    AggregatedMessage, AggregatedMessageStream, CloseCode, Session,
};

/// The largest message taken; the library's own limit of a frame is 64 KiB.
const LIMIT_BYTES: usize = 1024 * 1024;

pub async fn upgrade(
    request: HttpRequest,
    body: Payload,
) -> Result<HttpResponse> {
    let (response, session, messages) = actix_ws::handle(&request, body)?;
    let messages =
        messages.max_frame_size(LIMIT_BYTES).aggregate_continuations();
    rt::spawn(echo(session, messages));
    Ok(response)
}

/// Whatever is sent until the next wait leaves in one write. A failed send is
/// the end of the connection.
async fn echo(mut session: Session, mut messages: AggregatedMessageStream) {
    while let Some(message) = messages.recv().await {
        let sent = match message {
            Ok(AggregatedMessage::Text(text)) => session.text(text).await,
            Ok(AggregatedMessage::Binary(bytes)) => session.binary(bytes).await,
            Ok(AggregatedMessage::Ping(bytes)) => session.pong(&bytes).await,
            Ok(AggregatedMessage::Pong(_)) => Ok(()),
            Ok(AggregatedMessage::Close(reason)) => {
                let _ = session.close(reason).await;
                return;
            }
            Err(_) => {
                let _ = session.close(Some(CloseCode::Protocol.into())).await;
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
