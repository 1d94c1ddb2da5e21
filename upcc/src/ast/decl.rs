//! The unit, its entities and their declarations.

use super::{Block, ConstValue, DeclId, Expr};
use crate::token::{Sym, TokIdx, TokRange, TokenBuf};
use crate::types::{EnumId, ExprId, RecordId, TypeId, Types};

/// A checked translation unit.
#[derive(Debug)]
pub struct TranslationUnit {
    /// Tokens and text.
    pub tokens: TokenBuf,
    /// Types.
    pub types: Types,
    /// Declared entities, by [`DeclId`].
    pub decls: Vec<Decl>,
    /// Bounds of variable-length arrays, by [`ExprId`].
    pub exprs: Vec<Expr>,
    /// Everything at file scope, in order.
    pub items: Vec<Item>,
}

impl TranslationUnit {
    /// The entity.
    pub fn decl(&self, d: DeclId) -> &Decl {
        &self.decls[d.0 as usize]
    }
    /// The spelling of a name.
    pub fn name(&self, s: Sym) -> &str {
        self.tokens.name(s)
    }
}

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
    /// Type; after all redeclarations the composite type. `[*]` layouts are numbers, bounds from initialisers filled in. A
    /// parameter's is the adjusted type.
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
    /// Its own translation differs from its tokens: the type mentions shared somewhere, or the initialiser does.
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

/// Something at file scope.
#[derive(Clone, Debug)]
pub struct Item {
    /// What.
    pub kind: ItemKind,
    /// Its tokens, the `;` included.
    pub toks: TokRange,
    /// See the module documentation.
    pub has_upc: bool,
}

/// Kinds of [`Item`].
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// Declaration.
    Decl(Declaration),
    /// Function definition.
    Func(Box<FuncDef>),
    /// File-scope `asm`.
    Asm,
    /// A pragma other than `#pragma upc`: one token, to be kept in place.
    Pragma,
    /// `#pragma upc ...`: handled here, emit nothing.
    UpcPragma,
    /// `_Static_assert`, already checked.
    StaticAssert,
    /// A stray `;`.
    Empty,
}

/// A declaration: specifiers and declarators.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Tokens from the first specifier to the `;`.
    pub toks: TokRange,
    /// The specifiers.
    pub spec: DeclSpec,
    /// The declarators; none in `struct s {...};`.
    pub declarators: Vec<InitDeclarator>,
    /// See the module documentation.
    pub has_upc: bool,
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
    /// All records and enumerations defined within them (also inside other definitions, `typeof` and so on), in order of
    /// completion.
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

/// One declarator of a declaration, with its initialiser.
#[derive(Clone, Debug)]
pub struct InitDeclarator {
    /// The entity.
    pub decl: DeclId,
    /// The type this declarator gives (the entity's type may be a composite).
    pub ty: TypeId,
    /// Tokens of the declarator alone.
    pub toks: TokRange,
    /// The name token.
    pub name: TokIdx,
    /// Attributes and `asm` label after the declarator (and attributes before it).
    pub suffix: Vec<TokRange>,
    /// Initialiser.
    pub init: Option<Init>,
    /// Bounds of variable-length arrays in the type, in order of evaluation.
    pub vla: Vec<ExprId>,
    /// This is a definition, a tentative one, or a mere declaration.
    pub def: Definition,
    /// Declarator or initialiser (or specifiers) use UPC.
    pub has_upc: bool,
    /// Declarator (with the specifiers) uses UPC, initialiser aside: if false, specifier and declarator tokens stand as read.
    pub declarator_upc: bool,
}

/// An initialiser, converted to the type of what it initialises.
#[derive(Clone, Debug)]
pub enum Init {
    /// One expression, implicit conversions included. A string literal that initialises an array is the bare literal, of the
    /// array type of the literal.
    Expr(Box<Expr>),
    /// A braced list.
    List(InitList),
}

/// A braced initialiser list.
#[derive(Clone, Debug)]
pub struct InitList {
    /// Tokens, braces included.
    pub toks: TokRange,
    /// What it initialises.
    pub ty: TypeId,
    /// As written, but with every item's target resolved.
    pub items: Vec<InitItem>,
    /// See the module documentation.
    pub has_upc: bool,
}

/// One item of a braced list.
#[derive(Clone, Debug)]
pub struct InitItem {
    /// Designator tokens (`.a[3] =`, `a:`), empty if none.
    pub designator: TokRange,
    /// Where it goes, from the object of *this list*.
    pub path: Vec<PathElem>,
    /// Type of the target (the subobject).
    pub ty: TypeId,
    /// The value.
    pub init: Init,
}

/// A step into an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathElem {
    /// Array element.
    Index(u64),
    /// Elements `lo..=hi` (GNU).
    Range(u64, u64),
    /// Member, by index in [`crate::types::Record::fields`].
    Field(u32),
}

impl Init {
    /// Tokens.
    pub fn toks(&self) -> TokRange {
        match self {
            Init::Expr(e) => e.toks,
            Init::List(l) => l.toks,
        }
    }
    /// See the module documentation.
    pub fn has_upc(&self) -> bool {
        match self {
            Init::Expr(e) => e.has_upc,
            Init::List(l) => l.has_upc,
        }
    }
    /// All leaves with their full paths from the initialised object, in the order written (a later one overrides an earlier
    /// one of the same path). `ty` is the initialised type.
    pub fn leaves(&self, ty: TypeId) -> Vec<(Vec<PathElem>, TypeId, &Expr)> {
        fn go<'a>(
            i: &'a Init,
            path: &mut Vec<PathElem>,
            ty: TypeId,
            out: &mut Vec<(Vec<PathElem>, TypeId, &'a Expr)>,
        ) {
            match i {
                Init::Expr(e) => out.push((path.clone(), ty, e)),
                Init::List(l) => {
                    for it in &l.items {
                        let n = path.len();
                        path.extend_from_slice(&it.path);
                        go(&it.init, path, it.ty, out);
                        path.truncate(n);
                    }
                }
            }
        }
        let mut out = Vec::new();
        go(self, &mut Vec::new(), ty, &mut out);
        out
    }
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct FuncDef {
    /// The function.
    pub decl: DeclId,
    /// Specifiers.
    pub spec: DeclSpec,
    /// Tokens of the declarator (and attributes after it).
    pub declarator: TokRange,
    /// Name token.
    pub name: TokIdx,
    /// Parameters in order (K&R ones too).
    pub params: Vec<DeclId>,
    /// Parameter declarations of a K&R definition.
    pub knr: Vec<Declaration>,
    /// Bounds of variable-length arrays in parameter types.
    pub vla: Vec<ExprId>,
    /// The body.
    pub body: Block,
    /// All tokens.
    pub toks: TokRange,
    /// Specifiers or declarator use UPC.
    pub sig_upc: bool,
    /// Anything uses UPC.
    pub has_upc: bool,
}
