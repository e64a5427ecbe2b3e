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

// The first loaded one, in our own name space of dlmopen, that calls itself so (DT_SONAME) and
// defines the symbol.
Object find_loaded(const char* soname, const char* symbol);
// That holds the address, in whichever name space of dlmopen; nothing where none does.
Object object_at(const void* address);
// The function that the object itself defines, of whatever version; null where it does not.
void* find_function(const Object& object, const char* symbol);
// Of whatever was loaded after this library, the first that defines it; null where none does.
void* find_next_function(const char* symbol);
// Its DT_SONAME; "" where it has none.
const char* soname(const Object& object);

}  // namespace tessera::guard
