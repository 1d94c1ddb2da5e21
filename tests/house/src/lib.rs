//! Tests that read sources and documents, and run nothing: which crate and module uses which (`layers`), and
//! whether documents say what the sources say (`documents`). They depend on no crate of the workspace.

pub mod workspace;
