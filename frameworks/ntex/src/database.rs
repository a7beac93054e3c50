//! PostgreSQL by tokio-postgres, pooled by deadpool.

use std::{
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use anyhow::{Context, Result};
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use tokio_postgres::{Config, NoTls, Row, types::ToSql};

use crate::item::{BY_ID, Change, Item, UPDATE};
use crate::refused::Refused;

/// How long a request waits for a connection, and a connection for its making.
const PATIENCE: Duration = Duration::from_secs(3);

/// A worker keeps about this many connections busy; more only queue elsewhere.
const CONNECTIONS_PER_WORKER: usize = 4;

pub type Parameter<'a> = &'a (dyn ToSql + Sync);

/// The database is not set or cannot be asked now: 503 where nothing else is
/// said. The next request tries again.
#[derive(Debug)]
pub struct Unavailable;

impl From<Unavailable> for Refused {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

/// Where the database is, and how much of it one worker may use.
#[derive(Clone)]
pub struct Address {
    config: Config,
    connections: usize,
    failing: Arc<AtomicBool>,
}

impl Address {
    pub fn new(url: &str, max_connections: usize) -> Result<Self> {
        let config = url
            .parse()
            .context("DATABASE_URL is no address of a PostgreSQL database")?;
        let workers = available_parallelism()?.get();
        let connections = connections(max_connections, workers);
        Ok(Self { config, connections, failing: Arc::default() })
    }
}

/// A sixteenth of the connections is left to others.
fn connections(max: usize, workers: usize) -> usize {
    let share = (max - max / 16) / workers;
    CONNECTIONS_PER_WORKER.min(share).max(1)
}

/// One worker's connections. They are made as requests need them, and driven on
/// the thread that uses them.
#[derive(Clone, Default)]
pub struct Database {
    pool: Option<Pool>,
    failing: Arc<AtomicBool>,
}

impl Database {
    pub fn new(address: Option<&Address>) -> Self {
        let Some(address) = address else { return Self::default() };
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager =
            Manager::from_config(address.config.clone(), NoTls, manager);
        let pool = Pool::builder(manager)
            .max_size(address.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .build()
            .expect("a runtime is named");
        Self { pool: Some(pool), failing: Arc::clone(&address.failing) }
    }

    pub async fn rows(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Unavailable> {
        let client = self.client().await?;
        let statement = self.told(client.prepare_cached(sql).await)?;
        self.told(client.query(&statement, parameters).await)
    }

    /// Returns how many rows were written.
    pub async fn write(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Unavailable> {
        let client = self.client().await?;
        let statement = self.told(client.prepare_cached(sql).await)?;
        self.told(client.execute(&statement, parameters).await)
    }

    pub async fn items(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Item>, Unavailable> {
        let rows = self.rows(sql, parameters).await?;
        self.told(rows.iter().map(Item::of).collect())
    }

    pub async fn item(&self, id: i32) -> Result<Option<Item>, Unavailable> {
        Ok(self.items(BY_ID, &[&id]).await?.pop())
    }

    /// Returns whether there is such an item.
    pub async fn update(
        &self,
        id: i32,
        change: &Change,
    ) -> Result<bool, Unavailable> {
        let Change { name, price, quantity } = change;
        let written = self.write(UPDATE, &[&id, name, price, quantity]).await?;
        Ok(written > 0)
    }

    async fn client(&self) -> Result<Object, Unavailable> {
        let pool = self.pool.as_ref().ok_or(Unavailable)?;
        self.told(pool.get().await)
    }

    /// Says on stderr why the database cannot be asked, once until it can.
    pub fn told<T, E: Display>(
        &self,
        result: Result<T, E>,
    ) -> Result<T, Unavailable> {
        let failing = self.failing.load(Ordering::Relaxed);
        if failing != result.is_err() {
            self.failing.store(!failing, Ordering::Relaxed);
        }
        result.map_err(|error| {
            if !failing {
                eprintln!("database: {error}");
            }
            Unavailable
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused() {
        assert!(Address::new("localhost", 256).is_err());
    }

    #[test]
    fn no_more_connections_are_made_than_allowed() {
        assert_eq!(connections(256, 2), 4);
        assert_eq!(connections(256, 64), 3);
        assert_eq!(connections(0, 64), 1);
    }

    #[ntex::test]
    async fn without_a_database_nothing_is_found_and_nothing_panics() {
        assert!(Database::default().item(1).await.is_err());
        let away = Address::new("postgres://u:p@127.0.0.1:1/d", 4).unwrap();
        assert!(Database::new(Some(&away)).item(1).await.is_err());
    }
}
