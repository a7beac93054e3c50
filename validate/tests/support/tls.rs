//! TLS in front of a twin that speaks in cleartext, wrong in just the way its
//! habit says. Bytes are passed on both ways; what HTTP is in them is the
//! twin's business.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustls::ServerConnection;
use rustls::server::Acceptor;
use validate::Target;

use crate::support::Twin;
use crate::support::cheat::Cheat;
use crate::support::http2::{Http2Cheat, Http2Twin};
use crate::tls_identity::{certificate, config};

/// How it departs from a usual TLS server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Habit {
    Usual,
    // Lawful.
    Only12,
    Only13,
    NoAlpn,
    NoTickets,
    Tickets,

    // Certificates.
    OwnCertificate,
    OwnFor12,
    WrongKey,
    // Old hellos that are taken.
    Tls11,
    Tls10,
    WeakSuites,
    WeakSuite,
    // ALPN.
    H2First,
    H2Last,
    H2Alone,
    EchoAlpn,
    AlpnWanted,
    /// HTTP/1.1 is agreed to where h2 is offered as well.
    H1ForBoth,
    /// Either is agreed to, and HTTP/2 is spoken whichever it was.
    Both,
    // Sessions.
    Mute12,
    PlainTaken,
    H2cTaken,
    ByteRecords,
    RecordCut,
    CloseWounds,
    GarbageWounds,
}

/// A running server; dropped, it is gone.
pub struct Front {
    address: SocketAddr,
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
    behind: Box<dyn Send + Sync>,
}

/// What all connections know.
struct Shared {
    habit: Habit,
    port: u16,
    behind: SocketAddr,
    stopping: AtomicBool,
    wounded: AtomicBool,
}

impl Front {
    /// HTTP/1.1 over TLS.
    pub fn start(habit: Habit, cheat: Cheat) -> Front {
        let twin = Twin::start(cheat);
        Front::before(8081, habit, twin.address, Box::new(twin))
    }

    /// HTTP/2 over TLS.
    pub fn http2(habit: Habit) -> Front {
        let twin = Http2Twin::start(Http2Cheat::Honest, Cheat::Honest);
        let address = twin.target().address(8082).unwrap();
        Front::before(8443, habit, address, Box::new(twin))
    }

