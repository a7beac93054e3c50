//! The database of the contract, as SQL: its tables, and the role that entries
//! come as.

use super::{USERS, User};

/// The role, and its password, that entries come as. It may read, insert and
/// update, and nothing else.
pub const ENTRY_ROLE: &str = "bench";

/// Both tables, empty.
pub const TABLES: &str = "
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    category TEXT NOT NULL,
    price INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    active BOOLEAN NOT NULL,
    tags JSONB NOT NULL,
    rating_score INTEGER NOT NULL,
    rating_count INTEGER NOT NULL
);
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    plan TEXT NOT NULL
);
";

/// What [`Rows::write_copy`](super::Rows::write_copy) is copied by.
pub const COPY_ITEMS: &str = "COPY items FROM STDIN";

/// The role of entries, once the tables are there.
pub const ROLE: &str = "
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE ROLE bench LOGIN PASSWORD 'bench'
    NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
GRANT SELECT, INSERT, UPDATE ON items TO bench;
GRANT SELECT ON users TO bench;
";

/// The rows of `users`. Nothing in them needs an escape.
pub fn insert_users() -> String {
    let row = |user: &User| {
        let User { id, name, email, plan } = user;
        format!("({id}, '{name}', '{email}', '{plan}')")
    };
    let rows: Vec<String> = USERS.iter().map(row).collect();
    format!("INSERT INTO users VALUES {};", rows.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_is_inserted_and_no_text_ends_early() {
        let text = insert_users();
        for user in &USERS {
            assert!(text.contains(&format!("({}, '{}'", user.id, user.name)));
        }
        assert_eq!(text.matches('\'').count(), USERS.len() * 6);
        assert!(ROLE.contains(&format!("ROLE {ENTRY_ROLE} ")));
    }
}
