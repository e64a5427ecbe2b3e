// What a loaded object says of itself, read from its tables in memory. dlsym cannot be asked: the
// guard stands before it.
#pragma once

#include <link.h>

namespace tessera::guard {

// A loaded object: where it lies, and its dynamic section.
struct Object {
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    explicit operator bool() const { return dynamic != nullptr; }
};

// Of a handle of dlopen(). Source: dlinfo(3), RTLD_DI_LINKMAP; in glibc the handle is the map.
Object object_of(void* handle);
// That holds the address, in whichever name space of dlmopen; nothing where none does.
Object object_at(const void* address);
// The first after `object`, in the order in which they were loaded, that defines the symbol.
Object next_with(const Object& object, const char* symbol);

// The function that the object itself defines, of whatever version; null where it does not.
void* find_function(const Object& object, const char* symbol);
// Its DT_SONAME; "" where it has none.
const char* soname(const Object& object);

}  // namespace tessera::guard
