"""Shared variables and pointers-to-shared in gdb.

A pointer `shared [B] T *` has a type named __upc_pB_T in the program that upcc makes, a generic one __upc_p_void; both are
64-bit words (phase 20, thread 10, offset 34 bits) or structures of 16 bytes. It is shown as (thread, phase, address): the
object's in this process, if its thread's memory is mapped here, else the offset in that memory.

A shared variable of a file that was compiled with -g has a stand-in of the same name: a union __upc_sN of the address of its
proxy, which has its offset, and of a pointer to its element type, whose name says the rest: __upc_bB_N_MT is of block size B and
has the dimensions [N][M*THREADS]. `print x` shows the variable's elements, `print x[i].m + y` what an expression of them is; in other
commands (break ... if, display) $upc(x, i) is an element. MYTHREAD and THREADS are macros.

Loaded by gdb itself out of programs linked with libupc.a, where auto-loading is allowed:
    add-auto-load-safe-path DIRECTORY-OF-THE-PROGRAM
else by hand: source PREFIX/share/upc/gdb/upc.py
"""

import math
import re
import struct

import gdb

POINTER = re.compile(r"^__upc_p(ts|_void|(\d+)_(.+))$")
VARIABLE = re.compile(r"^__upc_s\d+$")
SHAPE = re.compile(r"^__upc_b(\d+)((_\d+T?)*)$")
OFFSET, THREAD = 34, 10
WORD = (1 << 64) - 1


def runtime():
    """What the runtime knows of the program: (this thread, threads, first near, near, base, stride), None before it has started."""
    symbol = gdb.lookup_global_symbol("__upc_rt") or gdb.lookup_static_symbol("__upc_rt")
    try:
        if symbol is not None:
            address = int(symbol.value().address)
        else:
            address = int(gdb.parse_and_eval("(unsigned long)&__upc_rt"))
        raw = gdb.selected_inferior().read_memory(address, 32).tobytes()
    except (gdb.error, RuntimeError, ValueError):
        return None
    known = struct.unpack("=IIIIQQ", raw)
    return known if known[1] else None


def started():
    """The same, of a program that has started."""
    known = runtime()
    if known is None:
        raise gdb.GdbError("the UPC program has not started")
    return known


def address(thread, offset):
    """Where in this process an offset of a thread's memory is, None if it is not mapped here."""
    known = runtime()
    if known is None or not known[2] <= thread < known[2] + known[3]:
        return None
    return known[4] + thread * known[5] + offset & WORD


class Far(gdb.GdbError):
    """An object's memory is not mapped in this process."""

    def __init__(self, thread):
        super().__init__("the object is not mapped in this process: it is thread %d's" % thread)
        self.thread = thread


def located(target, thread, offset):
    """The object of a type at an offset of a thread's memory."""
    at = address(thread, offset)
    if at is None:
        raise Far(thread)
    return gdb.Value(at).cast(target.pointer()).dereference()


def parts(value):
    """Thread, phase and offset of a pointer-to-shared."""
    plain = value.type.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_STRUCT:
        return int(value["thread"]), int(value["phase"]), int(value["addr"])
    word = int(value)
    return word >> OFFSET & (1 << THREAD) - 1, word >> OFFSET + THREAD, word & (1 << OFFSET) - 1


def typename(value):
    """The name of a value's type without qualifiers."""
    return value.type.unqualified().name or ""


def spelled(block):
    """`shared` with a block size as UPC spells it."""
    return {0: "shared []", 1: "shared"}.get(block, "shared [%d]" % block)


def name(typename):
    """The type of a pointer as UPC spells it."""
    match = POINTER.match(typename)
    if match is None or match.group(2) is None:
        return "shared void *"
    return "%s %s *" % (spelled(int(match.group(2))), match.group(3).replace("_", " "))


