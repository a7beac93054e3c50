//! The judge's own eyes on the database: what an entry answers is held
//! against what the tables say, and the tables against what they must be.

use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls, Row};
use profiles::data::{Rows, schema};
use serde_json::{Value, json};

/// By this the judge's own connections are told from the entry's.
const OWN_NAME: &str = "arena-judge";
const CONNECT: Duration = Duration::from_secs(3);
/// No statement of the judge takes so long.
const STATEMENT_MS: u32 = 5000;

/// A connection as the owner of the tables.
pub(crate) struct Database {
    client: Client,
}

/// One row of `items`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) price: i32,
    pub(crate) quantity: i32,
    pub(crate) active: bool,
    pub(crate) tags: Value,
    pub(crate) score: i32,
    pub(crate) count: i32,
}

impl Item {
    fn of(row: &Row) -> Item {
        let tags: String = row.get(6);
        Item {
            id: row.get(0),
            name: row.get(1),
            category: row.get(2),
            price: row.get(3),
            quantity: row.get(4),
            active: row.get(5),
            tags: serde_json::from_str(&tags).unwrap_or_default(),
            score: row.get(7),
            count: row.get(8),
        }
    }

    /// The item as entries answer it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "category": self.category,
            "price": self.price,
            "quantity": self.quantity,
            "active": self.active,
            "tags": self.tags,
            "rating": { "score": self.score, "count": self.count },
        })
    }
}

impl From<&profiles::data::Row> for Item {
    /// The row as the data has it.
    fn from(row: &profiles::data::Row) -> Item {
        let tags: Vec<&str> = row.tags.iter().collect();
        Item {
            id: row.id as i32,
            name: row.name(),
            category: row.category.into(),
            price: row.price as i32,
            quantity: row.quantity as i32,
            active: row.active,
            tags: tags.into(),
            score: row.rating_score as i32,
            count: row.rating_count as i32,
        }
    }
}

const COLUMNS: &str = "id, name, category, price, quantity, active, \
                       tags::text, rating_score, rating_count";

impl Database {
    /// Connects to `url`.
    pub(crate) fn open(url: &str, by: Instant) -> Result<Database, String> {
        let mut config: Config =
            url.parse().map_err(|e| format!("no database URL: {e}"))?;
        let left = by.saturating_duration_since(Instant::now());
        config
            .connect_timeout(left.clamp(Duration::from_millis(1), CONNECT))
            .application_name(OWN_NAME)
            .options(&format!("-c statement_timeout={STATEMENT_MS}"));
        let client = config.connect(NoTls).map_err(|e| told(&e))?;
        Ok(Database { client })
    }

    /// The rows with a price in this range, by id.
    pub(crate) fn priced(
        &mut self,
        min: i32,
        max: i32,
    ) -> Result<Vec<Item>, String> {
        let text = format!(
            "SELECT {COLUMNS} FROM items WHERE price BETWEEN $1 AND $2 \
             ORDER BY id"
        );
        let rows =
            self.client.query(&text, &[&min, &max]).map_err(|e| told(&e))?;
        Ok(rows.iter().map(Item::of).collect())
    }

    /// One row.
    pub(crate) fn item(&mut self, id: i32) -> Result<Option<Item>, String> {
        let text = format!("SELECT {COLUMNS} FROM items WHERE id = $1");
        let row = self.client.query_opt(&text, &[&id]).map_err(|e| told(&e))?;
        Ok(row.as_ref().map(Item::of))
    }

    /// Writes a row, over the one with its id if there is one.
    pub(crate) fn put(&mut self, item: &Item) -> Result<(), String> {
        let tags = item.tags.to_string();
        let text = "INSERT INTO items VALUES \
                    ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8, $9) \
                    ON CONFLICT (id) DO UPDATE SET name = $2, category = $3, \
                    price = $4, quantity = $5, active = $6, \
                    tags = $7::text::jsonb, rating_score = $8, \
                    rating_count = $9";
        let Item { id, name, category, price, quantity, active, .. } = item;
        let all: [&(dyn postgres::types::ToSql + Sync); 9] = [
            id,
            name,
            category,
            price,
            quantity,
            active,
            &tags,
            &item.score,
            &item.count,
        ];
        self.client.execute(text, &all).map(drop).map_err(|e| told(&e))
    }

    /// Takes a row out.
    pub(crate) fn delete(&mut self, id: i32) -> Result<(), String> {
        let text = "DELETE FROM items WHERE id = $1";
        self.client.execute(text, &[&id]).map(drop).map_err(|e| told(&e))
    }

    /// Takes out rows that the load's requests made, and puts back those that
    /// they changed.
    pub(crate) fn tidy(&mut self) -> Result<(), String> {
        let made = "DELETE FROM items WHERE id > 100000";
        self.client.batch_execute(made).map_err(|e| told(&e))?;
        let text = "SELECT id FROM items WHERE name = ANY($1)";
        let names = ["Updated Product", "bench-updated", "New Product"];
        let names: Vec<&str> = names.to_vec();
        let rows = self.client.query(text, &[&names]).map_err(|e| told(&e))?;
        for row in rows {
            let id: i32 = row.get(0);
            if let Some(row) = Rows::get().row(id.into()) {
                self.put(&Item::from(&row))?;
            }
        }
        Ok(())
    }

    /// Roles that others than the judge are connected as, each with whether it
    /// may do anything.
    pub(crate) fn roles(&mut self) -> Result<Vec<(String, bool)>, String> {
        let text = "SELECT DISTINCT a.usename::text, r.rolsuper \
                    FROM pg_stat_activity a JOIN pg_roles r \
                    ON r.rolname = a.usename \
                    WHERE a.datname = current_database() \
                    AND a.backend_type = 'client backend' \
                    AND a.application_name <> $1";
        let rows =
            self.client.query(text, &[&OWN_NAME]).map_err(|e| told(&e))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Everything that anybody made in the database: a line each, sorted.
    pub(crate) fn objects(&mut self) -> Result<Vec<String>, String> {
        let rows = self
            .client
            .query(schema::OBJECTS_QUERY, &[])
            .map_err(|e| told(&e))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

fn told(e: &postgres::Error) -> String {
    match e.as_db_error() {
        Some(db) => format!("the database says: {}", db.message()),
        None => format!("the database: {e}"),
    }
}
