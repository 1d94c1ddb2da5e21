//! Settings of Fortran programs. Their runtime reads them.

use gasnet_wire::config::{Setting, setting};

/// The rows.
pub const SETTINGS: &[Setting] = &[setting(
    "CAF_HEAP",
    "size: 64M, 2G; default physical memory / ranks of the host",
    "Most memory that the coarrays of each image take (Fortran programs). Memory is used only where it is \
     touched.",
)];
