/* A library of the driver's that gives its functions a version, as dlvsym wants it, and does
 * nothing. */
#define HOOK(symbol, name, since) NVML_HOOK(symbol)
#define NVML_HOOK(symbol) \
    int symbol(void);     \
    int symbol(void) {    \
        return 0;         \
    }
#include TABLE
