//! Declared entities, and what specifiers say of them.

use super::op::ConstValue;
use crate::front::token::{Sym, TokIdx, TokRange};
use crate::front::types::{DeclId, EnumId, RecordId, TypeId};

/// Kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclKind {
    /// Object with static or automatic storage.
    Var,
    /// Function.
    Func,
    /// Parameter.
    Param,
    /// Typedef name.
    Typedef,
    /// Enumeration constant; its value is [`Decl::value`].
    EnumConst,
}

/// Storage class as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "named after the keywords")]
pub enum Storage {
    #[default]
    None,
    Auto,
    Register,
    Static,
    Extern,
    Typedef,
}

/// Linkage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Locals, parameters, typedef names, block-scope statics.
    None,
    /// `static` at file scope.
    Internal,
    /// Visible to other files.
    External,
}

/// How far an entity is defined in this unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    /// Declared only (`extern`, function prototype).
    Declared,
    /// File-scope object without initialiser and without `extern`.
    Tentative,
    /// Definition.
    Defined,
}

/// A declared entity.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Name.
    pub name: Sym,
    /// Kind.
    pub kind: DeclKind,
    /// Type; after all redeclarations the composite type. `[*]` layouts are numbers, bounds from initialisers
    /// filled in. A parameter's is the adjusted type.
    pub ty: TypeId,
    /// Storage class of the first declaration.
    pub storage: Storage,
    /// Linkage.
    pub linkage: Linkage,
    /// Has static storage duration (file scope, `static`, `extern`).
    pub is_static: bool,
    /// `_Thread_local`
    pub thread_local: bool,
    /// `inline` on some declaration.
    pub inline: bool,
    /// Declared or defined here.
    pub def: Definition,
    /// Scope depth of the first declaration: 0 file, 1 parameters, 2.. blocks.
    pub scope: u32,
    /// The function whose body declares it, if any.
    pub function: Option<DeclId>,
    /// The name token of the first declaration (of the definition once there is one).
    pub tok: TokIdx,
    /// First declared in a system header.
    pub system: bool,
    /// Its own translation differs from its tokens: the type mentions shared somewhere, or the initialiser
    /// does.
    pub has_upc: bool,
    /// Value of an enumeration constant.
    pub value: Option<ConstValue>,
    /// Named anywhere outside its own declarators.
    pub used: bool,
    /// `&` was applied to it or a part of it, or `asm` uses it.
    pub addressed: bool,
    /// Made by an implicit function declaration.
    pub implicit: bool,
    /// Known to the compiler (`__builtin_*`) rather than declared.
    pub builtin: bool,
    /// Alignment asked for by `_Alignas` or `__attribute__((aligned))`.
    pub align: Option<u64>,
    /// Assembler name given by `__asm__("name")`: the tokens.
    pub asm_label: Option<TokRange>,
}

/// Declaration specifiers.
#[derive(Clone, Debug)]
pub struct DeclSpec {
    /// Tokens, attributes among them included.
    pub toks: TokRange,
    /// Storage class.
    pub storage: Storage,
    /// `inline`
    pub inline: bool,
    /// `_Noreturn`
    pub noreturn: bool,
    /// `_Thread_local`
    pub thread_local: bool,
    /// `__extension__` before them.
    pub extension: bool,
    /// The type they name.
    pub ty: TypeId,
    /// A struct or union *defined* within them (outermost; those nested in it come first in `defines`).
    pub record: Option<RecordId>,
    /// An enumeration defined within them.
    pub enumeration: Option<EnumId>,
    /// All records and enumerations defined within them (also inside other definitions, `typeof` and so on),
    /// in order of completion.
    pub defines: Vec<TagId>,
    /// Attributes found among them (outside of record definitions).
    pub attrs: Vec<TokRange>,
    /// `_Alignas` specifiers.
    pub alignas: Vec<TokRange>,
    /// The specifiers' tokens are not valid C, or do not mean the same in C.
    pub has_upc: bool,
}

/// A record or enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "obvious")]
pub enum TagId {
    Record(RecordId),
    Enum(EnumId),
}

/// A step into an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathElem {
    /// Array element.
    Index(u64),
    /// Elements `lo..=hi` (GNU).
    Range(u64, u64),
    /// Member, by index in [`crate::front::types::Record::fields`].
    Field(u32),
}
