//! Names of the interface between emitted C and the runtime: all that the emitter uses of `upcc_abi.h`, and
//! the names that it makes itself.
//!
//! All of them begin with `__upc_` or `__UPC_`, so that no program has them. Other modules, but for `c` with
//! the text around a file, write no such name.

// Types.
/// A pointer-to-shared in memory.
pub(crate) const PTS: &str = "__upc_pts";
/// Where a shared object is.
pub(crate) const PLACE: &str = "struct __upc_w";
/// The type of a proxy.
pub(crate) const SHARED_VARIABLE: &str = "struct __upc_shvar";
/// The record that describes a shared object to the runtime, at its definition.
pub(crate) const SHARED_RECORD: &str = "struct __upc_shrec";
/// The record of the environment that an object file was compiled for: threads, pointer format.
pub(crate) const OBJECT_RECORD: &str = "struct __upc_object";
/// A function to call at start-up.
pub(crate) const START_FUNCTION: &str = "__upc_initfn";

// Macros that choose the environment.
/// THREADS where it is constant.
pub(crate) const STATIC_THREADS: &str = "__UPC_STATIC_THREADS";
/// 16-byte pointers-to-shared.
pub(crate) const PTS_STRUCT: &str = "__UPC_PTS_STRUCT";

// Of the file with the constructor of a shared object.
/// Its name, as a literal.
pub(crate) const OBJECT_NAME: &str = "__UPC_OBJECT_NAME";
/// This macro compares the environment of a file with that of the program.
pub(crate) const OBJECT_CHECKED: &str = "__UPC_OBJECT_CHECKED";

// Threads.
/// THREADS as `int`.
pub(crate) const THREADS: &str = "__UPC_THREADS";
/// THREADS as `unsigned long`.
pub(crate) const THREADS_LONG: &str = "__UPC_T";
pub(crate) const MYTHREAD: &str = "__UPC_MYTHREAD";
/// Whether all threads' memory is near.
pub(crate) const ALL_NEAR: &str = "__upc_rt.mapped == __upc_rt.threads";

// Places and pointers-to-shared.
pub(crate) const NULL: &str = "__UPC_NULL";
/// The null pointer as an initialiser.
pub(crate) const NULL_INIT: &str = "__UPC_NULLINIT";
/// Where the null pointer points to.
pub(crate) const NULL_PLACE: &str = "__UPC_NULLW";
/// A pointer as a place, and a place as a pointer.
pub(crate) const UNPACK: &str = "__upc_u";
pub(crate) const PACK: &str = "__upc_p";
/// Where the object of a proxy is, as a place and as a pointer.
pub(crate) const VARIABLE: &str = "__UPC_VAR";
pub(crate) const VARIABLE_PACKED: &str = "__UPC_VARP";
/// Bytes on: inside an object, and inside one that is an element of an array with phases.
pub(crate) const OFFSET: &str = "__upc_off";
pub(crate) const OFFSET_KEEPING: &str = "__upc_off2";
/// The same place with phase 0.
pub(crate) const NO_PHASE: &str = "__upc_ph0";
/// Elements on: any block size; indefinite; 1; longer. `U`: not back.
pub(crate) const ADD: &str = "__upc_add";
pub(crate) const ADD_0: &str = "__upc_add0";
pub(crate) const ADD_1: &str = "__upc_add1";
pub(crate) const ADD_1U: &str = "__upc_add1u";
pub(crate) const ADD_B: &str = "__upc_addb";
pub(crate) const ADD_BU: &str = "__upc_addbu";
/// An element of a declared array: indefinite block size; 1; longer.
pub(crate) const ELEMENT_0: &str = "__upc_el0";
pub(crate) const ELEMENT_1: &str = "__upc_el1";
pub(crate) const ELEMENT_B: &str = "__upc_elb";
pub(crate) const DISTANCE: &str = "__upc_sub";
pub(crate) const EQUAL: &str = "__upc_eq";
pub(crate) const NOT_NULL: &str = "__upc_nonnull";
/// A place as an address for this thread, or as an integer.
pub(crate) const PRIVATE: &str = "__upc_priv";
pub(crate) const INTEGER: &str = "__upc_int";
/// Whether this thread has affinity to a place.
pub(crate) const IS_MINE: &str = "__upc_ismine";
/// Whether a place is in memory of this host, and its address.
pub(crate) const NEAR: &str = "__upc_near";
pub(crate) const AT: &str = "__upc_at";
/// The private address of an offset in this thread's own segment, and the same as an lvalue.
pub(crate) const MINE: &str = "__upc_mine";
pub(crate) const MINE_LVALUE: &str = "__UPC_MINE";
/// Whether an address is outside of shared memory.
pub(crate) const IS_PRIVATE: &str = "__upc_is_private";

// Accesses. `S`, `V` at the end of a name: strict, volatile.
/// Objects of any type; `K`: with members that are read-only.
pub(crate) const GET: &str = "__UPC_GET";
pub(crate) const PUT: &str = "__UPC_PUT";
/// Bit-fields.
pub(crate) const GET_BITS: &str = "__UPC_BFGET";
pub(crate) const PUT_BITS: &str = "__UPC_BFPUT";
/// Scalars; `X`: in little code.
pub(crate) const LOAD: &str = "__UPC_LD";
pub(crate) const STORE: &str = "__UPC_ST";
/// A store through a function of the file.
pub(crate) const STORE_OUTLINED: &str = "__UPC_STO";
/// `x op= v`; `O`: its value is the old one.
pub(crate) const UPDATE: &str = "__UPC_RMW";
/// The same through a function of the file, with the variables of the macro that it is given.
pub(crate) const UPDATE_OUTLINED: &str = "__UPC_RMWX";
pub(crate) const UPDATE_VARIABLES: &str = "&__upc_a, &__upc_s, sizeof(__upc_s)";
/// Starts a read; waits for those that were started.
pub(crate) const AHEAD: &str = "__UPC_AHEAD";
pub(crate) const ARRIVE: &str = "__upc_arrive";
/// Tells `-fsanitize=upc` which line is running.
pub(crate) const HERE: &str = "__upc_here";
pub(crate) const FENCE: &str = "__upc_fence";
/// Progress in a loop that only waits.
pub(crate) const WAITS: &str = "__upc_waits";
/// The same where an object is looked at through a private pointer: if it is in shared memory.
pub(crate) const WAITS_FOR: &str = "__upc_waits_for";
/// Sets a shared object to its initial value.
pub(crate) const SPREAD: &str = "__upc_spread";

