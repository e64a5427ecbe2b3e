/* A driver library whose functions have a version, as dlvsym requires, and do nothing. */
#define HOOK(symbol, name, since) NVML_HOOK(symbol)
#define NVML_HOOK(symbol) \
    int symbol(void);     \
    int symbol(void) {    \
        return 0;         \
    }
#include TABLE
