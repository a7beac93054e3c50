//! A gateway and a production stack in one process: what the edge, the auth
//! service, the cache and the server do, and the cheats of each.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use postgres::{Client, NoTls};
use profiles::data::User;
use profiles::token::sign;
use serde_json::{Value, json};

use super::app::{App, Local};
use super::postgres::Own;
use super::reply::Reply;
use super::wire::{Body, Request};

pub const SECRET: &str = "a secret of the tests";
const TTL: Duration = Duration::from_millis(1000);

/// The ways in which a part of it can be wrong, or only unusual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StackCheat {
    /// None.
    Honest,
    /// Right in everything, and as unusual as the contract allows.
    Unusual,

    // The edge.
    FilesByServer,
    EdgeCaches,
    EdgeCachesItems,
    AuthCached,
    WritesUnasked,
    MeUnasked,
    AnyBearer,
    ForgedTaken,
    ForgedBeside,
    PublicAsked,
    StaticAsked,
    // The auth service.
    NoSignature,
    NoExpiry,
    NoneTaken,
    AnyScheme,
    LeaksItem,
    // Server and cache.
    OneUser,
    UserCached,
    WriteKeeps,
    WriteLost,
    AlwaysHit,
    NeverCached,
    CachedForEver,
    UseLengthens,
    UnknownIs200,
    UnknownWriteIs204,
    BadJsonIs204,
}

use StackCheat as C;

/// The services and what they share.
pub struct Services {
    pub cheat: C,
    own: Own,
    client: Mutex<Client>,
    paused: AtomicBool,
    asked: AtomicU64,
    /// Tokens that were let in, with their users.
    seen: Mutex<HashMap<String, i64>>,
    edge: Mutex<HashMap<(String, String), Reply>>,
    cache: Mutex<HashMap<i32, (Instant, Value)>>,
    user: Mutex<Option<i64>>,
}

impl validate::Stack for Services {
    fn pause(&self, service: &str) -> std::io::Result<()> {
        assert_eq!(service, "server");
        self.paused.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn resume(&self, _: &str) -> std::io::Result<()> {
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }
}

/// What the edge knows of a request.
pub struct Asked<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub accept: Option<&'a str>,
    pub authorization: Option<&'a str>,
    pub user: Option<&'a str>,
    pub body: &'a [u8],
}

impl Asked<'_> {
    /// What a cache of the edge keeps an answer by: Vary is obeyed.
    fn key(&self) -> (String, String) {
        (self.target.into(), self.accept.unwrap_or_default().into())
    }
}

impl Services {
    pub fn new(cheat: C, own: Own) -> Services {
        let client = Client::connect(&own.entry(), NoTls).unwrap();
        let (paused, asked, seen, edge) = Default::default();
        let (cache, user) = Default::default();
        let client = Mutex::new(client);
        Services { cheat, own, client, paused, asked, seen, edge, cache, user }
    }

    pub fn owner(&self) -> String {
        self.own.owner()
    }

