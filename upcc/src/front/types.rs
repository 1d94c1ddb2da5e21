//! The type model.
//!
//! Types live in a [`Types`] table and are named by [`TypeId`]: equal structure means equal id. An id stands
//! for a [`TypeKind`] plus [`Quals`]. *Sugar* (typedef names, `typeof`) is a kind of its own;
//! [`Types::canon`] strips it at every level, so two types are the same type exactly if their canonical ids
//! are equal (except for incomplete and variable-length arrays and unprototyped functions, which are
//! *compatible* with more than themselves; see [`Types::compatible`]).
//!
//! UPC vocabulary: a type is *shared* if its *ultimate element type* (strip all array layers) is
//! shared-qualified. Qualifiers of an array are always kept on its element, never on the array. A
//! *pointer-to-shared* (PTS) is a pointer whose pointee is a shared type, any other pointer is private (PTL).

use crate::front::token::{Sym, TokRange};
use rustc_hash::FxHashMap;

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);
/// A struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub u32);
/// An enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);
/// A declared entity: index into [`crate::front::ast::TranslationUnit::decls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(pub u32);

/// The bound of a variable-length array or the operand of a `typeof`: index into
/// [`crate::front::ast::TranslationUnit::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Layout of a shared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Block {
    /// `shared []` and `shared [0]`: all elements on one thread.
    Indefinite,
    /// `shared [n]`, n > 0; plain `shared` is 1.
    N(u64),
    /// `shared [*]`, not yet resolved. Never seen outside the front end: the type of a checked declaration
    /// has a number.
    Star,
}

impl Block {
    /// The block size as `upc_blocksizeof` gives it: 0 if indefinite.
    pub fn size(self) -> u64 {
        match self {
            Block::Indefinite | Block::Star => 0,
            Block::N(n) => n,
        }
    }
}

/// Reference-type qualifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ref {
    /// `strict`
    Strict,
    /// `relaxed`
    Relaxed,
}

/// Type qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
#[expect(missing_docs, reason = "named after the keywords")]
pub struct Quals {
    pub is_const: bool,
    pub is_volatile: bool,
    pub is_restrict: bool,
    pub is_atomic: bool,
    /// Layout if shared.
    pub shared: Option<Block>,
    /// `strict` or `relaxed`, if written.
    pub reference: Option<Ref>,
}

impl Quals {
    /// No qualifier.
    pub const NONE: Quals = Quals {
        is_const: false,
        is_volatile: false,
        is_restrict: false,
        is_atomic: false,
        shared: None,
        reference: None,
    };
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == Quals::NONE
    }
    /// Both; the layout and reference of `self` win.
    pub fn union(self, o: Quals) -> Quals {
        Quals {
            is_const: self.is_const || o.is_const,
            is_volatile: self.is_volatile || o.is_volatile,
            is_restrict: self.is_restrict || o.is_restrict,
            is_atomic: self.is_atomic || o.is_atomic,
            shared: self.shared.or(o.shared),
            reference: self.reference.or(o.reference),
        }
    }
    /// Without `shared`, `strict` and `relaxed`.
    pub fn private(self) -> Quals {
        Quals { shared: None, reference: None, ..self }
    }
}

/// Arithmetic types (and void), as of x86-64 System V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "named after the C types")]
pub enum Scalar {
    Void,
    Bool,
    Char,
    SChar,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    LLong,
    ULLong,
    Int128,
    UInt128,
    /// `__bf16`
    BFloat16,
    Float16,
    Float,
    Double,
    LongDouble,
    Float32,
    Float64,
    Float32x,
    Float64x,
    Float128,
    Decimal32,
    Decimal64,
    Decimal128,
}

