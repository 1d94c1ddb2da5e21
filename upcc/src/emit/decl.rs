//! Declarations: tags, private objects, and the shared objects, which become proxies, records and
//! initialisation functions.

use super::Emitter;
use super::abi::{
    self, ADD, HERE_PLACE, IS_MINE, MINE_LVALUE, NULL_INIT, OFFSET_KEEPING, PLACE, PROXY, PTS, SPREAD,
    START_FUNCTION, VARIABLE, local,
};
use crate::front::ast::{
    ConstValue, Conv, DeclId, DeclKind, DeclSpec, Declaration, Definition, Expr, ExprKind, Init,
    InitDeclarator, Linkage, PathElem, Storage, TagId, TypeName,
};
use crate::front::token::TokRange;
use crate::front::types::{ArrayLen, RecordId, TypeId, TypeKind};

/// The object that a leaf of a static initialiser sets. Range designators that lead to it become loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    /// First and last index of each loop.
    loops: Vec<(u64, u64)>,
    place: String,
}

/// The variable of a loop over a range designator, by its depth.
fn range_variable(depth: usize) -> String {
    local("r", depth as u32)
}

impl Target {
    fn new(place: &str) -> Target {
        Target { loops: Vec::new(), place: place.to_string() }
    }

    /// Adds a loop from `first` to `last` and returns its variable.
    fn over(&mut self, first: u64, last: u64) -> String {
        self.loops.push((first, last));
        range_variable(self.loops.len() - 1)
    }

    /// The heads of the loops.
    fn heads(&self) -> String {
        let head = |(n, (first, last)): (usize, &(u64, u64))| {
            let r = range_variable(n);
            format!("for (unsigned long {r} = {first}; {r} <= {last}; {r}++) ")
        };
        self.loops.iter().enumerate().map(head).collect()
    }
}

/// An assignment to make at start-up, since C cannot express the value as a constant.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    target: Target,
    /// The type of what is set.
    ty: String,
    value: String,
    /// A variable that holds its address, where its name is not known.
    held: Option<String>,
}

impl Patch {
    fn text(&self) -> String {
        let Patch { target, ty, value, held } = self;
        let at = held.clone().unwrap_or_else(|| format!("&{}", target.place));
        format!(" {}*({ty} *){at} = {value};", target.heads())
    }
}

