//! Why a command could not do what was asked, and whose fault that is.

/// The exit code to end with; one meaning each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum ExitClass {
    /// All that was asked was done.
    Done = 0,
    /// Our fault.
    Ours = 1,
    /// Usage, or a bad definition or meta file.
    Usage = 2,
    /// An entry failed validation.
    Validation = 3,
    /// Finished, but some cases failed or may not be published.
    Cases = 4,
    /// The rig is unfit.
    Unfit = 5,
}

/// What stops a whole command. Failures of one entry never do.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The question was wrong.
    #[error("{0}")]
    Usage(String),
    /// The machine cannot measure as it is.
    #[error("{0}")]
    Unfit(String),
    /// Ours: a broken installation, a full disk, a bug.
    #[error("{0}")]
    Ours(String),
}

impl Problem {
    /// The exit code's class.
    pub fn class(&self) -> ExitClass {
        match self {
            Problem::Usage(_) => ExitClass::Usage,
            Problem::Unfit(_) => ExitClass::Unfit,
            Problem::Ours(_) => ExitClass::Ours,
        }
    }
}

impl From<profiles::catalog::CatalogError> for Problem {
    fn from(error: profiles::catalog::CatalogError) -> Problem {
        Problem::Usage(error.to_string())
    }
}

impl From<crate::host::HostError> for Problem {
    fn from(error: crate::host::HostError) -> Problem {
        use crate::host::HostError;
        match error {
            HostError::Unfit(why) => Problem::Unfit(why),
            HostError::Ours(why) | HostError::Entry { why, .. } => {
                Problem::Ours(why)
            }
        }
    }
}
