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

/// Prints an error with its whole chain.
pub fn report(error: &anyhow::Error) {
    eprintln!("arena: error: {error:#}");
}