// Loops.
pub(crate) const LIKELY: &str = "__UPC_LIKELY";
/// Whether a `upc_forall` is around; has the variable that holds what it was before set it back at the end.
pub(crate) const FORALL_DEPTH: &str = "__upc_forall_depth";
pub(crate) const FORALL_RESTORED: &str = " __attribute__((__cleanup__(__upc_forall_end)))";
/// Whether an iteration is this thread's, by an integer; `U`: an unsigned one.
pub(crate) const TURN: &str = "__upc_turn";
pub(crate) const TURN_U: &str = "__upc_turnu";
/// The first iteration of this thread's, and how many there are.
pub(crate) const TURNS: &str = "__upc_turns";
pub(crate) const SHARE: &str = "__upc_share";
/// The first element of this thread's, or row; where it is; how many there are.
pub(crate) const FIRST: &str = "__upc_first";
pub(crate) const ROW: &str = "__upc_row";
pub(crate) const OWN: &str = "__upc_own";
pub(crate) const OWNED: &str = "__upc_owned";
/// Brings a run into a buffer; takes it back; brings an element into a buffer; waits for all of them.
pub(crate) const GATHER: &str = "__upc_gather";
pub(crate) const SCATTER: &str = "__upc_scatter";
pub(crate) const START: &str = "__upc_start";
pub(crate) const MOVED: &str = "__upc_moved";
pub(crate) const BUFFER: &str = "__upc_buffer";
/// Has memory fetched that is needed later.
pub(crate) const TOUCH: &str = "__upc_touch";

// Names made here.

/// The critical section in which shared objects are accessed that a pragma of OpenMP says are accessed
/// atomically: an access to them is no C expression that such a pragma could be about.
pub(crate) const OMP_ATOMIC: &str = "#pragma omp critical(__upc_omp_atomic)";

/// A variable, or what else has no name in the source.
pub(crate) fn local(stem: &str, n: u32) -> String {
    format!("__upc_{stem}{n}")
}

/// One of several that go together.
pub(crate) fn nth(stem: &str, n: u32, m: usize) -> String {
    format!("__upc_{stem}{n}_{m}")
}

/// A place in a block of its own.
pub(crate) const HERE_PLACE: &str = "__upc_a";

/// The tag of a record that has none.
pub(crate) fn tag(record: u32) -> String {
    format!("__upc_anon{record}")
}

/// A typedef of a record whose tag means something else elsewhere.
pub(crate) fn tag_alias(record: u32) -> String {
    format!("__upc_tag{record}")
}

/// The typedef of the generic pointer-to-shared.
pub(crate) const PTS_VOID: &str = "__upc_p_void";

/// The common prefix of the typedefs of pointers-to-shared with this block size.
pub(crate) fn pts_prefix(block: u64) -> String {
    format!("__upc_p{block}_")
}

/// The common prefix of the proxies of shared variables. Proxies are the symbols that the files of a
/// program share.
pub(crate) const PROXY: &str = "__upc_v_";

/// The constant alias by which code reads a proxy. `short`: the proxy's name without [`PROXY`].
pub(crate) fn alias(short: &str) -> String {
    format!("__upc_k_{short}")
}

/// The private image of the initialiser of a shared variable.
pub(crate) fn image(short: &str) -> String {
    format!("__upc_i_{short}")
}

/// `notify`, `wait` or `barrier`.
pub(crate) fn barrier(what: &str) -> String {
    format!("__upc_{what}")
}

/// `upc_threadof` and others that are functions for programs and inline code for us.
pub(crate) fn inline(function: &str) -> String {
    format!("__{function}")
}

/// A function of the file that computes a place: `__UPC_OUT_MV` defines it.
pub(crate) fn moving(block: u64, size: u64) -> String {
    format!("__upc_mv{block}_{size}")
}

/// A function of the file that accesses objects: `__UPC_OUT_LD` and others define it.
pub(crate) fn accessing(what: &str, key: &str, form: &str) -> String {
    format!("__upc_{what}{key}_{form}")
}

/// A text that an object says of itself.
pub(crate) fn ident(n: usize) -> String {
    local("ident_", n as u32)
}

/// The symbol of the user's `main`.
pub(crate) const USER_MAIN: &str = "__upc_user_main";

/// The tag of a shared variable's stand-in for debuggers.
pub(crate) fn stand_in(decl: u32) -> String {
    format!("__upc_s{decl}")
}

/// The member of a stand-in that has the type of the elements: its name says how they are spread.
pub(crate) fn spread(block: u64, dimensions: &str) -> String {
    format!("__upc_b{block}{dimensions}")
}

/// The record of what the file was compiled for.
pub(crate) const OBJECT: &str = "__upc_object";

/// The settings that were given when linking.
pub(crate) const LINKED: &str = "__upc_linked";
