// Selects the versions of glibc's functions that the guard uses: the oldest, so that one build runs
// in any container from glibc 2.17 on (a test reads the libraries). Include it where such a
// function is called. Functions that are not named here have had one version since then.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#if defined(__x86_64__)
#define TESSERA_OLDEST_GLIBC "GLIBC_2.2.5"
#define TESSERA_OLDEST_DLADDR1 "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define TESSERA_OLDEST_GLIBC "GLIBC_2.17"
#define TESSERA_OLDEST_DLADDR1 "GLIBC_2.17"
#else
#error "which glibc versions are the oldest on this architecture? See inject/libc_floor.hpp"
#endif

// Before glibc 2.34 these were in libdl, which an image need not have; a program that can load a
// driver has it. So they may be missing, and callers must check.
#pragma weak dladdr
#pragma weak dladdr1
#pragma weak dlopen
// Nor does every program have threads.
#pragma weak pthread_create

__asm__(".symver dladdr, dladdr@" TESSERA_OLDEST_GLIBC);
__asm__(".symver dladdr1, dladdr1@" TESSERA_OLDEST_DLADDR1);
__asm__(".symver dlopen, dlopen@" TESSERA_OLDEST_GLIBC);
__asm__(".symver pthread_create, pthread_create@" TESSERA_OLDEST_GLIBC);
