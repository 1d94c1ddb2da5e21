//! Tests that read sources and documents, and run nothing: which crate and module uses which (`layers`),
//! whether documents say what the sources say (`documents`), and what crates let others use (`api`). They
//! depend on no crate of the workspace.

pub mod workspace;
