//! Emission of C: what uses no UPC is emitted as the tokens that were read, the rest is written anew, against
//! `upcc_abi.h`.
//!
//! - `expr`: values
//! - `place`, `at`: places of the [intermediate form](crate::ir) as C
//! - `access`: loads and stores
//! - `stmt`: statements and functions
//! - `directed`: statements with a pragma about them
//! - `ahead`, `stretches`, `share`: what passes made of statements and loops
//! - `debug`: what debuggers find shared variables by
//! - `decl`: declarations, tags, shared objects and their initialisation
//! - `types`: types as C spells them
//! - `c`: the file around all of these
//! - `out`: the text, in step with the lines of the source
//! - `abi`: names of ours, which all begin with `__upc_`
//!
//! For a shared variable `x`: `__upc_v_x` is its proxy (the symbol), `__upc_k_x` the constant alias that code
//! reads, `__upc_i_x` the private image of its initialiser.

pub(crate) mod abi;
mod access;
mod ahead;
mod at;
mod c;
mod debug;
mod decl;
mod directed;
mod expr;
mod inline;
mod out;
mod place;
mod pointers;
mod share;
mod stmt;
mod stretches;
mod types;

pub use at::{At, Outline};
pub use expr::Frag;
pub(crate) use out::string_literal;

use crate::front::ast::{DeclId, DeclKind, ItemKind, NodeId, TranslationUnit};
use crate::front::token::Sym;
use crate::front::types::{ExprId, RecordId, TypeKind};
use crate::ir::{Context, LoweredProgram, Style};
use crate::passes::Passes;
use out::Out;
use pointers::Pointers;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

/// Alignment of every shared array on every thread.
const ARRAY_ALIGN: u64 = 64;

/// How to emit.
#[derive(Clone, Debug)]
pub struct EmitOptions {
    /// Source file as given on the command line.
    pub source: String,
    /// Static thread count.
    pub threads: Option<u32>,
    /// 16-byte pointers-to-shared.
    pub pts_struct: bool,
    /// Emit `#line`.
    pub lines: bool,
    /// Have debuggers find shared variables by their names (`-g`).
    pub debug: bool,
    /// Have every access and every call of the library checked (`-fsanitize=upc`).
    pub sanitize: bool,
    /// Let relaxed writes to far threads travel together (`-fupc-aggregate`).
    pub aggregate: bool,
    /// Threads of OpenMP run: what one has written the others may read after a synchronisation of theirs, of
    /// which the runtime learns nothing.
    pub openmp: bool,
    /// A shared object may be made of the file (`-fPIC`).
    pub pic: bool,
    /// The UPC optimisations that are on, some of which are choices between forms of C.
    pub passes: Passes,
    /// Shared heap asked for at compile time, 0 if not.
    pub heap_bytes: u64,
    /// The directory of our headers.
    pub own_headers: PathBuf,
    /// The program's `main` is elsewhere.
    pub extern_main: bool,
    /// `inline` alone does not define a function for other files (C99 and later).
    pub iso_inline: bool,
}

/// The translation of a unit that was accepted without errors, and the shared accesses that remain in it.
pub fn emit(
    u: &TranslationUnit,
    program: &dyn LoweredProgram,
    o: &EmitOptions,
) -> (String, BTreeSet<Remark>) {
    let mut tags = if o.iso_inline { inline::make_static(u) } else { HashMap::new() };
    loop {
        let mut e = Emitter::new(u, program, o, tags.clone());
        e.items();
        // A record without tag was named in text made anew: emit again, with a tag given to it where it is
        // defined.
        let before = tags.len();
        for r in &e.need_tags {
            let rec = &u.types.records[r.0 as usize];
            if !rec.has_upc && !rec.toks.is_empty() {
                tags.insert(rec.toks.start, abi::tag(r.0));
            }
        }
        if tags.len() == before {
            let remarks = std::mem::take(&mut e.remarks);
            return (e.assemble(), remarks);
        }
    }
}

/// A read that has been made beforehand.
#[derive(Clone, Debug)]
struct Known {
    /// The C lvalue that holds what was read.
    lvalue: Frag,
    /// The reason that `-explain` prints for this read.
    why: &'static str,
}

/// The state of an emission.
pub struct Emitter<'a> {
    /// The program that is emitted.
    pub u: &'a TranslationUnit,
    /// The options of the emission.
    pub o: &'a EmitOptions,
    /// The text so far.
    pub out: Out,
    /// Text to come after the current item.
    after: String,
    pub(crate) counter: u32,
    pts_names: BTreeSet<String>,
    need_tags: BTreeSet<RecordId>,
    record_typedef: HashMap<RecordId, DeclId>,
    /// Names of typedefs that mean something else in some blocks.
    shadowed: HashSet<Sym>,
    /// Tags of file scope that mean something else in some blocks, and the structures that have another name
    /// therefore.
    shadowed_tags: HashSet<Sym>,
    tag_aliases: BTreeSet<RecordId>,
    /// The types of parameters of a prototype are being spelled.
    in_prototype: bool,
    vla_vars: HashMap<ExprId, String>,
    aliases: BTreeSet<DeclId>,
    defined: HashSet<(bool, u32)>,
    laid_out: BTreeSet<RecordId>,
    anonymous: HashSet<RecordId>,
    own_files: Vec<bool>,
    program: &'a dyn LoweredProgram,
    /// The context of the code being emitted.
    context: Rc<Context>,
    /// The functions of this file that accesses go through.
    outlines: BTreeSet<Outline>,
    /// Elements used through pointers in the code being emitted.
    pointers: Pointers,
    /// Shared lvalues that have been read beforehand.
    known: HashMap<NodeId, Known>,
    literals: expr::Literals,
    /// Why the loops being emitted keep their accesses; innermost last, empty if they do not.
    pub loops: Vec<&'static str>,
    /// The optimisations to make.
    pub passes: Passes,
    /// Shared accesses that remain: file, line, what and why.
    pub remarks: BTreeSet<Remark>,
    /// No remarks are made: the code being emitted is a second version of code that has its remarks.
    pub quiet: bool,
}