impl Emitter<'_> {
    /// A declaration with UPC in it (or not), at file scope or in a block.
    pub fn declaration(&mut self, d: &Declaration, block: bool) {
        let u = self.u;
        if !d.has_upc {
            self.out.tokens(&u.tokens, d.toks);
            return;
        }
        self.defines(&d.spec.defines);
        if d.declarators.is_empty() && d.spec.defines.is_empty() {
            // `struct s;`
            if !d.spec.has_upc {
                self.out.tokens(&u.tokens, d.toks);
            }
            return;
        }
        for i in &d.declarators {
            self.declarator(&d.spec, i, block);
        }
    }

    fn declarator(&mut self, spec: &DeclSpec, i: &InitDeclarator, block: bool) {
        let u = self.u;
        let decl = u.decl(i.decl);
        let name = u.name(decl.name).to_string();
        if decl.kind == DeclKind::Typedef {
            if self.typedef_usable(i.decl) {
                self.at(spec.toks);
                if block {
                    let s = self.stash_bounds(&i.vla);
                    self.out.put(&s);
                }
                let text = self.head(spec, i, false);
                self.out.put(&format!("{text};"));
            } else if block {
                let s = self.stash_bounds(&i.vla);
                self.out.put(&s);
            }
            return;
        }
        if decl.kind == DeclKind::Var && u.types.is_shared(i.ty) {
            if let Some(init) = &i.init {
                self.shared_init(i, init);
            }
            if block && self.o.debug && decl.linkage == Linkage::None && self.is_shared_object(i.decl) {
                let proxy = format!("&{}", self.proxy(i.decl));
                let text = self.stand_in(i.decl, &proxy);
                self.out.put(&format!(" {text}"));
            }
            return;
        }
        self.at(spec.toks);
        if block && i.declarator_upc {
            let s = self.stash_bounds(&i.vla);
            self.out.put(&s);
        }
        let Some(init) = &i.init else {
            let text = self.head(spec, i, false);
            self.out.put(&format!("{text};"));
            return;
        };
        if !decl.is_static {
            let text = self.head(spec, i, false);
            let v = self.init_text(init, i.ty, None);
            self.out.put(&format!("{text} = {v};"));
            return;
        }
        let mut patches = Vec::new();
        let v = self.init_text(init, i.ty, Some((&mut patches, Target::new(&name))));
        let text = self.head(spec, i, !patches.is_empty());
        self.out.put(&format!("{text} = {v};"));
        if patches.is_empty() {
            return;
        }
        let mut body = String::new();
        body.extend(patches.iter().map(Patch::text));
        if block {
            let once = self.fresh("once");
            self.out.put(&format!(" static char {once}; if (!{once}) {{ {once} = 1;{body} }}"));
        } else {
            self.start_up(&name, &body);
        }
    }

    /// A function that runs on every thread before main.
    fn start_up(&mut self, name: &str, body: &str) {
        let f = self.fresh(&format!("init_{name}_"));
        let text = format!(
            "static void {f}(void) {{{body} }}\nstatic {START_FUNCTION} {f}_p __attribute__((__section__(\"upc_inits\"), __used__)) = {f};\n"
        );
        self.after.push_str(&text);
    }

    /// Specifiers and declarator. `writable`: without `const`.
    fn head(&mut self, spec: &DeclSpec, i: &InitDeclarator, writable: bool) -> String {
        let u = self.u;
        let name = u.name(u.decl(i.decl).name).to_string();
        let mut s = if !spec.has_upc && !i.declarator_upc && spec.defines.is_empty() && !writable {
            format!("{} {}", self.verbatim(spec.toks), self.verbatim(i.toks))
        } else {
            let words = self.spec_words(spec);
            let t = if writable { self.ctype_plain(i.ty, &name) } else { self.ctype(i.ty, &name) };
            format!("{words}{t}")
        };
        for r in &i.suffix {
            s.push(' ');
            s.push_str(&self.verbatim(*r));
        }
        s
    }

    /// An initialiser as C. For a static object, `patches` takes what C cannot express as a constant; the
    /// lvalues begin with the given text.
    pub(super) fn init_text(
        &mut self,
        init: &Init,
        ty: TypeId,
        patches: Option<(&mut Vec<Patch>, Target)>,
    ) -> String {
        match init {
            Init::Expr(e) => match patches {
                Some((p, lv)) => self.static_leaf(e, ty, p, &lv),
                None => {
                    let f = self.rv(e);
                    f.p(2)
                }
            },
            Init::List(l) => {
                if !l.has_upc {
                    return self.verbatim(l.toks);
                }
                let mut s = String::from("{");
                let (list, base) = match patches {
                    Some((p, b)) => (Some(p), b),
                    None => (None, Target::default()),
                };
                let mut list = list;
                for (n, it) in l.items.iter().enumerate() {
                    s.push_str(if n == 0 { " " } else { ", " });
                    if !it.designator.is_empty() {
                        s.push_str(&self.verbatim(it.designator));
                        s.push(' ');
                    }
                    let sub = list.as_mut().map(|p| {
                        let lv = self.path_text(&base, ty, &it.path);
                        (&mut **p, lv)
                    });
                    let t = self.init_text(&it.init, it.ty, sub);
                    s.push_str(&t);
                }
                s.push_str(" }");
                s
            }
        }
    }

    /// A leaf of a static initialiser.
    fn static_leaf(&mut self, e: &Expr, ty: TypeId, patches: &mut Vec<Patch>, lv: &Target) -> String {
        if self.u.types.is_pts(ty) {
            if !is_null(e) {
                let v = self.rv(e).p(2);
                let ty = PTS.into();
                patches.push(Patch { target: lv.clone(), ty, value: v, held: None });
            }
            return NULL_INIT.into();
        }
        if e.has_upc && !matches!(e.value, Some(ConstValue::Int(_))) && runtime_value(e) {
            // Written without typedefs: those of a block have no name where the value is set.
            let t = self.access_type(self.u.types.canon(ty));
            let v = self.rv(e).p(2);
            patches.push(Patch { target: lv.clone(), ty: t, value: v, held: None });
            return "0".into();
        }
        self.rv(e).p(2)
    }

    fn path_text(&self, base: &Target, ty: TypeId, path: &[PathElem]) -> Target {
        let mut target = base.clone();
        let mut ty = ty;
        for p in path {
            match p {
                PathElem::Index(i) => {
                    target.place.push_str(&format!("[{i}]"));
                    ty = self.u.types.elem(ty).unwrap_or(ty);
                }
                PathElem::Range(first, last) => {
                    let i = target.over(*first, *last);
                    target.place.push_str(&format!("[{i}]"));
                    ty = self.u.types.elem(ty).unwrap_or(ty);
                }
                PathElem::Field(f) => {
                    let Some(field) = self.u.types.record(ty).and_then(|r| r.fields.get(*f as usize)) else {
                        break;
                    };
                    if let Some(n) = field.name {
                        target.place.push('.');
                        target.place.push_str(self.u.name(n));
                    }
                    ty = field.ty;
                }
            }
        }
        target
    }

    /// A type name as C.
    pub fn type_name(&mut self, t: &TypeName) -> String {
        if t.has_upc { self.ctype(t.ty, "") } else { self.verbatim(t.toks) }
    }

    /// The type name of a compound literal whose bound may come from its initialiser.
    pub fn type_name_as(&mut self, t: &TypeName, _full: TypeId) -> String {
        self.type_name(t)
    }

    /// Definitions of structures, unions and enumerations that stand in specifiers which are not emitted as
    /// read.
    pub fn defines(&mut self, tags: &[TagId]) {
        let u = self.u;
        let toks = |t: &TagId| match t {
            TagId::Record(r) => u.types.records[r.0 as usize].toks,
            TagId::Enum(e) => u.types.enums[e.0 as usize].toks,
        };
        for (n, t) in tags.iter().enumerate() {
            let own = toks(t);
            // Inside one that is emitted as read.
            let inside = tags.iter().enumerate().any(|(m, o)| {
                let r = toks(o);
                let as_read = match o {
                    TagId::Record(r) => !u.types.records[r.0 as usize].has_upc,
                    TagId::Enum(_) => false,
                };
                m != n && as_read && r.start <= own.start && own.end <= r.end
            });
            if inside || !self.defined.insert(tag_key(*t)) {
                continue;
            }
            match t {
                TagId::Record(r) => self.define_record(*r),
                TagId::Enum(e) => {
                    let en = &u.types.enums[e.0 as usize];
                    self.at(own);
                    if !en.has_upc {
                        self.out.tokens(&u.tokens, own);
                    } else {
                        let tag = en.tag.map_or(String::new(), |t| u.name(t).to_string());
                        let list: Vec<String> = en
                            .consts
                            .iter()
                            .map(|&c| {
                                let d = u.decl(c);
                                let v = d.value.and_then(ConstValue::int).unwrap_or(0);
                                format!("{} = {v}", u.name(d.name))
                            })
                            .collect();
                        self.out.put(&format!("enum {tag} {{ {} }}", list.join(", ")));
                    }
                    self.out.put(";");
                }
            }
        }
    }

    fn define_record(&mut self, r: RecordId) {
        let u = self.u;
        let rec = &u.types.records[r.0 as usize];
        if self.anonymous_member(r) {
            return;
        }
        self.at(rec.toks);
        if rec.has_upc {
            let body = self.record_body(r, false);
            self.out.put(&body);
            self.laid_out.insert(r);
        } else {
            if rec.tag.is_none() {
                self.need_tags.insert(r);
            }
            self.out.tokens(&u.tokens, rec.toks);
        }
        self.out.put(";");
    }

    /// A record that is an anonymous member of another.
    fn anonymous_member(&self, r: RecordId) -> bool {
        self.u.types.records[r.0 as usize].tag.is_none() && self.anonymous.contains(&r)
    }

    fn record_body(&mut self, r: RecordId, inline: bool) -> String {
        let u = self.u;
        let rec = &u.types.records[r.0 as usize];
        let key = if rec.is_union { "union" } else { "struct" };
        let tag = match rec.tag {
            Some(t) => u.name(t).to_string(),
            None if inline => String::new(),
            None => abi::tag(r.0),
        };
        let mut s = format!("{key} {tag} {{");
        for f in &rec.fields {
            let name = f.name.map_or(String::new(), |n| u.name(n).to_string());
            s.push(' ');
            match u.types.ckind(f.ty) {
                TypeKind::Record(inner) if f.name.is_none() && f.bits.is_none() => {
                    let t = self.record_body(*inner, true);
                    s.push_str(&t);
                }
                _ => {
                    let plain = !u.types.mentions_shared(f.ty)
                        && !self.has_brace(f.spec_toks)
                        && !f.spec_toks.is_empty();
                    if plain {
                        s.push_str(&format!("{} {}", self.verbatim(f.spec_toks), self.verbatim(f.toks)));
                    } else {
                        s.push_str(&self.ctype(f.ty, &name));
                        if let Some(b) = f.bits {
                            s.push_str(&format!(" : {b}"));
                        }
                        if let Some(a) = f.align {
                            s.push_str(&format!(" __attribute__((__aligned__({a})))"));
                        }
                        if f.packed {
                            s.push_str(" __attribute__((__packed__))");
                        }
                    }
                }
            }
            s.push(';');
        }
        s.push_str(" }");
        for a in &rec.attrs {
            s.push(' ');
            s.push_str(&self.verbatim(*a));
        }
        s
    }

    fn has_brace(&self, r: TokRange) -> bool {
        (r.start..r.end).any(|i| self.u.tokens.spelling(i) == "{")
    }

    /// The symbol of a shared variable's proxy.
    pub fn proxy(&self, d: DeclId) -> String {
        let decl = self.u.decl(d);
        let name = self.u.name(decl.name);
        match decl.function {
            Some(f) if decl.linkage == Linkage::None => {
                format!("{}{}_{name}_{}", PROXY, self.u.name(self.u.decl(f).name), d.0)
            }
            _ => format!("{}{name}", PROXY),
        }
    }

    /// The C name by which code reads the proxy.
    pub fn shared_alias(&mut self, d: DeclId) -> String {
        self.aliases.insert(d);
        abi::alias(&self.proxy(d)[PROXY.len()..])
    }

    /// Initialisation of a shared object.
    fn shared_init(&mut self, i: &InitDeclarator, init: &Init) {
        let u = self.u;
        let decl = u.decl(i.decl);
        let ty = decl.ty;
        let proxy = self.proxy(i.decl);
        let short = proxy[PROXY.len()..].to_string();
        let alias = self.shared_alias(i.decl);
        let (b, e) = (u.types.block(ty).map_or(0, |b| b.size()), self.elem_size(ty));
        let image = abi::image(&short);
        // The image is a private object with the same initialiser. Its first bound comes from that, so that a
        // multiple of THREADS does not matter there.
        let (bound, is_array, inner) = match u.types.ckind(ty) {
            TypeKind::Array { elem, len } => {
                let n = match len {
                    ArrayLen::Const(n) => n.to_string(),
                    _ => String::new(),
                };
                (format!("[{n}]"), true, *elem)
            }
            _ => (String::new(), false, ty),
        };
        let full = if is_array { self.count_expr(ty) } else { "1".into() };
        if is_array && self.has_threads_array(inner) {
            self.spread_leaves(&short, ty, init);
            return;
        }
        let mut patches = Vec::new();
        let v = self.init_text(init, ty, Some((&mut patches, Target::new(&image))));
        let t = self.ctype_plain(inner, &format!("{image}{bound}"));
        let v = if is_array || matches!(init, Init::List(_)) || !u.types.is_record(ty) {
            v
        } else {
            format!("{{ {v} }}")
        };
        let c = if patches.is_empty() { "const " } else { "" };
        let local = decl.scope > 0;
        let (mut img, mut count) = (format!("&{image}"), format!("sizeof({image}) / {e}"));
        if local && patches.iter().all(|p| p.target.loops.is_empty()) {
            // The initialiser may name types and constants of this block, so the image is defined here.
            // Code outside of the block refers to its symbol.
            let number = format!("{image}_n");
            self.out.put(&format!(
                " static {c}{t} __asm__(\"{image}\") __attribute__((__used__)) = {v}; \
                 static const unsigned long {number} __asm__(\"{number}\") __attribute__((__used__)) = {count};"
            ));
            self.after.push_str(&format!(
                "extern {c}char {image}_b[] __asm__(\"{image}\");\n\
                 extern const unsigned long {number} __asm__(\"{number}\");\n"
            ));
            // C compilers leave out functions that nobody calls, and all that is in them.
            if let Some(f) = decl.function.map(|f| u.decl(f)).filter(|f| f.scope == 0)
                && (f.inline || f.linkage == Linkage::Internal)
            {
                self.after.push_str(&format!(
                    "static void *const {image}_f __attribute__((__used__)) = (void *){};\n",
                    u.name(f.name)
                ));
            }
            // So are the places that are set at start-up.
            for (k, patch) in patches.iter_mut().enumerate() {
                let (at, place) = (format!("{image}_p{k}"), &patch.target.place);
                self.out.put(&format!(
                    " static void *const {at} __asm__(\"{at}\") __attribute__((__used__)) = (void *)&{place};"
                ));
                self.after.push_str(&format!("extern void *const {at} __asm__(\"{at}\");\n"));
                patch.held = Some(at);
            }
            (img, count) = (format!("{image}_b"), number);
        } else {
            self.after.push_str(&format!("static {c}{t} = {v};\n"));
        }
        let mut body = String::new();
        body.extend(patches.iter().map(Patch::text));
        body.push_str(&format!(" {SPREAD}({VARIABLE}({alias}), {img}, {count}, {full}, {b}, {e});"));
        self.start_up(&short, &body);
    }

    /// Initialises element by element: for arrays whose inner bounds depend on THREADS.
    fn spread_leaves(&mut self, short: &str, ty: TypeId, init: &Init) {
        let mut body = String::new();
        let alias = abi::alias(short);
        let (b, es) = (self.u.types.block(ty).map_or(0, |b| b.size()), self.elem_size(ty));
        for (path, lty, e) in init.leaves(ty) {
            let mut index = String::from("0");
            let mut target = Target::default();
            let mut off = 0u64;
            let mut t = ty;
            for p in &path {
                match p {
                    PathElem::Index(_) | PathElem::Range(..) if self.u.types.is_array(t) => {
                        let i = match p {
                            PathElem::Range(first, last) => target.over(*first, *last),
                            PathElem::Index(i) => format!("{i}ul"),
                            PathElem::Field(_) => continue,
                        };
                        let elem = self.u.types.elem(t).unwrap_or(t);
                        let k = self.count_expr(elem);
                        index.push_str(&format!(" + {i} * ({k})"));
                        t = elem;
                    }
                    PathElem::Field(f) => {
                        if let Some(field) = self.u.types.record(t).and_then(|r| r.fields.get(*f as usize)) {
                            off += field.offset;
                            t = field.ty;
                        }
                    }
                    _ => {}
                }
            }
            let v = self.rv(e).p(2);
            let at = self.access_type(lty);
            let loops = target.heads();
            body.push_str(&format!(
                " {loops}{{ const {PLACE} {HERE_PLACE} = {OFFSET_KEEPING}({ADD}({VARIABLE}({alias}), (long)({index}), {b}, {es}), {off}); \
                 if ({IS_MINE}({HERE_PLACE})) {MINE_LVALUE}({at}, {HERE_PLACE}) = {v}; }}"
            ));
        }
        self.start_up(short, &body);
    }

    /// Whether `d` is declared by a header of ours.
    pub fn from_own_header(&self, d: DeclId) -> bool {
        let t = self.u.tokens.tok(self.u.decl(d).tok);
        self.own_files.get(t.file as usize).copied().unwrap_or(false)
    }

    /// Whether `d` is a shared object of static storage.
    pub fn is_shared_object(&self, d: DeclId) -> bool {
        let decl = self.u.decl(d);
        decl.kind == DeclKind::Var
            && decl.is_static
            && decl.storage != Storage::Typedef
            && self.u.types.is_shared(decl.ty)
    }

    /// Whether the object is defined here.
    pub fn defined_here(&self, d: DeclId) -> bool {
        self.u.decl(d).def >= Definition::Tentative
    }
}

