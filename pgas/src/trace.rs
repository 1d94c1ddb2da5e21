//! Spans of the crate `tracing`, with the feature of that name; nothing without.

/// Enters a span until the end of the block.
macro_rules! span {
    ($name:literal, $($field:ident = $value:expr),*) => {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!(target: "pgas", $name, $($field = $value),*).entered();
    };
}
pub(crate) use span;
