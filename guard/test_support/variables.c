/* A loader of the driver in the style of cuew: variables with the names of the driver's functions,
 * which are filled by dlsym and called through. A variable that is not NULL was filled. */
#include <dlfcn.h>
#include <stddef.h>

#include "guard/test_support/takers.h"

int (*cuInit)(unsigned flags);
int (*cuCtxCreate_v2)(void** context, unsigned flags, int device);
int (*cuMemAlloc_v2)(unsigned long long* pointer, size_t bytes);

/* The same as a table, because its addresses are filled in by another kind of relocation. */
static struct {
    void* variable;
    const char* name;
} const table[] = {{&cuCtxCreate_v2, "cuCtxCreate_v2"}, {&cuMemAlloc_v2, "cuMemAlloc_v2"}};

int take(void) {
    unsigned long long pointer = 0;
    void* context = NULL;
    if (cuInit == NULL) {
        void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (driver == NULL) return -1;
        cuInit = (int (*)(unsigned))dlsym(driver, "cuInit");
        for (int i = 0; i < 2; i++)
            *(void**)table[i].variable = dlsym(driver, table[i].name);
    }
    if (cuInit(0) != 0 || cuCtxCreate_v2(&context, 0, 0) != 0) return -2;
    return cuMemAlloc_v2(&pointer, kTaken);
}
