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

/// Asks for everything that anybody made in the database: a line each, sorted.
pub const OBJECTS_QUERY: &str = "
SELECT 'column ' || c.relname || '.' || a.attname || ' '
       || format_type(a.atttypid, a.atttypmod)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_t%'
UNION ALL
SELECT 'index ' || indexname || ' on ' || tablename
FROM pg_indexes
WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
  AND schemaname NOT LIKE 'pg\\_t%'
UNION ALL
SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'rule ' || rulename FROM pg_rules
WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
UNION ALL
SELECT 'function ' || p.proname FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
UNION ALL
SELECT 'setting ' || unnest(setconfig) FROM pg_db_role_setting
ORDER BY 1
";

/// What [`OBJECTS_QUERY`] answers when nobody made anything.
pub const OBJECTS: [&str; 15] = [
    "column items.active boolean",
    "column items.category text",
    "column items.id integer",
    "column items.name text",
    "column items.price integer",
    "column items.quantity integer",
    "column items.rating_count integer",
    "column items.rating_score integer",
    "column items.tags jsonb",
    "column users.email text",
    "column users.id integer",
    "column users.name text",
    "column users.plan text",
    "index items_pkey on items",
    "index users_pkey on users",
];

/// Asks for one digest over every row of both tables.
pub const ROWS_QUERY: &str = "
SELECT md5(coalesce((SELECT string_agg(md5(items::text), '' ORDER BY id)
                     FROM items), '')
        || coalesce((SELECT string_agg(users::text, '' ORDER BY id)
                     FROM users), ''))
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