    /// The auth service's counters, on a port of their own.
    pub fn counters(self: &Arc<Services>) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let this = Arc::downgrade(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(this) = this.upgrade() else { return };
                let _ = counts(stream, this.asked.load(Ordering::SeqCst));
            }
        });
        address
    }

    /// The edge: files, who is let in, and what is passed on.
    pub fn edge(&self, r: &Asked<'_>, app: &App) -> Reply {
        let path = r.target.split('?').next().unwrap_or("");
        let paused = self.paused.load(Ordering::SeqCst);
        let open = Request::new(r.method, r.target, r.accept);
        let plain =
            || app.answer(&open, &Body::default(), &mut Local::default());
        if path.starts_with("/static/") {
            if self.cheat == C::StaticAsked && self.auth(r).is_none() {
                return unauthorized();
            }
            if self.cheat == C::FilesByServer && paused {
                return Reply::status(504);
            }
            return plain();
        }
        if path.starts_with("/api/") {
            return self.api(r, path, paused);
        }
        if self.cheat == C::PublicAsked && self.auth(r).is_none() {
            return unauthorized();
        }
        let kept = self.edge.lock().unwrap().get(&r.key()).cloned();
        if let (C::EdgeCaches, Some(kept)) = (self.cheat, kept) {
            return kept;
        }
        if paused {
            return Reply::status(504);
        }
        let reply = match path {
            "/async-db" => self.rows(r),
            _ => plain(),
        };
        let mut edge = self.edge.lock().unwrap();
        edge.insert(r.key(), reply.clone());
        reply
    }

    fn api(&self, r: &Asked<'_>, path: &str, paused: bool) -> Reply {
        let unasked = match self.cheat {
            C::WritesUnasked => r.method == "POST",
            C::MeUnasked => path == "/api/me",
            _ => false,
        };
        let forged = r.user.and_then(|user| user.parse::<i64>().ok());
        let user = match (self.cheat, self.auth(r)) {
            _ if unasked => Some(42),
            (C::ForgedTaken, None) => forged,
            (C::ForgedBeside, Some(user)) => Some(forged.unwrap_or(user)),
            (_, user) => user,
        };
        let Some(user) = user else {
            return match self.cheat {
                C::LeaksItem => {
                    Reply { body: b"{\"price\":1}".into(), ..unauthorized() }
                }
                C::Unusual => Reply::status(401),
                _ => unauthorized(),
            };
        };
        let kept = self.edge.lock().unwrap().get(&r.key()).cloned();
        let get = r.method == "GET";
        match (self.cheat, kept) {
            (C::EdgeCachesItems, Some(kept)) if get && paused => return kept,
            _ => {}
        }
        if paused {
            return Reply::status(504);
        }
        let reply = self.server(r, path, user);
        if get {
            let mut edge = self.edge.lock().unwrap();
            edge.insert(r.key(), reply.clone());
        }
        reply
    }

    /// The edge's question and the auth service's answer.
    fn auth(&self, r: &Asked<'_>) -> Option<i64> {
        let value = r.authorization.unwrap_or("");
        let token = match value.split_once(' ') {
            Some(("Bearer" | "bearer", token)) => token,
            Some((_, token)) if self.cheat == C::AnyScheme => token,
            _ => "",
        };
        if let (C::AuthCached, Some(user)) =
            (self.cheat, self.seen.lock().unwrap().get(token))
        {
            return Some(*user);
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.cheat == C::AnyBearer && token.len() > 60 {
            return Some(42);
        }
        let user = self.verified(token)?;
        self.seen.lock().unwrap().insert(token.into(), user);
        Some(user)
    }

    fn verified(&self, token: &str) -> Option<i64> {
        let mut parts = token.split('.');
        let (head, payload) = (parts.next()?, parts.next()?);
        parts.next()?;
        let text = |part: &str| {
            String::from_utf8(URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let (head, payload) = (text(head)?, text(payload)?);
        let alg: Value = serde_json::from_str(&head).ok()?;
        let claims: Value = serde_json::from_str(&payload).ok()?;
        let none = alg["alg"] == "none" && self.cheat == C::NoneTaken;
        let signed = sign(SECRET.as_bytes(), &head, &payload) == token;
        if !none && self.cheat != C::NoSignature && !signed {
            return None;
        }
        if alg["alg"] != "HS256" && !none {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let late = claims["exp"].as_u64()? < now.as_secs();
        if late && self.cheat != C::NoExpiry {
            return None;
        }
        claims["sub"].as_str()?.parse().ok()
    }

    /// The server behind the edge.
    fn server(&self, r: &Asked<'_>, path: &str, user: i64) -> Reply {
        if path == "/api/me" {
            let user = match self.cheat {
                C::OneUser => 42,
                C::UserCached => *self.user.lock().unwrap().get_or_insert(user),
                _ => user,
            };
            let Some(User { id, name, email, plan }) = User::with_id(user)
            else {
                return Reply::status(404);
            };
            let body = json!({
                "id": id, "name": name, "email": email, "plan": plan,
            });
            return answer(&body).with("X-Cache", "MISS");
        }
        let id = path.strip_prefix("/api/items/").unwrap_or("");
        let Ok(id) = id.parse::<i32>() else { return Reply::status(404) };
        match r.method {
            "GET" => self.read(id),
            "POST" => self.write(id, r.body),
            _ => Reply::status(405),
        }
    }

    fn read(&self, id: i32) -> Reply {
        let mut cache = self.cache.lock().unwrap();
        let word = |reply: Reply, word: &str| match self.cheat {
            C::AlwaysHit => reply.with("X-Cache", "HIT"),
            C::Unusual => reply.with("x-cache", &word.to_lowercase()),
            _ => reply.with("X-Cache", word),
        };
        if let Some((stored, item)) = cache.get_mut(&id) {
            let fresh = match self.cheat {
                C::CachedForEver => true,
                C::NeverCached => false,
                _ => stored.elapsed() < TTL,
            };
            if fresh {
                if self.cheat == C::UseLengthens {
                    *stored = Instant::now();
                }
                return word(answer(item), "HIT");
            }
        }
        let text = "SELECT id, name, category, price, quantity, active, \
                    rating_score, rating_count FROM items WHERE id = $1";
        let row = self.client.lock().unwrap().query_opt(text, &[&id]);
        let Some(row) = row.unwrap() else {
            return match self.cheat {
                C::UnknownIs200 => answer(&Value::Null),
                _ => Reply::status(404),
            };
        };
        let item = json!({
            "id": row.get::<_, i32>(0),
            "name": row.get::<_, String>(1),
            "category": row.get::<_, String>(2),
            "price": row.get::<_, i32>(3),
            "quantity": row.get::<_, i32>(4),
            "active": row.get::<_, bool>(5),
            "rating": {
                "score": row.get::<_, i32>(6),
                "count": row.get::<_, i32>(7),
            },
        });
        cache.insert(id, (Instant::now(), item.clone()));
        word(answer(&item), "MISS")
    }

    fn write(&self, id: i32, body: &[u8]) -> Reply {
        let sent = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let int = |key: &str| sent[key].as_i64().map(|n| n as i32);
        let (Some(name), Some(price), Some(quantity)) =
            (sent["name"].as_str(), int("price"), int("quantity"))
        else {
            return Reply::status(match self.cheat {
                C::BadJsonIs204 => 204,
                _ => 400,
            });
        };
        let text = "UPDATE items SET name = $2, price = $3, quantity = $4 \
                    WHERE id = $1";
        let mut client = self.client.lock().unwrap();
        let changed = match self.cheat {
            C::WriteLost => 1,
            _ => {
                client.execute(text, &[&id, &name, &price, &quantity]).unwrap()
            }
        };
        drop(client);
        if self.cheat != C::WriteKeeps {
            self.cache.lock().unwrap().remove(&id);
        }
        Reply::status(match (changed, self.cheat) {
            (0, C::UnknownWriteIs204) => 204,
            (0, _) => 404,
            _ => 204,
        })
    }

    fn rows(&self, r: &Asked<'_>) -> Reply {
        let query = r.target.split_once('?').map_or("", |(_, q)| q);
        let get = |name: &str, default: i32| {
            let mut pairs = query.split('&').filter_map(|p| p.split_once('='));
            let found = pairs.find(|(n, _)| *n == name);
            found.map_or(Some(default), |(_, v)| v.parse().ok())
        };
        let (Some(min), Some(max), Some(limit)) =
            (get("min", 10), get("max", 50), get("limit", 50))
        else {
            return Reply::status(400);
        };
        let limit = i64::from(limit.clamp(1, 50));
        let text = "SELECT coalesce(json_agg(json_build_object('id', id, \
                    'name', name, 'category', category, 'price', price, \
                    'quantity', quantity, 'active', active, 'tags', tags, \
                    'rating', json_build_object('score', rating_score, \
                    'count', rating_count))), '[]')::text FROM (SELECT * \
                    FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3) i";
        let mut client = self.client.lock().unwrap();
        let row = client.query_one(text, &[&min, &max, &limit]).unwrap();
        let items: String = row.get(0);
        let items: Value = serde_json::from_str(&items).unwrap();
        let count = items.as_array().unwrap().len();
        answer(&json!({ "items": items, "count": count }))
    }
}

fn answer(body: &Value) -> Reply {
    Reply::new(200, "application/json", body.to_string())
}

fn unauthorized() -> Reply {
    let body = "{\"error\":\"unauthorized\"}";
    Reply::new(401, "application/json", body)
}

fn counts(mut stream: TcpStream, asked: u64) -> std::io::Result<()> {
    let mut piece = [0; 1024];
    let mut seen = Vec::new();
    while !seen.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = stream.read(&mut piece)?;
        if n == 0 {
            return Ok(());
        }
        seen.extend_from_slice(&piece[..n]);
    }
    let body = json!({ "asked": asked, "accepted": asked, "refused": 0 });
    let body = body.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                Connection: close\r\n";
    let length = body.len();
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}")
}
