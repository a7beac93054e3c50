//! Answers of one burst go out in one write.
//!
//! hyper flushes after each answer, which is a system call for each; its own
//! `pipeline_flush` keeps answers back behind half a request and loses them
//! when the connection ends there. Here an answer waits only until hyper asks
//! for more to read: then all it had is answered.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is kept back at most; a larger burst goes out in several writes.
const KEPT: usize = 16 << 10;

/// A stream that writes when it is read from.
pub struct Burst<S> {
    stream: S,
    kept: Vec<u8>,
    /// How much of it is written.
    sent: usize,
}

impl<S: AsyncWrite + Unpin> Burst<S> {
    /// Over `stream`.
    pub fn new(stream: S) -> Burst<S> {
        Burst { stream, kept: Vec::new(), sent: 0 }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.kept.len() {
            let rest = &self.kept[self.sent..];
            let stream = Pin::new(&mut self.stream);
            match ready!(stream.poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.sent += n,
            }
        }
        self.kept.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Burst<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A client that does not read is not read from, either.
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Burst<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.kept.len() >= KEPT {
            ready!(self.poll_send(cx))?;
        }
        self.kept.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    /// Done by the next read.
    fn poll_flush(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test);
    }

    /// One look for more to read, in which there is none.
    async fn read_nothing<S: AsyncRead + AsyncWrite + Unpin>(s: &mut Burst<S>) {
        let mut space = [0; 8];
        poll_fn(|cx| {
            let mut buf = ReadBuf::new(&mut space);
            let read = Pin::new(&mut *s).poll_read(cx, &mut buf);
            assert!(read.is_pending());
            Poll::Ready(())
        })
        .await;
    }

    #[test]
    fn what_is_written_goes_out_with_the_next_read() {
        run(async {
            let (near, mut far) = duplex(1000);
            let mut burst = Burst::new(near);
            burst.write_all(b"one ").await.unwrap();
            burst.flush().await.unwrap();
            burst.write_all(b"two").await.unwrap();
            assert_eq!(burst.kept, b"one two");
            read_nothing(&mut burst).await;
            assert!(burst.kept.is_empty());
            let mut got = [0; 7];
            far.read_exact(&mut got).await.unwrap();
            assert_eq!(&got, b"one two");
        });
    }

    #[test]
    fn what_is_written_last_goes_out_before_the_end() {
        run(async {
            let (near, mut far) = duplex(1000);
            let mut burst = Burst::new(near);
            burst.write_all(b"bye").await.unwrap();
            burst.shutdown().await.unwrap();
            let mut got = String::new();
            far.read_to_string(&mut got).await.unwrap();
            assert_eq!(got, "bye");
        });
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_more_than_a_burst() {
        run(async {
            let (near, mut far) = duplex(10);
            let mut burst = Burst::new(near);
            let answer = [b'x'; 1000];
            let mut wrote = 0;
            // Until it would wait.
            poll_fn(|cx| {
                loop {
                    let write = Pin::new(&mut burst).poll_write(cx, &answer);
                    match write {
                        Poll::Ready(n) => wrote += n.unwrap(),
                        Poll::Pending => return Poll::Ready(()),
                    }
                }
            })
            .await;
            assert!(burst.kept.len() <= KEPT + answer.len());
            let reader = async {
                let mut got = vec![0; wrote];
                far.read_exact(&mut got).await.unwrap();
                got
            };
            let writer = poll_fn(|cx| burst.poll_send(cx));
            let (got, sent) = join(reader, writer).await;
            sent.unwrap();
            assert!(got.iter().all(|byte| *byte == b'x'));
        });
    }

    /// Both, each polled whenever one may go on.
    async fn join<A, B>(
        a: impl Future<Output = A>,
        b: impl Future<Output = B>,
    ) -> (A, B) {
        let (mut a, mut b) = (Box::pin(a), Box::pin(b));
        let (mut of_a, mut of_b) = (None, None);
        poll_fn(|cx| {
            if of_a.is_none()
                && let Poll::Ready(it) = a.as_mut().poll(cx)
            {
                of_a = Some(it);
            }
            if of_b.is_none()
                && let Poll::Ready(it) = b.as_mut().poll(cx)
            {
                of_b = Some(it);
            }
            if of_a.is_some() && of_b.is_some() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        (of_a.unwrap(), of_b.unwrap())
    }
}
