//! The cache of the stack in two tiers: in the process, then in Redis.

use std::{sync::Arc, time::Duration};

use actix_web::{CustomizeResponder, Responder, web::Json};
use anyhow::{Context, Result};
use moka::sync::Cache;
use redis::{
    AsyncCommands, Client, ConnectionInfo, IntoConnectionInfo,
    aio::{ConnectionManager, ConnectionManagerConfig},
    io::tcp::TcpSettings,
};
use serde::{Serialize, de::DeserializeOwned};

/// An answer with the header that says where it came from.
pub type Answer<V> = CustomizeResponder<Json<Arc<V>>>;

pub fn hit<V: Serialize>(value: Arc<V>) -> Answer<V> {
    Json(value).customize().insert_header(("x-cache", "HIT"))
}

pub fn miss<V: Serialize>(value: Arc<V>) -> Answer<V> {
    Json(value).customize().insert_header(("x-cache", "MISS"))
}

pub const CAPACITY: u64 = 100_000;

/// How long a request waits for Redis before it goes on without.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where Redis is. The address was looked at when it was made.
#[derive(Clone)]
pub struct Redis(Client);

impl Redis {
    pub fn new(url: &str) -> Result<Self> {
        let info: ConnectionInfo = url
            .into_connection_info()
            .context("REDIS_URL is no address of a Redis server")?;
        // By default small commands would wait for acknowledgements.
        let tcp = TcpSettings::default().set_nodelay(true);
        Ok(Self(Client::open(info.set_tcp_settings(tcp))?))
    }

    /// One worker's connection, made when the first request needs it.
    pub fn connection(&self) -> Option<ConnectionManager> {
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        ConnectionManager::new_lazy_with_config(self.0.clone(), config).ok()
    }
}

/// What is found in Redis goes into the process for a time of its own, so an
/// entry lives no longer than both times together.
pub struct Times {
    pub process: Duration,
    pub redis: Duration,
}

pub type Near<V> = Cache<i32, Arc<V>>;

impl Times {
    pub fn near<V: Send + Sync + 'static>(&self) -> Near<V> {
        let cache = Cache::builder().max_capacity(CAPACITY);
        cache.time_to_live(self.process).build()
    }
}

/// Without Redis, or while it is away, the process's own tier is all there is.
pub struct Tiers<V> {
    near: Near<V>,
    far: Option<ConnectionManager>,
    prefix: &'static str,
    far_millis: u64,
}

impl<V> Tiers<V>
where
    V: DeserializeOwned + Serialize + Send + Sync + 'static,
{
    pub fn new(
        prefix: &'static str,
        times: &Times,
        near: Near<V>,
        far: Option<ConnectionManager>,
    ) -> Self {
        let far_millis = times.redis.as_millis() as u64;
        Self { near, far, prefix, far_millis }
    }

    pub async fn get(&self, id: i32) -> Option<Arc<V>> {
        if let Some(value) = self.near.get(&id) {
            return Some(value);
        }
        let mut far = self.far.clone()?;
        let text: Option<Vec<u8>> = far.get(self.key(id)).await.ok()?;
        let value = Arc::new(serde_json::from_slice(&text?).ok()?);
        self.near.insert(id, Arc::clone(&value));
        Some(value)
    }

    pub async fn put(&self, id: i32, value: V) -> Arc<V> {
        let value = Arc::new(value);
        self.near.insert(id, Arc::clone(&value));
        if let Some(mut far) = self.far.clone()
            && let Ok(text) = serde_json::to_vec(&*value)
        {
            let stored = far.pset_ex(self.key(id), text, self.far_millis).await;
            // Without Redis the next miss asks the database again.
            let _: redis::RedisResult<()> = stored;
        }
        value
    }

    /// Far tier first: what is near could be filled from it again.
    pub async fn remove(&self, id: i32) {
        if let Some(mut far) = self.far.clone() {
            // Should it fail, the entry ends by its time.
            let _: redis::RedisResult<()> = far.del(self.key(id)).await;
        }
        self.near.invalidate(&id);
    }

    fn key(&self, id: i32) -> String {
        format!("{}:{id}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_value_is_kept_until_it_is_removed_though_redis_is_away() {
        let times = Times { process: PATIENCE * 100, redis: PATIENCE };
        let away = Redis::new("redis://127.0.0.1:1").unwrap();
        for far in [None, away.connection()] {
            let tiers = Tiers::new("item", &times, times.near(), far);
            assert!(tiers.get(7).await.is_none());
            tiers.put(7, "seven".to_owned()).await;
            assert_eq!(*tiers.get(7).await.unwrap(), "seven");
            tiers.remove(7).await;
            assert!(tiers.get(7).await.is_none());
        }
    }
}
