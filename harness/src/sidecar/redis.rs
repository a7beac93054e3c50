//! Redis, spoken to in the two words that are needed.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

use super::REDIS_PORT;
use crate::host::{HostError, Server};

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until it answers.
pub(super) fn wait(server: &mut dyn Server) -> Result<(), HostError> {
    super::wait("redis", server, || say(REDIS_PORT, "PING", "+PONG\r\n"))
}

/// Forgets everything it holds.
pub(super) fn flush() -> Result<(), HostError> {
    say(REDIS_PORT, "FLUSHALL", "+OK\r\n").map_err(|why| {
        HostError::Unfit(format!("redis could not be emptied: {why}"))
    })
}

fn say(port: u16, word: &str, expected: &str) -> Result<(), String> {
    let told = |e: std::io::Error| e.to_string();
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let mut stream =
        TcpStream::connect_timeout(&address, PATIENCE).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    stream.write_all(format!("{word}\r\n").as_bytes()).map_err(told)?;
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).map_err(told)?;
    match got == expected.as_bytes() {
        true => Ok(()),
        false => Err(format!(
            "expected `{}`, got `{}`",
            expected.trim(),
            got.escape_ascii()
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers one command with `answer`, however short.
    fn peer(answer: &'static str) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 6];
            stream.read_exact(&mut asked).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        port
    }

    #[test]
    fn only_the_whole_answer_will_do() {
        let ask = |answer| say(peer(answer), "PING", "+PONG\r\n");
        assert_eq!(ask("+PONG\r\n"), Ok(()));
        for wrong in ["-ERR no\r\n", "+PON", "", "HTTP/1.1 400"] {
            assert!(ask(wrong).is_err(), "{wrong}");
        }
    }
}