impl Scalar {
    /// C spelling.
    pub fn name(self) -> &'static str {
        use Scalar::*;
        match self {
            Void => "void",
            Bool => "_Bool",
            Char => "char",
            SChar => "signed char",
            UChar => "unsigned char",
            Short => "short",
            UShort => "unsigned short",
            Int => "int",
            UInt => "unsigned int",
            Long => "long",
            ULong => "unsigned long",
            LLong => "long long",
            ULLong => "unsigned long long",
            Int128 => "__int128",
            UInt128 => "unsigned __int128",
            BFloat16 => "__bf16",
            Float16 => "_Float16",
            Float => "float",
            Double => "double",
            LongDouble => "long double",
            Float32 => "_Float32",
            Float64 => "_Float64",
            Float32x => "_Float32x",
            Float64x => "_Float64x",
            Float128 => "_Float128",
            Decimal32 => "_Decimal32",
            Decimal64 => "_Decimal64",
            Decimal128 => "_Decimal128",
        }
    }
    /// Size in bytes (1 for void, as gcc has it).
    pub fn size(self) -> u64 {
        use Scalar::*;
        match self {
            Void | Bool | Char | SChar | UChar => 1,
            Short | UShort | BFloat16 | Float16 => 2,
            Int | UInt | Float | Float32 | Decimal32 => 4,
            Long | ULong | LLong | ULLong | Double | Float64 | Float32x | Decimal64 => 8,
            Int128 | UInt128 | LongDouble | Float64x | Float128 | Decimal128 => 16,
        }
    }
    /// Whether an integer type (`_Bool` and `char` included).
    pub fn is_integer(self) -> bool {
        self >= Scalar::Bool && self <= Scalar::UInt128
    }
    /// Whether a real floating type.
    pub fn is_float(self) -> bool {
        self >= Scalar::BFloat16
    }
    /// Whether a decimal floating type.
    pub fn is_decimal(self) -> bool {
        self >= Scalar::Decimal32
    }
    /// Whether a signed integer type (`char` is).
    pub fn is_signed(self) -> bool {
        use Scalar::*;
        matches!(self, Char | SChar | Short | Int | Long | LLong | Int128)
    }
}

/// Number of elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArrayLen {
    /// `[]`
    Incomplete,
    /// A constant; also what a flexible or zero-length array has (0).
    Const(u64),
    /// `n * THREADS` in the dynamic THREADS environment.
    Threads(u64),
    /// Variable length; each such type is distinct.
    Vla(ExprId),
    /// `[*]` in a prototype.
    Star,
}

/// Structure of a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Arithmetic or void.
    Scalar(Scalar),
    /// `_Complex` over a floating (GNU: or integer) type.
    Complex(Scalar),
    /// Pointer.
    Pointer(TypeId),
    /// Array; qualifiers are on the element.
    Array {
        /// Element.
        elem: TypeId,
        /// Length.
        len: ArrayLen,
    },
    /// Function.
    Function {
        /// Result.
        ret: TypeId,
        /// Parameters, adjusted (arrays and functions are pointers), qualifiers kept.
        params: Vec<TypeId>,
        /// Ends with `...`.
        variadic: bool,
        /// Has a prototype (`f()` has none).
        proto: bool,
    },
    /// `struct` or `union`.
    Record(RecordId),
    /// `enum`.
    Enum(EnumId),
    /// GNU vector.
    Vector {
        /// Element.
        elem: TypeId,
        /// Bytes in all.
        bytes: u64,
    },
    /// `__builtin_va_list` (an array of one struct).
    VaList,
    /// `__auto_type` before its initialiser is known, and the type of erroneous expressions: compatible with
    /// everything, never diagnosed again.
    Error,
    /// Sugar: a typedef name.
    Typedef {
        /// The declaration of the name.
        decl: DeclId,
        /// The type that the name stands for.
        under: TypeId,
    },
    /// Sugar: `typeof (...)`; the tokens include the keyword and parentheses.
    Typeof {
        /// The tokens as written.
        toks: TokRange,
        /// The type that the operand has.
        under: TypeId,
    },
}

/// Kind of a pointer-to-shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PtsKind {
    /// `shared void *`: keeps any phase.
    Generic,
    /// `shared [] T *`: phase always 0, never leaves its thread.
    Indefinite,
    /// Block size 1: phase always 0.
    Cyclic,
    /// Block size > 1.
    Blocked(u64),
}

/// A size in bytes, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Constant.
    Const(u64),
    /// This many bytes times THREADS (dynamic environment).
    Threads(u64),
    /// Known at run time (a variable-length array is involved).
    Variable,
    /// Incomplete (or function) type.
    None,
}

