/* The library that replaces one of the driver's libraries: all of its names, and no code. A linker
 * finds the names here (`-lcuda`), and a program that it links needs this library. The loader
 * looks for the names in the libraries that this one needs: the guard first, then the driver's for
 * all others. The loader ignores names without a value; hide_names.c removes the values. */
extern const char tessera_facade[];
const char tessera_facade[] = "guarded";

#define NAME(symbol)                                    \
    __asm__(".text\n.globl " #symbol "\n.type " #symbol \
            ", @function\n"                             \
            ".size " #symbol ", 1\n" #symbol ":\n");
#ifdef TESSERA_FACADE_CUDA
#define HOOK(symbol, name, since) NAME(symbol)
#define UNHOOKED(symbol, name, since, reason) NAME(symbol)
#include "guard/entrypoints.def"
#include "guard/unhooked.def"
#else
#define NVML_HOOK(symbol) NAME(symbol)
#define NVML_UNHOOKED(symbol) NAME(symbol)
#include "guard/nvml_entrypoints.def"
#include "guard/nvml_unhooked.def"
#endif
__asm__(".text\n.byte 0\n");
