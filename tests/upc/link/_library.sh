# Makes a shared object, links a program with it, has another load it, and runs both.
set -e
"$BIN/upcc" -shared -fPIC -o "$SCRATCH/libpart.so" "$SOURCES/_library.upc"
"$BIN/upcc" -I "$SOURCES/.." -o "$SCRATCH/linked" "$SOURCES/_uses_library.upc" "$SCRATCH/libpart.so"
"$BIN/upcrun" -n "$COUNT" "$SCRATCH/linked"
"$BIN/upcc" -I "$SOURCES/.." -DLOADED -o "$SCRATCH/loads" "$SOURCES/_uses_library.upc"
"$BIN/upcrun" -n "$COUNT" "$SCRATCH/loads" "$SCRATCH/libpart.so"
# One of plain C goes with every program.
"$BIN/upcc" -shared -fPIC -o "$SCRATCH/libplain.so" "$SOURCES/_plain.c"
echo 'int plain(void); int main(void) { return plain() - 42; }' >"$SCRATCH/plain.c"
cc -o "$SCRATCH/plain" "$SCRATCH/plain.c" "$SCRATCH/libplain.so"
LD_LIBRARY_PATH=$SCRATCH "$SCRATCH/plain"
