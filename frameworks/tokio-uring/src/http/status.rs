//! The statuses that are answered.

/// A status code with its reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Status {
    pub code: u16,
    pub reason: &'static str,
}

impl Status {
    pub const BAD_REQUEST: Self = Self::new(400, "Bad Request");
    pub const NOT_FOUND: Self = Self::new(404, "Not Found");
    pub const METHOD: Self = Self::new(405, "Method Not Allowed");
    pub const CONTENT_TOO_LARGE: Self = Self::new(413, "Content Too Large");
    pub const EXPECTATION_FAILED: Self = Self::new(417, "Expectation Failed");
    pub const UPGRADE: Self = Self::new(426, "Upgrade Required");
    pub const FIELDS_TOO_LARGE: Self =
        Self::new(431, "Request Header Fields Too Large");
    pub const NOT_IMPLEMENTED: Self = Self::new(501, "Not Implemented");
    pub const VERSION: Self = Self::new(505, "HTTP Version Not Supported");

    const fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason }
    }
}
