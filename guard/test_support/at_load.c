/* A library that has the loader call a function while it is loaded: that whose address the environment
 * names. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    const char* address = getenv("TESSERA_TEST_AT_LOAD");
    if (address != NULL) ((void (*)(void))(uintptr_t)strtoull(address, NULL, 10))();
}
