//! The auth service's own count of what it was asked.

use std::net::SocketAddr;
use std::time::Instant;

use crate::http::{Conn, Request};
use crate::link::Exchange as _;
use crate::tape::Track;

/// How many times the auth service at `address` was asked since its start.
///
/// # Errors
///
/// Why it does not say.
pub(crate) fn asked(address: SocketAddr, by: Instant) -> Result<u64, String> {
    let request = Request::new("GET", "/_counts", "localhost:9090", "");
    let response = Conn::open(address, false, Track::default(), by)
        .and_then(|mut conn| conn.exchange(&request, by))
        .map_err(|fault| format!("the auth service's counts: {fault}"))?;
    let counts: serde_json::Value = serde_json::from_slice(&response.body)
        .map_err(|e| format!("the auth service's counts: {e}"))?;
    counts["asked"]
        .as_u64()
        .ok_or_else(|| "the auth service says no count".to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use profiles::token::mint;

    use super::*;

    const SECRET: &str = "a secret of the tests";

    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// The arena's own auth service, built beside the tests of a workspace.
    fn start() -> Option<(Running, SocketAddr)> {
        let own = std::env::current_exe().unwrap();
        let binary = own.ancestors().nth(2).unwrap().join("authsvc");
        if !binary.is_file() {
            let why = "skipped: no authsvc beside the tests; build it";
            let _ = writeln!(std::io::stderr(), "{why}");
            return None;
        }
        let mut command = Command::new(binary);
        command.env("JWT_SECRET", SECRET).stdout(Stdio::piped());
        command.env("AUTHSVC_LISTEN", "127.0.0.1:0");
        let mut child = Running(command.spawn().unwrap());
        let mut line = String::new();
        let mut said = BufReader::new(child.0.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap();
        Some((child, address.parse().unwrap()))
    }

    #[test]
    fn the_auth_service_lets_in_whom_the_arena_sends_and_is_read() {
        let Some((_running, at)) = start() else { return };
        let by = Instant::now() + Duration::from_secs(60);
        assert_eq!(asked(at, by), Ok(0));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = now.as_secs();
        let (good, late) = (mint(SECRET, 43, now + 600), mint(SECRET, 43, now));
        let other = mint("another", 43, now + 600);
        let mut conn = Conn::open(at, false, Track::default(), by).unwrap();
        for (token, status) in [(good, 200), (late, 401), (other, 401)] {
            let field = format!("Authorization: Bearer {token}\r\n");
            let request = Request::new("GET", "/_auth", "localhost", &field);
            let response = conn.exchange(&request, by).unwrap();
            assert_eq!(response.status, status);
            assert!(response.body.is_empty());
            let user = response.header("x-user-id");
            assert_eq!(user, (status == 200).then_some("43"));
        }
        assert_eq!(asked(at, by), Ok(3));
    }
}
