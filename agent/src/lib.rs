//! Placeholder crate doc.
