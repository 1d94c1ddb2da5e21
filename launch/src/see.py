# Commands of gdb in a rank that is replayed: `see`, `see goto N`, `see back [N]`.
#
# The rank stops by itself before the event whose number is in the second word of gasneti_replay, which inputs.c
# defines. Where a part of the way takes long, the rank is forked behind it (gdb's checkpoints), so that going
# back needs only the events since the nearest fork. A fork costs as much as many thousand events.
import struct
import time

import gdb

MOST = 32  # forks that are kept
FIRST = 1 << 18  # events of the first part of a way
LONG = 0.5  # seconds
RUNTIME = ("gasnet", "core::", "std::", "alloc::", "upc", "caf_", "_gfortran", "_", "kill", "<")


class See(gdb.Command):
    """Where the replay of a rank is, and to other places of it.
    see            the number of the event that comes next, and the last message
    see goto N     stop before event N
    see back [N]   N events back (default 1)"""

    def __init__(self):
        super().__init__("see", gdb.COMMAND_RUNNING)
        self.forks = {}  # event -> number of a checkpoint
        self.active = 0
        gdb.execute("set confirm off")
        gdb.execute("set pagination off")

    def address(self):
        # In the program's own language it would be another expression.
        gdb.execute("set language c")
        try:
            return int(gdb.parse_and_eval("(long)&gasneti_replay"))
        finally:
            gdb.execute("set language auto")

    def word(self, i):
        memory = gdb.selected_inferior().read_memory(self.address(), 32)
        return struct.unpack("4Q", bytes(memory))[i]

    def runs(self):
        return gdb.selected_inferior().pid != 0

    def event(self):
        return self.word(0) if self.runs() else 0

    def stop_at(self, event):
        gdb.selected_inferior().write_memory(self.address() + 8, struct.pack("Q", event))
        gdb.execute("continue", to_string=True)

    def fork(self):
        text = gdb.execute("checkpoint", to_string=True)
        number = [word for word in text.replace(":", " ").split() if word.isdigit()]
        if "Checkpoint" in text and number:
            self.forks[self.event()] = int(number[0])
        if len(self.forks) > MOST:
            for event in sorted(self.forks)[1::2]:
                self.delete(self.forks.pop(event))

    def restart(self, event):
        """Continues from a fork, of which another one is kept."""
        number = self.forks.pop(event)
        gdb.execute("restart %d" % number, to_string=True)
        self.delete(self.active)
        self.active = number
        self.fork()

    def delete(self, number):
        try:
            gdb.execute("delete checkpoint %d" % number, to_string=True)
        except gdb.error:
            pass  # it has ended

    def begin(self, event):
        """Runs from the start to an event."""
        for number in self.forks.values():
            self.delete(number)
        self.forks, self.active = {}, 0
        gdb.execute("set environment GASNETI_TAPE %020d" % event)
        gdb.execute("run", to_string=True)

    def goto(self, event):
        if event < self.event() or not self.runs():
            nearest = max((fork for fork in self.forks if fork <= event), default=None)
            if nearest is not None and self.runs():
                self.restart(nearest)
            else:
                self.begin(min(event, FIRST))
        part = FIRST
        while self.runs() and self.event() < event:
            to = min(event, self.event() + part)
            began = time.monotonic()
            self.stop_at(to)
            if not self.runs() or self.event() != to:
                break
            if time.monotonic() - began < LONG:
                part *= 4
            else:
                self.fork()
        self.say(event)

    def say(self, wanted=None):
        if not self.runs():
            print("the rank is over")
            return
        frame = gdb.newest_frame()
        while frame and (frame.name() or "_").startswith(RUNTIME):
            frame = frame.older()
        if frame:
            frame.select()
        now = self.event()
        before = "; it stops before event %d" % wanted if wanted is not None and now != wanted else ""
        last = "last message: from rank %d, handler %d" % (self.word(2) - 1, self.word(3))
        print("event %d%s; %s" % (now, before, last if self.word(2) else "no message yet"))

    def invoke(self, text, _):
        words = text.split()
        try:
            if not words:
                self.say()
            elif words[0] == "goto" and len(words) == 2:
                self.goto(max(1, int(words[1])))
            elif words[0] == "back" and len(words) <= 2:
                self.goto(max(1, self.event() - int((words + ["1"])[1])))
            else:
                raise gdb.GdbError("see; see goto N; see back [N]")
        except ValueError:
            raise gdb.GdbError("see: not a number of events: " + text)


See()
