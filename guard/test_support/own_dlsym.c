// The dlsym of a library that is preloaded after the guard, as some profilers have one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>

typedef void* (*Dlsym)(void*, const char*);

void* dlsym(void* handle, const char* name) {
    static Dlsym real = NULL;
    if (real == NULL) real = (Dlsym)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return real(handle, name);
}