class Variable:
    """A shared variable, of which there is a stand-in."""

    def __init__(self, value):
        proxy, shape = value.type.fields()
        match = SHAPE.match(shape.name)
        self.block = int(match.group(1))
        self.dimensions = [(int(d.rstrip("T")), d.endswith("T")) for d in match.group(2).split("_")[1:]]
        self.element = shape.type.target()
        self.proxy = value[proxy]

    def sizes(self):
        """The elements in each dimension."""
        threads = started()[1]
        return [n * threads if times else n for n, times in self.dimensions]

    def at(self, index):
        """The element with these subscripts."""
        sizes = self.sizes()
        if len(index) != len(sizes):
            raise gdb.GdbError("the variable has %d subscripts" % len(sizes))
        number = 0
        for i, n in zip(index, sizes):
            number = number * n + i
        thread, local, threads = 0, number, started()[1]
        if self.block:
            turn, phase = divmod(number, self.block)
            row, thread = divmod(turn, threads)
            local = row * self.block + phase
        offset = int(self.proxy.dereference()["offset"])
        return located(self.element, thread, offset + local * self.element.sizeof)

    def type(self):
        """The type as UPC spells it."""
        threads = {1: "THREADS"}
        bounds = ["[%s]" % (threads.get(n, "%d*THREADS" % n) if times else n) for n, times in self.dimensions]
        return "%s %s%s" % (spelled(self.block), self.element, " " + "".join(bounds) if bounds else "")


class ShowPointer:
    """Shows a pointer-to-shared."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        thread, phase, offset = parts(self.value)
        if thread == 0 and offset == 0:
            return "(null)"
        known = runtime()
        at = address(thread, offset)
        if known is not None and thread >= known[1]:
            where = "offset %#x: there are %d threads" % (offset, known[1])
        elif at is not None:
            where = "%#x" % at
        else:
            where = "offset %#x" % offset
        return "(thread %d, phase %d, %s)" % (thread, phase, where)


class ShowProxy:
    """Shows the proxy of a shared variable."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "shared variable at offset %#x of every thread" % int(self.value["offset"])


