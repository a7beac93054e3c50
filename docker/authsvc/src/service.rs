//! What is answered to whom.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};

use crate::counts::Counts;
use crate::token::Verifier;

const X_USER_ID: HeaderName = HeaderName::from_static("x-user-id");

/// One worker's copy of all that an answer needs.
#[derive(Clone)]
pub struct Auth {
    /// Knows the secret.
    pub verifier: Verifier,
    /// All workers' numbers.
    pub counts: Counts,
    /// Which of them is this worker's.
    pub worker: usize,
}

type Answer = Response<Full<Bytes>>;

impl Auth {
    fn answer<B>(&self, request: &Request<B>) -> Answer {
        let get = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            // Some edges ask with the method of the request they guard.
            "/_auth" => self.check(request),
            "/_health" if get => text("text/plain", "ok\n".into()),
            "/_counts" if get => text("application/json", self.counts.json()),
            "/_health" | "/_counts" => {
                let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
                let allowed = HeaderValue::from_static("GET, HEAD");
                answer.headers_mut().insert(header::ALLOW, allowed);
                answer
            }
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    fn check<B>(&self, request: &Request<B>) -> Answer {
        let mut fields = request.headers().get_all("authorization").iter();
        // One field: of two, the edge might have meant the other.
        let user = match (fields.next(), fields.next()) {
            (Some(field), None) => self.verifier.user(field.as_bytes(), now()),
            _ => None,
        };
        self.counts.add(self.worker, user.is_some());
        let (status, name, value) = match user {
            Some(user) => (StatusCode::OK, X_USER_ID, user),
            None => {
                let bearer = HeaderValue::from_static("Bearer");
                let name = header::WWW_AUTHENTICATE;
                (StatusCode::UNAUTHORIZED, name, bearer)
            }
        };
        let mut answer = empty(status);
        answer.headers_mut().insert(name, value);
        answer
    }
}

/// Seconds since 1970; a clock before that lets nobody in.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(f64::INFINITY, |since| since.as_secs_f64())
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn text(kind: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::from(body));
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

impl<B> Service<Request<B>> for Auth {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
