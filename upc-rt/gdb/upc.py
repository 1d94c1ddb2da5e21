"""Pointers-to-shared in gdb: (thread, phase, address) instead of a number.

A pointer `shared [B] T *` has a type named __upc_pB_T in the program that upcc makes, a generic one __upc_p_void; both are
64-bit words (phase 20, thread 10, offset 34 bits) or structures of 16 bytes. The address is the object's in this process, if its
thread's memory is mapped here, else the offset in that memory is shown.

Loaded by gdb itself out of programs linked with libupc.a, where auto-loading is allowed:
    add-auto-load-safe-path DIRECTORY-OF-THE-PROGRAM
else by hand: source PREFIX/share/upc/gdb/upc.py
"""

import re
import struct

import gdb

POINTER = re.compile(r"^__upc_p(ts|_void|(\d+)_(.+))$")
OFFSET, THREAD = 34, 10


def runtime():
    """What the runtime knows of the program: (threads, first near, near, base, stride), None before it has started."""
    symbol = gdb.lookup_global_symbol("__upc_rt") or gdb.lookup_static_symbol("__upc_rt")
    try:
        if symbol is not None:
            address = int(symbol.value().address)
        else:
            address = int(gdb.parse_and_eval("(unsigned long)&__upc_rt"))
        raw = gdb.selected_inferior().read_memory(address, 32).tobytes()
    except (gdb.error, RuntimeError, ValueError):
        return None
    _, threads, first, near, base, stride = struct.unpack("=IIIIQQ", raw)
    return (threads, first, near, base, stride) if threads else None


def parts(value):
    """Thread, phase and offset of a pointer-to-shared."""
    plain = value.type.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_STRUCT:
        return int(value["thread"]), int(value["phase"]), int(value["addr"])
    word = int(value)
    return word >> OFFSET & (1 << THREAD) - 1, word >> OFFSET + THREAD, word & (1 << OFFSET) - 1


def name(typename):
    """The type as UPC spells it."""
    match = POINTER.match(typename)
    if match is None or match.group(2) is None:
        return "shared void *"
    block = {"0": " []", "1": ""}.get(match.group(2), " [%s]" % match.group(2))
    return "shared%s %s *" % (block, match.group(3).replace("_", " "))


class Pointer:
    """Shows a pointer-to-shared."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        thread, phase, offset = parts(self.value)
        if thread == 0 and offset == 0:
            return "(null)"
        known = runtime()
        if known is not None:
            threads, first, near, base, stride = known
            if thread >= threads:
                where = "offset %#x: there are %d threads" % (offset, threads)
            elif first <= thread < first + near:
                where = "%#x" % (base + thread * stride + offset & (1 << 64) - 1)
            else:
                where = "offset %#x" % offset
        else:
            where = "offset %#x" % offset
        return "(thread %d, phase %d, %s)" % (thread, phase, where)


class Variable:
    """Shows the proxy of a shared variable."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "shared variable at offset %#x of every thread" % int(self.value["offset"])


def lookup(value):
    """The printer of a value, if it is one of ours."""
    typename = value.type.name
    if typename is None:
        return None
    if POINTER.match(typename):
        return Pointer(value)
    if typename in ("__upc_shvar", "struct __upc_shvar"):
        return Variable(value)
    return None


class TypeOf(gdb.Command):
    """upc-type EXPRESSION: the type of a pointer-to-shared as UPC spells it."""

    def __init__(self):
        super().__init__("upc-type", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        typename = gdb.parse_and_eval(argument).type.name
        print(name(typename) if typename and POINTER.match(typename) else typename)


class Print(gdb.Command):
    """upc-print POINTER: what a pointer-to-shared points to, where its thread's memory is mapped here."""

    def __init__(self):
        super().__init__("upc-print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(argument)
        match = POINTER.match(value.type.name or "")
        if match is None or match.group(3) is None:
            raise gdb.GdbError("%s is no pointer to a shared object" % argument)
        thread, _, offset = parts(value)
        known = runtime()
        if known is None or not known[1] <= thread < known[1] + known[2] or thread == 0 and offset == 0:
            raise gdb.GdbError("the object is not mapped in this process")
        spelled = match.group(3).replace("_", " ")
        target = gdb.lookup_type(spelled)
        print((gdb.Value(known[3] + thread * known[4] + offset & (1 << 64) - 1)).cast(target.pointer()).dereference())


if not any(getattr(p, "__name__", "") == "lookup" and p.__module__ == __name__ for p in gdb.pretty_printers):
    lookup.__module__ = __name__
    gdb.pretty_printers.insert(0, lookup)
    TypeOf()
    Print()