class ShowScalar:
    """Shows a shared variable that is no array."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return Variable(self.value).at([])
        except gdb.GdbError as why:
            return "<%s>" % why


class ShowArray:
    """Shows the elements of a shared array."""

    def __init__(self, value):
        self.variable = Variable(value)

    def to_string(self):
        return None if runtime() is not None else "<the UPC program has not started>"

    def children(self):
        if runtime() is None:
            return
        sizes = self.variable.sizes()
        for number in range(math.prod(sizes)):
            index = []
            for n in reversed(sizes):
                number, i = divmod(number, n)
                index.insert(0, i)
            try:
                element = self.variable.at(index)
            except Far as far:
                element = "<thread %d's>" % far.thread
            yield "".join("[%d]" % i for i in index), element

    def display_hint(self):
        return "array" if len(self.variable.dimensions) == 1 else None


def lookup(value):
    """The printer of a value, if it is one of ours."""
    known = typename(value)
    if POINTER.match(known):
        return ShowPointer(value)
    if VARIABLE.match(known):
        return ShowArray(value) if Variable(value).dimensions else ShowScalar(value)
    if known in ("__upc_shvar", "struct __upc_shvar"):
        return ShowProxy(value)
    return None


def pointed(value, distance=0):
    """What a pointer-to-shared points to, `distance` elements on."""
    match = POINTER.match(typename(value))
    if match is None or match.group(3) is None:
        raise gdb.GdbError("this is no shared variable and no pointer to a shared object")
    thread, phase, offset = parts(value)
    if thread == 0 and offset == 0:
        raise gdb.GdbError("the pointer is null")
    target = gdb.lookup_type(match.group(3).replace("_", " "))
    block, threads = int(match.group(2)), started()[1]
    if block:
        turn, new = divmod(phase + distance, block)
        row, thread = divmod(thread + turn, threads)
        distance = row * block + new - phase
    return located(target, thread, offset + distance * target.sizeof)


class Element(gdb.Function):
    """$upc(VARIABLE, SUBSCRIPT...), $upc(POINTER), $upc(POINTER, SUBSCRIPT): an element of a shared array, the value of a shared
    variable, what a pointer-to-shared points to."""

    def __init__(self):
        super().__init__("upc")

    def invoke(self, what, *index):
        index = [int(i) for i in index]
        if VARIABLE.match(typename(what)):
            return Variable(what).at(index)
        if not index and not POINTER.match(typename(what)):
            return what  # the element already
        return pointed(what, *index)


class Number(gdb.Function):
    """A number that the runtime knows."""

    def __init__(self, word, field):
        super().__init__("_upc_" + word.lower())
        self.field = field
        gdb.execute("macro define %s $_upc_%s()" % (word, word.lower()))

    def invoke(self):
        return int(started()[self.field])


class TypeOf(gdb.Command):
    """upc-type EXPRESSION: the type of a shared variable or pointer-to-shared as UPC spells it."""

    def __init__(self):
        super().__init__("upc-type", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(argument)
        known = typename(value)
        if VARIABLE.match(known):
            print(Variable(value).type())
        else:
            print(name(known) if POINTER.match(known) else value.type)


class Print(gdb.Command):
    """Print the value of an expression; elements and members of shared variables may be in it (a[i].m), where their memory is mapped
    in this process. Otherwise it is gdb's own command."""

    def __init__(self):
        super().__init__("print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        # `call` is the same command, under a name that is still gdb's.
        options, expression = OPTIONS.match(argument).groups()
        gdb.execute("call " + options + replaced(expression), from_tty)


class PrintPointed(gdb.Command):
    """upc-print EXPRESSION: as print, and what a pointer-to-shared points to, where the memory is mapped here."""

    def __init__(self):
        super().__init__("upc-print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(replaced(argument))
        if POINTER.match(typename(value)) and not typename(value).endswith("_void"):
            value = pointed(value)
        print(value.format_string())


OPTIONS = re.compile(r"(?s)(\s*(?:-.* --(?=\s)|/\w*)?\s*(?:/\w*\s)?)(.*)$")
TOKEN = re.compile(r"""(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:->|\.|\$)\s*\w+|\d\w*)|(?P<name>[A-Za-z_]\w*)""")


def replaced(text):
    """An expression, with each element of a shared array and each shared variable that is no array as what it is in this process."""
    done, at = "", 0
    while match := TOKEN.search(text, at):
        done, at = done + text[at : match.end()], match.end()
        value = stand_in(match["name"]) if match["name"] else None
        if value is None:
            continue
        variable, rest, index = Variable(value), text[at:], []
        if variable.dimensions and not rest.lstrip().startswith("["):
            continue
        while len(index) < len(variable.dimensions):
            inside, rest = subscript(rest)
            index.append(int(gdb.parse_and_eval(replaced(inside))))
        try:
            element = variable.at(index)
        except gdb.GdbError:
            if index:
                raise
            continue  # the stand-in is shown, and says why
        replaced.number += 1
        name = "_upc%d" % replaced.number
        gdb.set_convenience_variable(name, element.address)
        done, at = done[: len(done) - len(match["name"])] + "(*$%s)" % name, len(text) - len(rest)
    return done + text[at:]


replaced.number = 0


def stand_in(name):
    """The value of a shared variable's stand-in, None if it is no name of one."""
    try:
        value = gdb.parse_and_eval(name)
    except (gdb.error, RuntimeError):
        return None
    return value if VARIABLE.match(typename(value)) else None


def subscript(text):
    """What is in the brackets at the start of a text, and what comes after them."""
    text = text.lstrip()
    depth = 0
    for at, c in enumerate(text):
        depth += {"[": 1, "]": -1}.get(c, 0)
        if depth == 0:
            break
    if not text.startswith("[") or depth:
        raise gdb.GdbError("a shared array needs all its subscripts here")
    return text[1:at], text[at + 1 :]


if not any(getattr(p, "__name__", "") == "lookup" and p.__module__ == __name__ for p in gdb.pretty_printers):
    lookup.__module__ = __name__
    gdb.pretty_printers.insert(0, lookup)
    Element()
    Number("MYTHREAD", 0)
    Number("THREADS", 1)
    TypeOf()
    PrintPointed()
    Print()
