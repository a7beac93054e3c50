//! What the library lets pass though HTTP/2 forbids it: refused before a
//! handler sees it.

use ntex::{
    Middleware, Service, ServiceCtx, SharedCfg,
    http::{Method, Version, header::CONTENT_LENGTH},
    util::stream_recv,
    web::{ErrorRenderer, HttpResponse, WebRequest, WebResponse},
};

/// A request whose body is not as long as was declared is malformed (RFC 9113
/// section 8.1.1). The library looks only at bodies that are read, and handlers
/// of GET read none, so that is done here.
#[derive(Clone, Copy)]
pub struct Malformed;

impl<S> Middleware<S, SharedCfg> for Malformed {
    type Service = Checked<S>;

    fn create(&self, service: S, _: SharedCfg) -> Self::Service {
        Checked { service }
    }
}

pub struct Checked<S> {
    service: S,
}

impl<S, E> Service<WebRequest<E>> for Checked<S>
where
    S: Service<WebRequest<E>, Response = WebResponse>,
    E: ErrorRenderer,
{
    type Response = WebResponse;
    type Error = S::Error;

    ntex::forward_poll!(service);
    ntex::forward_ready!(service);
    ntex::forward_shutdown!(service);

    async fn call(
        &self,
        mut request: WebRequest<E>,
        ctx: ServiceCtx<'_, Self>,
    ) -> Result<WebResponse, S::Error> {
        let checked = request.version() == Version::HTTP_2
            && request.method() == Method::GET
            && request.headers().contains_key(CONTENT_LENGTH);
        if checked && !is_as_declared(&mut request).await {
            return Ok(request.into_response(HttpResponse::BadRequest()));
        }
        ctx.call(&self.service, request).await
    }
}

async fn is_as_declared<E>(request: &mut WebRequest<E>) -> bool {
    let declared = request.headers().get(CONTENT_LENGTH);
    let declared = declared.and_then(|n| n.to_str().ok()?.parse().ok());
    let Some(declared): Option<usize> = declared else { return false };
    let mut body = request.take_payload();
    let mut bytes = 0;
    while let Some(chunk) = stream_recv(&mut body).await {
        match chunk {
            Ok(chunk) => bytes += chunk.len(),
            Err(_) => return false,
        }
        if bytes > declared {
            return false;
        }
    }
    bytes == declared
}