/// A member of a struct or union.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name; `None` for unnamed bit-fields and anonymous struct/union members.
    pub name: Option<Sym>,
    /// Type.
    pub ty: TypeId,
    /// Width if a bit-field.
    pub bits: Option<u32>,
    /// Byte offset from the start of the record. Of a bit-field: of the storage unit of its declared type
    /// that holds it (gcc's rule), unless the field is packed across units; `bit_offset` is always exact.
    pub offset: u64,
    /// Bit offset from the start of the record.
    pub bit_offset: u64,
    /// Tokens of the declarator (attributes and width included).
    pub toks: TokRange,
    /// Tokens of the specifiers it was declared with (shared by all declarators of one declaration).
    pub spec_toks: TokRange,
    /// Alignment asked for by `_Alignas` or `aligned`, if any.
    pub align: Option<u64>,
    /// Attribute `packed`.
    pub packed: bool,
}

/// A struct or union.
#[derive(Clone, Debug)]
pub struct Record {
    /// Tag.
    pub tag: Option<Sym>,
    /// Union, not struct.
    pub is_union: bool,
    /// The definition has been read.
    pub complete: bool,
    /// Members in order.
    pub fields: Vec<Field>,
    /// Size in bytes, trailing padding included.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Last member is a flexible array.
    pub flexible: bool,
    /// Attribute `transparent_union`.
    pub transparent: bool,
    /// Tokens of the definition, `struct` through `}` and attributes; empty while incomplete.
    pub toks: TokRange,
    /// Attributes before the brace (or before the tag) and after it.
    pub attrs: Vec<TokRange>,
    /// A member's translation differs from its tokens: emit the definition from `fields`, not from the
    /// tokens.
    pub has_upc: bool,
    /// Scope depth of the declaration (0 = file).
    pub scope: u32,
    /// Attribute `packed`.
    pub packed: bool,
    /// A member (of a member...) is const: not assignable.
    pub has_const: bool,
    /// A size that is known at run time only (a GNU variable-length member).
    pub variable: bool,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Tag.
    pub tag: Option<Sym>,
    /// The definition has been read.
    pub complete: bool,
    /// The compatible integer type.
    pub repr: Scalar,
    /// Constants in order.
    pub consts: Vec<DeclId>,
    /// Tokens of the definition; empty while incomplete.
    pub toks: TokRange,
    /// A value uses a UPC construct: emit it from the values.
    pub has_upc: bool,
    /// Scope depth of the declaration (0 = file).
    pub scope: u32,
}

/// How pointers-to-shared are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PtsLayout {
    /// 8 bytes, aligned to 8.
    #[default]
    Packed,
    /// 16 bytes, aligned to 8.
    Struct,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TypeKey {
    kind: TypeKind,
    quals: Quals,
}

#[derive(Debug)]
struct TypeData {
    key: TypeKey,
    canon: TypeId,
    /// See [`Types::mentions_shared`].
    mentions_shared: bool,
}

/// All types of a translation unit.
#[derive(Debug)]
pub struct Types {
    types: Vec<TypeData>,
    map: FxHashMap<TypeKey, TypeId>,
    /// Structs and unions, by [`RecordId`].
    pub records: Vec<Record>,
    /// Enumerations, by [`EnumId`].
    pub enums: Vec<Enum>,
    /// Storage of pointers-to-shared.
    pub pts: PtsLayout,
    /// THREADS if static.
    pub static_threads: Option<u32>,
    /// Alignment overrides of typedefs (`typedef int T __attribute__((aligned(64)))`).
    pub typedef_align: FxHashMap<DeclId, u64>,
}

impl Types {
    /// An empty table.
    pub fn new(pts: PtsLayout, static_threads: Option<u32>) -> Self {
        Types {
            types: Vec::new(),
            map: FxHashMap::default(),
            records: Vec::new(),
            enums: Vec::new(),
            pts,
            static_threads,
            typedef_align: FxHashMap::default(),
        }
    }

