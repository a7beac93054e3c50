//! A connection that sends the answers to pipelined requests together.
//!
//! hyper flushes after every answer. Here small answers wait until hyper has
//! done all it can with the bytes at hand and yields. Its own `pipeline_flush`
//! waits until no byte is left instead, so half a request behind a whole one
//! would hold back the whole one's answer.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
    server::conn::http1,
    service::HttpService,
};

/// Bytes that may wait. Larger writes go straight through.
const LIMIT_BYTES: usize = 4096;

/// Serves one connection until it has ended or no longer speaks HTTP. Returns
/// it with what was read beyond, unless it broke.
pub async fn serve<T, S, B>(io: T, service: S) -> Option<(T, Bytes)>
where
    T: Read + Write + Unpin,
    S: HttpService<Incoming, ResBody = B>,
    S::Error: std::error::Error + Send + Sync + 'static,
    B: hyper::body::Body<Data = Bytes> + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let io = Batched::new(io);
    let mut connection =
        http1::Builder::new().serve_connection(io.clone(), service);
    poll_fn(|cx| {
        if Pin::new(&mut connection).poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match io.lock().poll_send(cx) {
            Poll::Ready(Err(_)) => Poll::Ready(()),
            // All is sent, or the socket wakes the task when it takes more.
            _ => Poll::Pending,
        }
    })
    .await;
    // With hyper's end gone this is the only one.
    let begun = connection.into_parts().read_buf;
    let mut inner = Arc::into_inner(io.0)?.into_inner().ok()?;
    poll_fn(|cx| inner.poll_send(cx)).await.ok()?;
    Some((inner.io, begun))
}

/// hyper owns its connection, so the two ends of it are shared. Both are used
/// by one task: the lock is never waited for.
struct Batched<T>(Arc<Mutex<Inner<T>>>);

struct Inner<T> {
    io: T,
    waiting: Vec<u8>,
}

impl<T> Batched<T> {
    fn new(io: T) -> Self {
        Self(Arc::new(Mutex::new(Inner { io, waiting: Vec::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

impl<T> Clone for Batched<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Write + Unpin> Inner<T> {
    /// Sends all that waits.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let io = Pin::new(&mut self.io);
            let sent = ready!(io.poll_write(cx, &self.waiting))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.waiting.drain(..sent);
        }
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total = bufs.iter().map(|buf| buf.len()).sum::<usize>();
        if self.waiting.len() + total > LIMIT_BYTES {
            ready!(self.poll_send(cx))?;
        }
        if total > LIMIT_BYTES {
            return Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        }
        for buf in bufs {
            self.waiting.extend_from_slice(buf);
        }
        Poll::Ready(Ok(total))
    }
}

impl<T: Read + Unpin> Read for Batched<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().io).poll_read(cx, buf)
    }
}

impl<T: Write + Unpin> Write for Batched<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.lock().poll_take(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.lock().poll_take(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.lock().io.is_write_vectored()
    }

    /// Nothing: what waits is sent when hyper yields.
    fn poll_flush(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        ready!(inner.poll_send(cx))?;
        Pin::new(&mut inner.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
#[path = "batch_test.rs"]
mod tests;
