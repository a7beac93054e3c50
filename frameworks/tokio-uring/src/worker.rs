//! One thread's connections, on a ring: a task for each.

use std::{cell::RefCell, io, mem, net::Shutdown, rc::Rc, time::Duration};

use tokio::time::{sleep, timeout};
use tokio_uring::{
    buf::BoundedBuf,
    net::{TcpListener, TcpStream},
};

use crate::{output::Output, reply::Writer, routes::Site, session::Session};

/// What a connection reads at once: little while its requests are small, as
/// each that waits holds as much; more once one of them was not.
const SMALL_BYTES: usize = 4 * 1024;
const LARGE_BYTES: usize = 64 * 1024;

/// How long a connection that is at its end may take to be read off, so that
/// the client sees the last answer instead of a reset.
const LINGER: Duration = Duration::from_secs(2);

/// After a want of descriptors or memory, which may pass.
const PAUSE: Duration = Duration::from_millis(50);

/// Entries of a ring's queue of submissions: more than one call's worth.
pub const ENTRIES: u32 = 4096;

/// Serves for as long as the process runs.
pub fn run(site: &'static Site, listener: std::net::TcpListener) {
    tokio_uring::builder().entries(ENTRIES).start(accept(site, listener));
}

async fn accept(site: &'static Site, listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener);
    let writer = Rc::new(RefCell::new(Writer::new(site)));
    let mut said = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                said = false;
                let writer = Rc::clone(&writer);
                tokio_uring::spawn(async move {
                    // How it ends is its client's affair.
                    let _ = Connection::new(stream).serve(&writer).await;
                });
            }
            // A client that left while waiting is no concern of others.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if !mem::replace(&mut said, true) {
                    eprintln!("cannot accept a connection: {error}");
                }
                sleep(PAUSE).await;
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    session: Session,
    output: Output,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        let (session, output) = Default::default();
        Self { stream, session, output }
    }

    async fn serve(mut self, writer: &RefCell<Writer>) -> io::Result<()> {
        // What has come of a request that has not come whole stands before
        // what is read next.
        let mut input = Vec::with_capacity(SMALL_BYTES);
        loop {
            let kept = input.len();
            if input.capacity() - kept < SMALL_BYTES / 4 {
                input.reserve(LARGE_BYTES);
            }
            let (read, slice) = self.stream.read(input.slice(kept..)).await;
            input = slice.into_inner();
            if read? == 0 {
                return Ok(());
            }
            let filled = input.len() == input.capacity();
            self.answer(&mut input, writer).await?;
            if self.session.is_ended() {
                return self.linger(input).await;
            }
            if filled && input.capacity() < LARGE_BYTES {
                input.reserve(LARGE_BYTES);
            }
        }
    }

    /// Answers what has come whole; the rest is left in `input`.
    async fn answer(
        &mut self,
        input: &mut Vec<u8>,
        writer: &RefCell<Writer>,
    ) -> io::Result<()> {
        let mut from = 0;
        loop {
            // In a block: the writer is every connection's.
            let full = {
                let writer = &mut *writer.borrow_mut();
                writer.tick();
                let (session, output) = (&mut self.session, &mut self.output);
                from += session.feed(writer, &input[from..], output);
                output.is_full()
            };
            self.output.send(&self.stream).await?;
            // Where it was full, what is left may be whole requests.
            if !full || from == input.len() {
                break;
            }
        }
        input.drain(..from);
        Ok(())
    }

    /// Half a close, and then what the client still sends is read, so that no
    /// reset overtakes the answer.
    async fn linger(self, mut input: Vec<u8>) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let read_off = async {
            loop {
                input.clear();
                let (read, buffer) = self.stream.read(input).await;
                input = buffer;
                if read.is_ok_and(|n| n > 0) {
                    continue;
                }
                return;
            }
        };
        let _ = timeout(LINGER, read_off).await;
        Ok(())
    }
}
