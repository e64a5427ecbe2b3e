/* A library whose constructor calls a function while the loader loads it. The environment variable
 * TESSERA_TEST_AT_LOAD has the function's address. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    const char* address = getenv("TESSERA_TEST_AT_LOAD");
    if (address != NULL) ((void (*)(void))(uintptr_t)strtoull(address, NULL, 10))();
}