    /// The type of this structure and these qualifiers. Qualifiers of an array go to its element.
    pub fn intern(&mut self, kind: TypeKind, quals: Quals) -> TypeId {
        if !quals.is_none()
            && let TypeKind::Array { elem, len } = kind
        {
            let elem = self.qualified(elem, quals);
            return self.intern(TypeKind::Array { elem, len }, Quals::NONE);
        }
        let key = TypeKey { kind, quals };
        if let Some(&id) = self.map.get(&key) {
            return id;
        }
        let canon = self.compute_canon(&key);
        let mentions_shared = key.quals.shared.is_some() || self.parts_mention_shared(&key.kind);
        let id = TypeId(self.types.len() as u32);
        self.types.push(TypeData { key: key.clone(), canon: canon.unwrap_or(id), mentions_shared });
        self.map.insert(key, id);
        id
    }

    /// The canonical type if it differs from the type itself.
    fn compute_canon(&mut self, key: &TypeKey) -> Option<TypeId> {
        let kind = match &key.kind {
            TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. } => {
                let c = self.canon(*under);
                return Some(self.qualified(c, key.quals));
            }
            TypeKind::Pointer(p) => TypeKind::Pointer(self.canon(*p)),
            TypeKind::Array { elem, len } => TypeKind::Array { elem: self.canon(*elem), len: *len },
            TypeKind::Vector { elem, bytes } => TypeKind::Vector { elem: self.canon(*elem), bytes: *bytes },
            TypeKind::Function { ret, params, variadic, proto } => TypeKind::Function {
                ret: self.canon(*ret),
                params: params
                    .iter()
                    .map(|&p| {
                        // Qualifiers of a parameter itself are no part of the function's type.
                        let c = self.canon(p);
                        self.unqualified(c)
                    })
                    .collect(),
                variadic: *variadic,
                proto: *proto,
            },
            _ => return None,
        };
        if kind == key.kind { None } else { Some(self.intern(kind, key.quals)) }
    }

    /// An unqualified arithmetic type or void.
    pub fn scalar(&mut self, s: Scalar) -> TypeId {
        self.intern(TypeKind::Scalar(s), Quals::NONE)
    }
    /// Unqualified `int`.
    pub fn int(&mut self) -> TypeId {
        self.scalar(Scalar::Int)
    }
    /// Unqualified `size_t`.
    pub fn size_t(&mut self) -> TypeId {
        self.scalar(Scalar::ULong)
    }
    /// Unqualified pointer to `t`.
    pub fn pointer(&mut self, t: TypeId) -> TypeId {
        self.intern(TypeKind::Pointer(t), Quals::NONE)
    }
    /// Array of `len` `elem`.
    pub fn array(&mut self, elem: TypeId, len: ArrayLen) -> TypeId {
        self.intern(TypeKind::Array { elem, len }, Quals::NONE)
    }
    /// The error type.
    pub fn error(&mut self) -> TypeId {
        self.intern(TypeKind::Error, Quals::NONE)
    }

    /// `t` with more qualifiers (on the ultimate element type if an array). The layout and reference in `q`
    /// win.
    pub fn qualified(&mut self, t: TypeId, q: Quals) -> TypeId {
        if q.is_none() {
            return t;
        }
        let d = &self.types[t.0 as usize].key;
        let (kind, quals) = (d.kind.clone(), q.union(d.quals));
        match kind {
            TypeKind::Array { elem, len } => {
                let elem = self.qualified(elem, q);
                self.array(elem, len)
            }
            // A typedef for an array hides the element: look through it.
            TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. } if self.is_array(under) => {
                let c = self.canon(under);
                let c = self.qualified(c, quals);
                self.qualified(c, q)
            }
            kind => self.intern(kind, quals),
        }
    }

    /// `t` without its own qualifiers (of an array: without those of its ultimate element type). Keeps
    /// typedef sugar where the typedef itself is unqualified.
    pub fn unqualified(&mut self, t: TypeId) -> TypeId {
        self.with_quals(t, Quals::NONE)
    }
    /// `t` without `shared`, `strict`, `relaxed`.
    pub fn without_shared(&mut self, t: TypeId) -> TypeId {
        let q = self.quals(t);
        if q.shared.is_none() && q.reference.is_none() { t } else { self.with_quals(t, q.private()) }
    }
    /// `t` with exactly these qualifiers (on the ultimate element type if an array).
    pub fn with_quals(&mut self, t: TypeId, q: Quals) -> TypeId {
        if self.quals(t) == q {
            return t;
        }
        let d = &self.types[t.0 as usize].key;
        match d.kind.clone() {
            TypeKind::Array { elem, len } => {
                let elem = self.with_quals(elem, q);
                self.array(elem, len)
            }
            TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. }
                if self.is_array(under) || !self.quals(under).is_none() =>
            {
                let c = self.canon(under);
                self.with_quals(c, q)
            }
            kind => self.intern(kind, q),
        }
    }

    /// Structure as written (may be sugar).
    pub fn kind(&self, t: TypeId) -> &TypeKind {
        &self.types[t.0 as usize].key.kind
    }
    /// Structure of the canonical type: never sugar at the top.
    pub fn ckind(&self, t: TypeId) -> &TypeKind {
        self.kind(self.canon(t))
    }
    /// Qualifiers written at this level only (sugar may hide more; see [`Types::quals`]).
    pub fn own_quals(&self, t: TypeId) -> Quals {
        self.types[t.0 as usize].key.quals
    }
    /// The canonical type.
    pub fn canon(&self, t: TypeId) -> TypeId {
        self.types[t.0 as usize].canon
    }
    /// All qualifiers of `t`, of an array those of its ultimate element type.
    pub fn quals(&self, t: TypeId) -> Quals {
        let u = self.ultimate_elem(t);
        self.types[self.canon(u).0 as usize].key.quals
    }
    /// Strip all array layers.
    pub fn ultimate_elem(&self, t: TypeId) -> TypeId {
        let mut t = t;
        loop {
            match self.kind(t) {
                TypeKind::Array { elem, .. } => t = *elem,
                TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. } if self.is_array(*under) => {
                    t = self.canon(t);
                }
                _ => return t,
            }
        }
    }

    /// Whether the ultimate element type is shared-qualified.
    pub fn is_shared(&self, t: TypeId) -> bool {
        self.quals(t).shared.is_some()
    }
    /// Layout of a shared type; `None` if not shared.
    pub fn block(&self, t: TypeId) -> Option<Block> {
        self.quals(t).shared
    }
    /// Whether a pointer (PTS or PTL).
    pub fn is_pointer(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Pointer(_))
    }
    /// Whether an array.
    pub fn is_array(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Array { .. })
    }
    /// Whether a function.
    pub fn is_function(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Function { .. })
    }
    /// Whether a struct or union.
    pub fn is_record(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Record(_))
    }
    /// Whether void, however qualified.
    pub fn is_void(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Scalar(Scalar::Void))
    }
    /// Whether the error type.
    pub fn is_error(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Error)
    }
    /// Whether an integer type (enumerations and `_Bool` included).
    pub fn is_integer(&self, t: TypeId) -> bool {
        match self.ckind(t) {
            TypeKind::Scalar(s) => s.is_integer(),
            TypeKind::Enum(_) => true,
            _ => false,
        }
    }
    /// Whether a real or complex arithmetic type.
    pub fn is_arithmetic(&self, t: TypeId) -> bool {
        match self.ckind(t) {
            TypeKind::Scalar(s) => *s != Scalar::Void,
            TypeKind::Enum(_) | TypeKind::Complex(_) => true,
            _ => false,
        }
    }
    /// Whether a real floating type.
    pub fn is_float(&self, t: TypeId) -> bool {
        matches!(self.ckind(t), TypeKind::Scalar(s) if s.is_float())
    }
    /// The arithmetic type that stores `t`: of an enumeration its integer type.
    pub fn as_scalar(&self, t: TypeId) -> Option<Scalar> {
        match self.ckind(t) {
            TypeKind::Scalar(s) => Some(*s),
            TypeKind::Enum(e) => Some(self.enums[e.0 as usize].repr),
            _ => None,
        }
    }
    /// Whether a store to an object of the one type may change an object of the other.
    pub fn may_alias(&self, a: TypeId, b: TypeId) -> bool {
        // Floating or not, pointer or not and to what memory, and the size: characters and aggregates may be
        // anything.
        let class = |t| {
            let pointer = self.is_pointer(t).then(|| self.is_pts(t));
            let scalar = self.as_scalar(t);
            if pointer.is_none() && scalar.is_none_or(|s| s.size() < 2) {
                return None;
            }
            Some((pointer, scalar.is_some_and(Scalar::is_float), self.const_size(t)))
        };
        match (class(a), class(b)) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        }
    }
    /// The type that a pointer of type `t` points to; `None` if `t` is no pointer.
    pub fn pointee(&self, t: TypeId) -> Option<TypeId> {
        match self.kind(t) {
            TypeKind::Pointer(p) => Some(*p),
            TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. } => self.pointee(*under),
            _ => None,
        }
    }
    /// Element type, if an array; qualifiers included.
    pub fn elem(&self, t: TypeId) -> Option<TypeId> {
        match self.kind(t) {
            TypeKind::Array { elem, .. } => Some(*elem),
            TypeKind::Typedef { .. } | TypeKind::Typeof { .. } => match self.ckind(t) {
                TypeKind::Array { elem, .. } => Some(*elem),
                _ => None,
            },
            _ => None,
        }
    }
    /// Whether a pointer-to-shared.
    pub fn is_pts(&self, t: TypeId) -> bool {
        self.pointee(t).is_some_and(|p| self.is_shared(p))
    }
    /// Kind of a pointer-to-shared; `None` for any other type.
    pub fn pts_kind(&self, t: TypeId) -> Option<PtsKind> {
        let p = self.pointee(t)?;
        let b = self.block(p)?;
        Some(if self.is_void(p) {
            PtsKind::Generic
        } else {
            match b {
                Block::Indefinite | Block::Star => PtsKind::Indefinite,
                Block::N(1) => PtsKind::Cyclic,
                Block::N(n) => PtsKind::Blocked(n),
            }
        })
    }
    /// The record behind `t`.
    pub fn record(&self, t: TypeId) -> Option<&Record> {
        match self.ckind(t) {
            TypeKind::Record(r) => Some(&self.records[r.0 as usize]),
            _ => None,
        }
    }
    /// Result and parameters of a function type.
    pub fn signature(&self, t: TypeId) -> Option<(TypeId, &[TypeId], bool, bool)> {
        let t = if matches!(self.kind(t), TypeKind::Function { .. }) { t } else { self.canon(t) };
        match self.kind(t) {
            TypeKind::Function { ret, params, variadic, proto } => Some((*ret, params, *variadic, *proto)),
            _ => None,
        }
    }
    /// Whether `t` is or refers to a shared type anywhere in its structure (through pointers, arrays and
    /// functions, not through record members).
    pub fn mentions_shared(&self, t: TypeId) -> bool {
        self.types[t.0 as usize].mentions_shared
    }
    /// The same of what a type is made of. Found once for each type: functions may take the same type many
    /// times.
    fn parts_mention_shared(&self, kind: &TypeKind) -> bool {
        match kind {
            TypeKind::Pointer(p) => self.mentions_shared(*p),
            TypeKind::Array { elem, len } => {
                matches!(len, ArrayLen::Threads(_)) || self.mentions_shared(*elem)
            }
            TypeKind::Function { ret, params, .. } => {
                self.mentions_shared(*ret) || params.iter().any(|&p| self.mentions_shared(p))
            }
            TypeKind::Typedef { under, .. } | TypeKind::Typeof { under, .. } => self.mentions_shared(*under),
            _ => false,
        }
    }
    /// Whether the type has, anywhere in its declarators, a bound that is known at run time only.
    pub fn is_variably_modified(&self, t: TypeId) -> bool {
        match self.ckind(t) {
            TypeKind::Pointer(p) => self.is_variably_modified(*p),
            TypeKind::Array { elem, len } => {
                matches!(len, ArrayLen::Vla(_))
                    || matches!(len, ArrayLen::Threads(_)) && !self.is_shared(*elem)
                    || self.is_variably_modified(*elem)
            }
            TypeKind::Function { ret, .. } => self.is_variably_modified(*ret),
            _ => false,
        }
    }
    /// Whether an object can have this type now.
    pub fn is_complete(&self, t: TypeId) -> bool {
        match self.ckind(t) {
            TypeKind::Scalar(Scalar::Void) | TypeKind::Function { .. } => false,
            TypeKind::Array { len: ArrayLen::Incomplete, .. } => false,
            TypeKind::Array { elem, .. } => self.is_complete(*elem),
            TypeKind::Record(r) => self.records[r.0 as usize].complete,
            TypeKind::Enum(e) => self.enums[e.0 as usize].complete,
            _ => true,
        }
    }

    /// Size of an object of this type.
    pub fn size_of(&self, t: TypeId) -> Size {
        match self.ckind(t) {
            TypeKind::Scalar(Scalar::Void) | TypeKind::Function { .. } => Size::None,
            TypeKind::Scalar(s) => Size::Const(s.size()),
            TypeKind::Complex(s) => Size::Const(2 * s.size()),
            TypeKind::Pointer(p) => {
                Size::Const(if self.is_shared(*p) && self.pts == PtsLayout::Struct { 16 } else { 8 })
            }
            TypeKind::Array { elem, len } => match (self.size_of(*elem), len) {
                (Size::None, _) | (_, ArrayLen::Incomplete) => Size::None,
                (_, ArrayLen::Vla(_) | ArrayLen::Star) | (Size::Variable, _) => Size::Variable,
                (Size::Const(e), ArrayLen::Const(n)) => Size::Const(e.saturating_mul(*n)),
                (Size::Const(e), ArrayLen::Threads(n)) | (Size::Threads(e), ArrayLen::Const(n)) => {
                    Size::Threads(e.saturating_mul(*n))
                }
                (Size::Threads(_), ArrayLen::Threads(_)) => Size::Variable,
            },
            TypeKind::Record(r) => {
                let r = &self.records[r.0 as usize];
                if !r.complete {
                    Size::None
                } else if r.variable {
                    Size::Variable
                } else {
                    Size::Const(r.size)
                }
            }
            TypeKind::Enum(e) => {
                let e = &self.enums[e.0 as usize];
                if e.complete { Size::Const(e.repr.size()) } else { Size::None }
            }
            TypeKind::Vector { bytes, .. } => Size::Const(*bytes),
            TypeKind::VaList => Size::Const(24),
            TypeKind::Error => Size::Const(4),
            TypeKind::Typedef { .. } | TypeKind::Typeof { .. } => Size::None,
        }
    }

    /// The constant size, if there is one.
    pub fn const_size(&self, t: TypeId) -> Option<u64> {
        match self.size_of(t) {
            Size::Const(n) => Some(n),
            _ => None,
        }
    }

    /// Alignment in bytes (1 for void and functions).
    pub fn align_of(&self, t: TypeId) -> u64 {
        match self.kind(t) {
            TypeKind::Typedef { decl, under } => {
                return self.typedef_align.get(decl).copied().unwrap_or_else(|| self.align_of(*under));
            }
            TypeKind::Typeof { under, .. } => return self.align_of(*under),
            _ => {}
        }
        match self.kind(t) {
            TypeKind::Scalar(s) => s.size(),
            TypeKind::Complex(s) => s.size(),
            TypeKind::Pointer(_) | TypeKind::VaList => 8,
            TypeKind::Array { elem, .. } => self.align_of(*elem),
            TypeKind::Function { .. } => 1,
            TypeKind::Record(r) => self.records[r.0 as usize].align.max(1),
            TypeKind::Enum(e) => self.enums[e.0 as usize].repr.size(),
            TypeKind::Vector { bytes, .. } => bytes.next_power_of_two(),
            TypeKind::Error => 4,
            TypeKind::Typedef { .. } | TypeKind::Typeof { .. } => 1,
        }
    }

    /// Total number of ultimate elements of a shared object of this type (1 if no array): count, and whether
    /// times THREADS. `None` if incomplete or of run-time length.
    pub fn total_elems(&self, t: TypeId) -> Option<(u64, bool)> {
        let (mut n, mut threads) = (1u64, false);
        let mut t = self.canon(t);
        while let TypeKind::Array { elem, len } = self.kind(t) {
            match len {
                ArrayLen::Const(c) => n = n.saturating_mul(*c),
                ArrayLen::Threads(c) if !threads => {
                    n = n.saturating_mul(*c);
                    threads = true;
                }
                _ => return None,
            }
            t = *elem;
        }
        Some((n, threads))
    }
}
