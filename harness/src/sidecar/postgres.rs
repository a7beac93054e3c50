//! PostgreSQL: seeded once into a template, copied afresh for every start.

use std::{io::Write, thread, time::Duration};

use postgres::{Client, NoTls};
use profiles::data::{Rows, schema};

use super::{POSTGRES_PORT, secret, wait};
use crate::host::{DATABASE_OWNER, HostError, Server, Service};

/// The database that entries get, and the one it is a copy of.
const DATABASE: &str = "benchmark";
const TEMPLATE: &str = "seeded";

/// One that runs, with its template seeded.
pub(super) struct Postgres {
    server: Box<dyn Server>,
    password: String,
    /// The digest over all rows as they were seeded.
    rows: String,
}

impl Postgres {
    /// Starts one and seeds it.
    pub(super) fn start(
        start: impl FnOnce(Service<'_>) -> Result<Box<dyn Server>, HostError>,
    ) -> Result<Postgres, HostError> {
        let password = secret();
        let server = start(Service::Postgres { password: &password })?;
        let rows = String::new();
        let mut postgres = Postgres { server, password, rows };
        let url = postgres.url_of("postgres");
        let mut admin = wait("postgres", &mut *postgres.server, || {
            Client::connect(&url, NoTls).map_err(|e| told(&e))
        })?;
        postgres.rows = postgres.seed(&mut admin).map_err(|e| {
            HostError::Unfit(format!(
                "the database is not seeded: {}",
                told(&e)
            ))
        })?;
        Ok(postgres)
    }

    fn seed(&self, admin: &mut Client) -> Result<String, postgres::Error> {
        admin.batch_execute(&format!("CREATE DATABASE {TEMPLATE}"))?;
        let mut db = Client::connect(&self.url_of(TEMPLATE), NoTls)?;
        db.batch_execute(schema::TABLES)?;
        let mut copy = db.copy_in(schema::COPY_ITEMS)?;
        let written = Rows::get()
            .write_copy(std::io::BufWriter::new(&mut copy))
            .and_then(|()| copy.flush());
        // A copy that broke off is an error of `finish`.
        drop(written);
        copy.finish()?;
        db.batch_execute(&schema::insert_users())?;
        db.batch_execute(schema::ROLE)?;
        db.batch_execute("VACUUM (ANALYZE, FREEZE)")?;
        Ok(db.query_one(schema::ROWS_QUERY, &[])?.get(0))
    }

    /// It, as a process.
    pub(super) fn server(&self) -> &dyn Server {
        &*self.server
    }

    /// Whether it still runs.
    pub(super) fn lives(&mut self) -> bool {
        self.server.exited().is_none()
    }

    /// The database of entries, as its owner sees it.
    pub(super) fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    fn url_of(&self, database: &str) -> String {
        let Postgres { password, .. } = self;
        format!(
            "postgres://{DATABASE_OWNER}:{password}@127.0.0.1:{POSTGRES_PORT}\
             /{database}?connect_timeout=5"
        )
    }

    /// Throws the database away and copies the template again; everybody who
    /// is connected to it is cut off. What comes of it is compared with what
    /// was seeded.
    pub(super) fn reset(&mut self) -> Result<(), HostError> {
        let unfit = |why: String| {
            HostError::Unfit(format!("the database cannot be reset: {why}"))
        };
        self.copy().map_err(|e| unfit(told(&e)))?;
        let rows: String = Client::connect(&self.url(), NoTls)
            .and_then(|mut db| db.query_one(schema::ROWS_QUERY, &[]))
            .map_err(|e| unfit(told(&e)))?
            .get(0);
        match rows == self.rows {
            true => Ok(()),
            false => {
                Err(unfit("its rows are not those that were seeded".into()))
            }
        }
    }

    fn copy(&self) -> Result<(), postgres::Error> {
        let mut admin = Client::connect(&self.url_of("postgres"), NoTls)?;
        let drop = format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)");
        admin.batch_execute(&drop)?;
        let copy = format!("CREATE DATABASE {DATABASE} TEMPLATE {TEMPLATE}");
        let mut last = admin.batch_execute(&copy);
        // Who was connected to the template may just be leaving.
        for _ in 0..50 {
            if last.is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
            last = admin.batch_execute(&copy);
        }
        last
    }

    /// What somebody made in the database or took from it, if anything.
    pub(super) fn tampered(&mut self) -> Option<String> {
        if !self.lives() {
            return Some("the database ended during the shot".into());
        }
        let found = Client::connect(&self.url(), NoTls)
            .and_then(|mut db| db.query(schema::OBJECTS_QUERY, &[]));
        let found: Vec<String> = match found {
            Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
            Err(e) => {
                return Some(format!(
                    "the database cannot be read: {}",
                    told(&e)
                ));
            }
        };
        let more = found.iter().find(|o| !schema::OBJECTS.contains(&&o[..]));
        let lost =
            schema::OBJECTS.iter().find(|o| !found.iter().any(|f| f == *o));
        match (more, lost) {
            (Some(more), _) => Some(format!(
                "the entry made something in the database: {}",
                crate::show::line(more)
            )),
            (None, Some(lost)) => {
                Some(format!("the entry removed `{lost}` from the database"))
            }
            (None, None) => None,
        }
    }
}

fn told(e: &postgres::Error) -> String {
    match e.as_db_error() {
        Some(db) => format!("the database says: {}", db.message()),
        None => e.to_string(),
    }
}
