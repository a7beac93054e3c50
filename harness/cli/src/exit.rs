//! Exit codes: what a script may rely on.

use harness::problem::Problem;
use harness::store::StoreError;
use profiles::catalog::CatalogError;

pub use harness::problem::ExitClass as Class;

/// An error that knows its class.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Classed {
    class: Class,
    message: String,
}

/// An error of `class`; the message says expected, found and what to do.
pub fn fail(class: Class, message: impl Into<String>) -> anyhow::Error {
    Classed { class, message: message.into() }.into()
}

/// The class of any error a command returns.
pub fn class_of(error: &anyhow::Error) -> Class {
    for cause in error.chain() {
        if let Some(classed) = cause.downcast_ref::<Classed>() {
            return classed.class;
        }
        if let Some(problem) = cause.downcast_ref::<Problem>() {
            return problem.class();
        }
        if cause.is::<CatalogError>() {
            return Class::Usage;
        }
        if let Some(store) = cause.downcast_ref::<StoreError>() {
            return match store {
                StoreError::Schema { .. } | StoreError::Broken { .. } => {
                    Class::Usage
                }
                _ => Class::Ours,
            };
        }
    }
    Class::Ours
}

/// Prints an error with its causes, each once: a cause often stands in the
/// message already.
pub fn report(error: &anyhow::Error) {
    eprintln!("arena: error: {}", in_words(error));
}

fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if words.is_empty() {
            words = cause;
        } else if !words.contains(&cause) {
            words.push_str(": ");
            words.push_str(&cause);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_stands_in_the_message_is_not_said_twice() {
        let source = || std::io::Error::other("no space");
        let path = || "x".to_string();
        let store = CatalogError::Read { path: path(), source: source() };
        let said = in_words(&anyhow::Error::from(store).context("a run"));
        assert_eq!(
            said,
            "a run: x: no space; run inside a checkout of the arena"
        );
        let said = in_words(&anyhow::Error::from(source()).context("a run"));
        assert_eq!(said, "a run: no space");
    }
}
