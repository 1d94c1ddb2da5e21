# Makes a shared object, links a program with it, has another load it, and runs both.
set -e
"$BIN/upcc" -shared -fPIC -o "$SCRATCH/libpart.so" "$SOURCES/_library.upc"
"$BIN/upcc" -I "$SOURCES/.." -o "$SCRATCH/linked" "$SOURCES/_uses_library.upc" "$SCRATCH/libpart.so"
"$BIN/upcrun" -n "$COUNT" "$SCRATCH/linked"
"$BIN/upcc" -I "$SOURCES/.." -DLOADED -o "$SCRATCH/loads" "$SOURCES/_uses_library.upc"
"$BIN/upcrun" -n "$COUNT" "$SCRATCH/loads" "$SCRATCH/libpart.so"