fn tag_key(t: TagId) -> (bool, u32) {
    match t {
        TagId::Record(r) => (false, r.0),
        TagId::Enum(e) => (true, e.0),
    }
}

fn is_null(e: &Expr) -> bool {
    match &e.unparen().kind {
        ExprKind::Implicit { conv: Conv::NullToPts, .. } | ExprKind::Cast { conv: Conv::NullToPts, .. } => {
            true
        }
        ExprKind::Implicit { conv: Conv::PtsToPts { .. } | Conv::Same, expr }
        | ExprKind::Cast { conv: Conv::PtsToPts { .. } | Conv::Same, expr, .. } => is_null(expr),
        _ => false,
    }
}

/// Whether a constant of C's abstract machine is one that C itself cannot compute: it goes through a
/// pointer-to-shared, or THREADS in the dynamic environment.
fn runtime_value(e: &Expr) -> bool {
    let mut found = false;
    crate::front::ast::walk::expr(e, &mut |_| {}, &mut |x| {
        found |= matches!(
            x.kind,
            ExprKind::Implicit { conv: Conv::PtsToPtr | Conv::PtsToInt | Conv::PtsToBool, .. }
                | ExprKind::Cast { conv: Conv::PtsToPtr | Conv::PtsToInt | Conv::PtsToBool, .. }
                | ExprKind::Threads
                | ExprKind::MyThread
        );
    });
    found
}
