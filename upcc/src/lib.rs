//! A UPC-to-C compiler.
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`driver`] | a command line | commands: preprocess, translate, compile, link ([`link`]: facts that objects carry) |
//! | [`front`] | preprocessed text | the typed tree, or diagnostics |
//! | [`lower`] | the typed tree | the [intermediate form](ir): where shared objects are, what is done to them |
//! | [`opt`] | statements, places | the code of the intermediate form: what becomes of loops and accesses |
//! | [`emit`] | that code, through the trait [`LoweredProgram`](ir::LoweredProgram) | C, against `upcc_abi.h` |
//! | [`plain`] | tokens, where statements are | C that the C compiler's warnings are asked about |
//!
//! Source text without UPC is emitted as the tokens that were read. UPC goes through all stages; for
//! example `for (i = 0; i < n; i++) x += a[i + 1];`:
//!
//! - [`front`] makes a `for` statement of it, in which `a[i + 1]` is a node with an id, below a conversion
//!   that loads it.
//! - [`lower`] says that it reads `element(start(a), [i + 1], 64 x 8)`.
//! - [`opt`] finds that the loop counts `i` up, and that this element moves on by one with it: the statement
//!   becomes a `Loop` with a `Run`, in stretches that end where blocks do. The body is made for a context in
//!   which that node is known by its run.
//! - [`emit`] writes the loop over stretches, and the body, in which the node is `pointer[index]`.
//!
//! `upcc --dump=ir` prints what is lowered and what each pass makes of it. Stages refer to expressions by
//! their ids.
#![forbid(unsafe_code)]

pub mod cc;
pub mod diag;
pub mod driver;
pub mod dump;
pub mod emit;
pub mod front;
pub mod ir;
pub mod link;
pub mod lower;
pub mod opt;
pub mod passes;
pub mod plain;