/// Names of typedefs that are declared again in another scope.
fn shadowed(u: &TranslationUnit) -> HashSet<Sym> {
    let typedefs: HashSet<Sym> =
        u.decls.iter().filter(|d| d.kind == DeclKind::Typedef).map(|d| d.name).collect();
    let mut found: HashMap<Sym, (u32, bool)> = HashMap::new();
    for d in u.decls.iter().filter(|d| typedefs.contains(&d.name)) {
        let (count, inner) = found.entry(d.name).or_default();
        *count += 1;
        *inner |= d.scope > 0 || d.kind == DeclKind::Param;
    }
    found.retain(|_, (count, inner)| *count > 1 && *inner);
    found.into_keys().collect()
}

/// Tags of file scope that are declared again in another.
fn shadowed_tags(u: &TranslationUnit) -> HashSet<Sym> {
    let t = &u.types;
    let all = || {
        let records = t.records.iter().map(|r| (r.tag, r.scope));
        let all = records.chain(t.enums.iter().map(|e| (e.tag, e.scope)));
        all.filter_map(|(tag, scope)| Some((tag?, scope)))
    };
    let inner: HashSet<Sym> = all().filter(|(_, scope)| *scope > 0).map(|(tag, _)| tag).collect();
    all().filter(|(tag, scope)| *scope == 0 && inner.contains(tag)).map(|(tag, _)| tag).collect()
}

/// File, line, and what there is to say.
pub type Remark = (String, u32, String);

impl<'a> Emitter<'a> {
    fn new(
        u: &'a TranslationUnit,
        program: &'a dyn LoweredProgram,
        o: &'a EmitOptions,
        tags: HashMap<u32, String>,
    ) -> Self {
        let shadowed = shadowed(u);
        let mut record_typedef = HashMap::new();
        for (n, d) in u.decls.iter().enumerate() {
            if d.kind == DeclKind::Typedef
                && d.scope == 0
                && !d.has_upc
                && !shadowed.contains(&d.name)
                && let TypeKind::Record(r) = u.types.ckind(d.ty)
            {
                let rec = &u.types.records[r.0 as usize];
                if rec.tag.is_none() && !rec.has_upc && u.types.quals(d.ty).is_none() {
                    record_typedef.entry(*r).or_insert(DeclId(n as u32));
                }
            }
        }
        let mut anonymous = HashSet::new();
        for rec in &u.types.records {
            for f in &rec.fields {
                if let (None, None, TypeKind::Record(r)) = (f.name, f.bits, u.types.ckind(f.ty)) {
                    anonymous.insert(*r);
                }
            }
        }
        let dir = o.own_headers.canonicalize().unwrap_or_else(|_| o.own_headers.clone());
        let own_files = u
            .tokens
            .files
            .iter()
            .map(|f| {
                f.path
                    .parent()
                    .is_some_and(|p| p == o.own_headers || p.canonicalize().is_ok_and(|p| p == dir))
            })
            .collect();
        let mut out = Out::new(o.lines, 0, tags);
        out.text.reserve(2 * u.tokens.text.len());
        Emitter {
            u,
            o,
            out,
            after: String::new(),
            counter: 0,
            pts_names: BTreeSet::new(),
            need_tags: BTreeSet::new(),
            record_typedef,
            shadowed,
            shadowed_tags: shadowed_tags(u),
            tag_aliases: BTreeSet::new(),
            in_prototype: false,
            vla_vars: HashMap::new(),
            aliases: BTreeSet::new(),
            defined: HashSet::new(),
            laid_out: BTreeSet::new(),
            anonymous,
            own_files,
            program,
            context: Rc::default(),
            pointers: Pointers::default(),
            known: HashMap::new(),
            literals: expr::Literals::default(),
            loops: Vec::new(),
            passes: o.passes,
            remarks: BTreeSet::new(),
            quiet: false,
            outlines: BTreeSet::new(),
        }
    }

    /// Whether the code being emitted is another version of what usually runs.
    fn compact(&self) -> bool {
        self.context.style == Style::Compact
    }

    fn items(&mut self) {
        let u = self.u;
        for item in &u.items {
            match &item.kind {
                ItemKind::Decl(d) if item.has_upc => self.declaration(d, false),
                ItemKind::Func(f) => self.function(f),
                ItemKind::UpcPragma | ItemKind::Empty => {}
                ItemKind::StaticAssert if item.has_upc => {}
                _ => self.out.tokens(&u.tokens, item.toks),
            }
            let after = std::mem::take(&mut self.after);
            self.out.own_lines(&after);
        }
        if self.o.debug {
            let all = self.stand_ins();
            self.out.own_lines(&all);
        }
    }
}
