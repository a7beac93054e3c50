//! What is to be sent on a connection.

use std::{io, mem};

use tokio_uring::{buf::BoundedBuf, net::TcpStream};

/// Bodies of this size and more are not copied.
const LENT_BYTES: usize = 32 * 1024;

/// How much may wait to be sent before a connection's requests have to wait.
pub const LIMIT_BYTES: usize = 256 * 1024;

/// Room that is kept for the next answers.
const KEPT_BYTES: usize = 16 * 1024;

/// Bytes of its own, and bodies lent by the site that stand between them.
#[derive(Debug, Default)]
pub struct Output {
    pub bytes: Vec<u8>,
    /// Where in `bytes` a body is to be put in, and that body.
    lent: Vec<(usize, &'static [u8])>,
    lent_bytes: usize,
}

impl Output {
    /// All that has been put in and not been sent.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.lent_bytes
    }

    pub fn is_full(&self) -> bool {
        self.len() >= LIMIT_BYTES
    }

    pub fn lend(&mut self, body: &'static [u8]) {
        if body.len() < LENT_BYTES {
            self.bytes.extend_from_slice(body);
        } else {
            self.lent.push((self.bytes.len(), body));
            self.lent_bytes += body.len();
        }
    }

    /// Sends all of it. The ring owns what it sends until it is sent.
    pub async fn send(&mut self, stream: &TcpStream) -> io::Result<()> {
        if self.len() == 0 {
            return Ok(());
        }
        let mut bytes = mem::take(&mut self.bytes);
        let mut from = 0;
        for (at, body) in self.lent.drain(..) {
            if from < at {
                let (sent, slice) =
                    stream.write_all(bytes.slice(from..at)).await;
                bytes = slice.into_inner();
                sent?;
            }
            stream.write_all(body).await.0?;
            from = at;
        }
        self.lent_bytes = 0;
        if from < bytes.len() {
            let (sent, slice) = stream.write_all(bytes.slice(from..)).await;
            bytes = slice.into_inner();
            sent?;
        }
        bytes.clear();
        bytes.shrink_to(KEPT_BYTES);
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        net::{Ipv4Addr, TcpListener},
    };

    use super::*;

    static BODY: [u8; LENT_BYTES] = [b'x'; LENT_BYTES];

    #[test]
    fn lent_bodies_are_sent_where_they_were_put() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_to_end(&mut all).unwrap();
            all
        });
        tokio_uring::start(async {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut output = Output::default();
            output.bytes.extend(b"one");
            output.lend(&BODY);
            output.lend(&BODY);
            output.bytes.extend(b"two");
            output.lend(b"three");
            output.send(&stream).await.unwrap();
            assert_eq!(output.len(), 0);
            output.bytes.extend(b"four");
            output.send(&stream).await.unwrap();
        });
        let whole = [b"one", &BODY[..], &BODY, b"twothreefour"].concat();
        assert_eq!(reading.join().unwrap(), whole);
    }
}
