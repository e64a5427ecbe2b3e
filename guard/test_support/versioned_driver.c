/* A libcuda.so.1 that gives its functions a version, as dlvsym wants it, and does nothing. */
#define HOOK(symbol, name, since) \
    int symbol(void);             \
    int symbol(void) { return 0; }
#include "guard/entrypoints.def"
