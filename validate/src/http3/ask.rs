//! One request and its answer, by the library.

use bytes::{Buf as _, Bytes};
use h3::error::StreamError;
use quinn::ConnectionError;

use super::Sender;
use crate::http::{Delimited, Ending, Fault, Request, Response};

/// No body of a right answer is longer.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const INTERIM_LIMIT: usize = 16;

/// Asks, and reads the whole answer.
pub(super) async fn ask(
    mut sender: Sender,
    connection: quinn::Connection,
    request: Request,
) -> Result<Response, Fault> {
    let fault = |error| fault(error, &connection);
    let head = head(&request)?;
    let mut stream = sender.send_request(head).await.map_err(fault)?;
    if !request.body().is_empty() {
        let body = Bytes::copy_from_slice(request.body());
        stream.send_data(body).await.map_err(fault)?;
    }
    stream.finish().await.map_err(fault)?;
    let mut interim = 0;
    let response = loop {
        let response = stream.recv_response().await.map_err(fault)?;
        if !response.status().is_informational() {
            break response;
        }
        interim += 1;
        if interim > INTERIM_LIMIT {
            let why = format!("more than {INTERIM_LIMIT} interim answers");
            return Err(Fault::Broken(why));
        }
    };
    let mut answer = answer(&response)?;
    while let Some(mut piece) = stream.recv_data().await.map_err(fault)? {
        if answer.body.len() + piece.remaining() > BODY_LIMIT {
            let why = format!("a body of more than {BODY_LIMIT} bytes");
            return Err(Fault::Broken(why));
        }
        while piece.has_remaining() {
            let chunk = piece.chunk();
            answer.body.extend_from_slice(chunk);
            let n = chunk.len();
            piece.advance(n);
        }
    }
    if request.head && !answer.body.is_empty() {
        return Err(Fault::Broken("a body in the answer to HEAD".into()));
    }
    let trailers = stream.recv_trailers().await.map_err(fault)?;
    answer.trailers = trailers.map(|all| fields(&all));
    let bodiless = request.head || answer.status == 304;
    match answer.length {
        Some(n) if !bodiless && n != answer.body.len() as u64 => {
            let got = answer.body.len();
            let why = format!("content-length {n} and {got} bytes");
            Err(Fault::Broken(why))
        }
        _ => Ok(answer),
    }
}

fn head(request: &Request) -> Result<http::Request<()>, Fault> {
    let Request { method, target, host, .. } = request;
    let mut head = http::Request::builder()
        .method(&method[..])
        .uri(format!("https://{host}{target}"));
    for (name, value) in &request.fields {
        let hop = ["transfer-encoding", "connection", "host", "upgrade"];
        if !hop.contains(&&name.to_ascii_lowercase()[..]) {
            head = head.header(&name[..], &value[..]);
        }
    }
    head.body(()).map_err(|e| Fault::Connect(format!("no such request: {e}")))
}

fn answer(response: &http::Response<()>) -> Result<Response, Fault> {
    let headers = fields(response.headers());
    for once in ["content-type", "content-encoding", "content-length"] {
        let times = headers.iter().filter(|(n, _)| n == once).count();
        if times > 1 {
            let why = format!("{times} `{once}` fields in one answer");
            return Err(Fault::Broken(why));
        }
    }
    let hop = ["connection", "keep-alive", "transfer-encoding", "upgrade"];
    if let Some((name, _)) = headers.iter().find(|(n, _)| hop.contains(&&n[..]))
    {
        let why = format!("`{name}`, which belongs to HTTP/1.1");
        return Err(Fault::Broken(why));
    }
    let length = headers.iter().find(|(n, _)| n == "content-length");
    let length = match length.map(|(_, v)| v.parse::<u64>()) {
        None => None,
        Some(Ok(n)) => Some(n),
        Some(Err(_)) => {
            let why = "a content-length that is no number".to_string();
            return Err(Fault::Broken(why));
        }
    };
    Ok(Response {
        status: response.status().as_u16(),
        headers,
        body: Vec::new(),
        trailers: None,
        delimited: Delimited::Stream,
        length,
        says_close: false,
    })
}

fn fields(all: &http::HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    };
    all.iter().map(|(n, v)| (n.as_str().to_string(), text(v))).collect()
}

/// What an error of the library is to the judge. If the connection has ended,
/// its own reason says more.
fn fault(error: StreamError, connection: &quinn::Connection) -> Fault {
    let ended = connection.close_reason();
    match (error, ended) {
        (StreamError::RemoteTerminate { code, .. }, _) => {
            Fault::Reset(code.value())
        }
        (StreamError::HeaderTooBig { actual_size, .. }, _) => {
            Fault::Broken(format!("a head of {actual_size} bytes"))
        }
        // Ended by us: the library saw the server break a rule.
        (error, Some(ConnectionError::LocallyClosed) | None) => {
            Fault::Broken(error.to_string())
        }
        (_, Some(ended)) => ended_by(ended),
    }
}

/// What the end of a QUIC connection is to the judge.
pub(super) fn ended_by(error: ConnectionError) -> Fault {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            Fault::Goaway(close.error_code.into_inner())
        }
        ConnectionError::ConnectionClosed(close) => {
            Fault::Handshake(close.to_string())
        }
        ConnectionError::TransportError(why) => {
            Fault::Handshake(why.to_string())
        }
        ConnectionError::Reset => Fault::Ended { how: Ending::Reset, got: 0 },
        other => Fault::Connect(other.to_string()),
    }
}
