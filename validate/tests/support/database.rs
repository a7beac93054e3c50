//! A server whose answers come from a real database, and the cheats that do
//! without, or do more with it than they may.

mod answer;

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use postgres::{Client, NoTls};
use serde_json::Value;

use super::app::{App, Local};
use super::cheat::Cheat;
use super::data;
use super::postgres::{Own, Postgres};
use super::reply::Reply;
use super::wire::{Body, Reader};

/// The ways in which it can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DbCheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as the contract allows.
    Unusual,

    ConstantRows,
    CopiedTable,
    CacheByUrl,
    OneRowShort,
    ExtraField,
    PricesExclusive,
    MinIsZero,
    LimitNotClamped,
    ZeroLimitIsAll,
    EmptyIs404,
    BackwardsIs500,
    InjectionIs500,
    Pasted,
    NeverForgets,
    InsertedOnly,
    OwnersRole,
    MadeAnIndex,

    ListByPrice,
    TotalOfTable,
    NoListDefaults,
    ListCached,
    NoCacheWord,
    AlwaysHit,
    PaddedIs404,
    NeverCached,
    CachedForEver,
    UseLengthens,
    PutKeepsCache,
    PutLost,
    PutWritesCategory,
    SecondPutLost,
    CreateLost,
    CreateInactive,
    NoUpsert,
    UnknownIs200,
    UnknownPutIs200,
    BadJsonIs500,
}

use DbCheat as D;

/// What all connections share.
pub struct Shared {
    pub cheat: D,
    pub app: App,
    pool: Mutex<Vec<Client>>,
    url: String,
    /// `GET /crud/items/{id}`: when it was stored or used, and the item.
    pub cache: Mutex<HashMap<i32, (Instant, Value)>>,
    /// Answers that are kept by their address.
    pub kept: Mutex<HashMap<String, Vec<u8>>>,
    /// How often each row was updated.
    pub puts: Mutex<HashMap<i32, u32>>,
    /// A copy of the table, made at start.
    pub table: Mutex<Vec<Value>>,
}

impl Shared {
    /// Works with one of the pool's connections.
    pub fn with<T>(&self, work: impl FnOnce(&mut Client) -> T) -> T {
        let free = self.pool.lock().unwrap().pop();
        let mut client =
            free.unwrap_or_else(|| Client::connect(&self.url, NoTls).unwrap());
        let done = work(&mut client);
        self.pool.lock().unwrap().push(client);
        done
    }
}

/// A running twin; dropped, it is gone.
pub struct DbTwin {
    pub address: SocketAddr,
    pub own: Own,
    stopping: Arc<AtomicBool>,
}

impl DbTwin {
    pub fn start(cheat: D, postgres: &'static Postgres) -> DbTwin {
        let own = postgres.own();
        let url = match cheat {
            D::OwnersRole => own.owner(),
            _ => own.entry(),
        };
        if cheat == D::MadeAnIndex {
            let mut owner = Client::connect(&own.owner(), NoTls).unwrap();
            let text = "CREATE INDEX by_price ON items (price)";
            owner.batch_execute(text).unwrap();
        }
        let app = App::new(Cheat::Honest, data::data(), "/");
        let (pool, cache, kept, puts, table) = Default::default();
        let shared = Arc::new(Shared {
            cheat,
            app,
            pool,
            url,
            cache,
            kept,
            puts,
            table,
        });
        if matches!(cheat, D::CopiedTable | D::InsertedOnly) {
            answer::copy(&shared);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let shared = shared.clone();
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        DbTwin { address, own, stopping }
    }
}

impl Drop for DbTwin {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; an error says that it is gone.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> Option<()> {
    let _ = stream.set_nodelay(true);
    let mut reader = Reader::new(stream, Cheat::Honest);
    let mut out = stream;
    loop {
        let Ok(request) = reader.head() else { return None };
        let mut body = Body::default();
        reader.body(&request, &mut body).ok()?;
        let reply =
            answer::answer(shared, &request, &body).unwrap_or_else(|| {
                shared.app.answer(&request, &body, &mut Local::default())
            });
        out.write_all(&reply.bytes(Some(&request), Cheat::Honest)).ok()?;
        if request.close {
            return None;
        }
    }
}

/// A JSON answer.
pub fn json(status: u16, value: &Value) -> Reply {
    Reply::new(status, "application/json", value.to_string())
}
