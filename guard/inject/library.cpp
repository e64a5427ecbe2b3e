#include "guard/inject/library.hpp"

#include <dlfcn.h>

#include "guard/inject/libc_floor.hpp"

namespace tessera::guard {

LoadedObject load_library(const char* soname, const char* mark) {
    const LoadedObject library = find_loaded(soname, mark);
    if (dlopen == nullptr || dladdr == nullptr) return {};
    if (library || dlopen(soname, RTLD_LAZY) == nullptr) return library;
    return find_loaded(soname, mark);
}

void pin(const LoadedObject& library, const char* mark) {
    Dl_info about = {};
    if (dladdr(find_function(library, mark), &about) == 0) return;
    dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace tessera::guard