    /// Before any server in cleartext, which is dropped with it.
    pub fn before(
        port: u16,
        habit: Habit,
        address: SocketAddr,
        behind: Box<dyn Send + Sync>,
    ) -> Front {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let shared = Arc::new(Shared {
            habit,
            port,
            behind: address,
            stopping: AtomicBool::new(false),
            wounded: AtomicBool::new(false),
        });
        let address = listener.local_addr().unwrap();
        let all = shared.clone();
        let accepting = std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if all.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let all = all.clone();
                std::thread::spawn(move || {
                    let _ = client.set_nodelay(true);
                    // Whatever failed, the connection is over.
                    let _ = all.serve(&client);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Front { address, port, shared, accepting: Some(accepting), behind }
    }

    /// With the certificate that was mounted.
    pub fn target(&self) -> Target {
        Target::default()
            .with(self.port, self.address)
            .with_certificate(certificate())
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; an error says that it is gone.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
        self.behind = Box::new(());
    }
}

impl Shared {
    fn serve(&self, mut client: &TcpStream) -> std::io::Result<()> {
        if self.wounded.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut first = vec![0; 16 * 1024];
        let n = client.read(&mut first)?;
        first.truncate(n);
        if first.first().is_some_and(|kind| *kind != 22) {
            return self.no_tls(client, &first);
        }
        if let Some(hello) = self.old_hello(&first) {
            return client.write_all(&hello);
        }
        let mut acceptor = Acceptor::default();
        let mut rest = &first[..];
        let accepted = loop {
            if rest.is_empty() {
                let n = acceptor.read_tls(&mut client)?;
                if n == 0 {
                    return Ok(());
                }
            } else {
                acceptor.read_tls(&mut rest)?;
            }
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => break accepted,
                Err((_, mut alert)) => return alert.write_all(&mut client),
            }
        };
        let new = knows13(&first);
        let hello = accepted.client_hello();
        let Some(config) = config(self.habit, self.port, &hello, new) else {
            return Ok(());
        };
        let mute = self.habit == Habit::Mute12 && !new;
        let mut conn = match accepted.into_connection(config) {
            Ok(conn) => conn,
            Err((_, mut alert)) => return alert.write_all(&mut client),
        };
        conn.set_buffer_limit(None);
        self.pump(client, conn, mute)
    }

    /// What the first bytes get that are no handshake.
    fn no_tls(
        &self,
        mut client: &TcpStream,
        first: &[u8],
    ) -> std::io::Result<()> {
        match self.habit {
            Habit::PlainTaken if first.starts_with(b"GET ") => {
                let mut behind = TcpStream::connect(self.behind)?;
                behind.write_all(first)?;
                let mut back = behind.try_clone()?;
                let mut client_too = client.try_clone()?;
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut back, &mut client_too);
                });
                std::io::copy(&mut client, &mut behind)?;
                behind.shutdown(Shutdown::Write)
            }
            Habit::H2cTaken if first.starts_with(b"PRI ") => {
                let token = &first[first.len() - 8..];
                let frames = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 6, 1];
                let pong = [&frames[..], &[0; 4], token].concat();
                client.write_all(&pong)
            }
            Habit::GarbageWounds if first[0] == 23 => {
                self.wounded.store(true, Ordering::SeqCst);
                Ok(())
            }
            _ => client.write_all(&[21, 3, 3, 0, 2, 2, 10]),
        }
    }

    /// The ServerHello of one that takes what it should not.
    fn old_hello(&self, first: &[u8]) -> Option<Vec<u8>> {
        // After the record's header, the message's, and 32 random bytes: no
        // session, and then the suites.
        let word = |at: usize| {
            Some(u16::from_be_bytes([*first.get(at)?, *first.get(at + 1)?]))
        };
        let (version, suites, suite) = (word(9)?, word(44)?, word(46)?);
        let takes = match self.habit {
            Habit::Tls11 => version == 0x0302,
            Habit::Tls10 => version == 0x0301,
            Habit::WeakSuites => suite == 0x003b && suites > 2,
            Habit::WeakSuite => version == 0x0303 && suites == 2,
            _ => false,
        };
        let [high, low] = version.to_be_bytes();
        let mut hello = vec![22, high, low, 0, 42, 2, 0, 0, 38, high, low];
        hello.extend([5; 32]);
        hello.extend([0, first[46], first[47], 0]);
        takes.then_some(hello)
    }

    /// Passes bytes on both ways until one side ends.
    fn pump(
        &self,
        client: &TcpStream,
        conn: ServerConnection,
        mute: bool,
    ) -> std::io::Result<()> {
        let behind = TcpStream::connect(self.behind)?;
        behind.set_nodelay(true)?;
        let conn = Arc::new(Mutex::new(conn));
        let down = (behind.try_clone()?, client.try_clone()?, conn.clone());
        std::thread::spawn(move || {
            let (behind, client, conn) = down;
            let _ = answers(&behind, &client, &conn);
            let _ = client.shutdown(Shutdown::Both);
        });
        let done = self.requests(client, &behind, &conn, mute);
        let end = if done.is_ok() { Shutdown::Write } else { Shutdown::Both };
        let _ = behind.shutdown(end);
        // The other way ends with what it is still answered.
        swallow(client);
        done
    }

    fn requests(
        &self,
        mut client: &TcpStream,
        mut behind: &TcpStream,
        conn: &Mutex<ServerConnection>,
        mute: bool,
    ) -> std::io::Result<()> {
        let broken = || std::io::Error::other("of no use");
        let mut room = vec![0; 64 * 1024];
        let mut first = true;
        loop {
            // The hello is in the session already.
            let n = if first { 0 } else { client.read(&mut room)? };
            if n == 0 && !first {
                return Ok(());
            }
            let mut rest = &room[..n];
            let mut plain = Vec::new();
            let mut tls = conn.lock().unwrap();
            if self.dislikes(rest) {
                return Err(broken());
            }
            loop {
                let state = tls.process_new_packets();
                while tls.wants_write() {
                    tls.write_tls(&mut client)?;
                }
                let state = state.map_err(|_| broken())?;
                let mut part = vec![0; state.plaintext_bytes_to_read()];
                tls.reader().read_exact(&mut part)?;
                plain.extend(part);
                if state.peer_has_closed() {
                    let wounds = self.habit == Habit::CloseWounds;
                    self.wounded.fetch_or(wounds, Ordering::SeqCst);
                    drop(tls);
                    return behind.write_all(&plain);
                }
                if rest.is_empty() {
                    break;
                }
                tls.read_tls(&mut rest)?;
            }
            drop(tls);
            if mute && !plain.is_empty() {
                return Err(broken());
            }
            behind.write_all(&plain)?;
            first = false;
        }
    }

    /// Whether this server cannot read records that come so.
    fn dislikes(&self, mut bytes: &[u8]) -> bool {
        while bytes.len() >= 5 {
            let length = u16::from_be_bytes([bytes[3], bytes[4]]);
            // One byte, and what is around it in either version.
            let is_data = bytes[0] == 23;
            if self.habit == Habit::ByteRecords && is_data && length <= 25 {
                return true;
            }
            let end = 5 + usize::from(length);
            if bytes.len() < end {
                break;
            }
            bytes = &bytes[end..];
        }
        self.habit == Habit::RecordCut && bytes.first() == Some(&23)
    }
}

/// Whether a hello has TLS 1.3 in its extension of versions.
fn knows13(hello: &[u8]) -> bool {
    let is_list = |at: &usize| {
        let list = &hello[*at..];
        list.starts_with(&[0, 43, 0])
            && list.len() > 4
            && list[3] == list[4] + 1
    };
    let list = (0..hello.len()).find(is_list);
    list.is_some_and(|at| {
        let end = hello.len().min(at + 5 + usize::from(hello[at + 4]));
        hello[at + 5..end].chunks(2).any(|version| version == [3, 4])
    })
}

/// Passes answers on until the twin ends the connection.
fn answers(
    mut behind: &TcpStream,
    mut client: &TcpStream,
    conn: &Mutex<ServerConnection>,
) -> std::io::Result<()> {
    let mut room = vec![0; 64 * 1024];
    loop {
        let n = behind.read(&mut room)?;
        let mut tls = conn.lock().unwrap();
        match n {
            0 => tls.send_close_notify(),
            n => tls.writer().write_all(&room[..n])?,
        }
        while tls.wants_write() {
            tls.write_tls(&mut client)?;
        }
        if n == 0 {
            return Ok(());
        }
    }
}

/// Reads until the client ends the connection.
fn swallow(mut client: &TcpStream) {
    let mut bytes = [0; 4096];
    while client.read(&mut bytes).is_ok_and(|n| n > 0) {}
}
