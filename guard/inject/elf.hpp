// What a loaded object says of itself, read from its tables in memory. dlsym cannot be asked: the
// guard stands before it.
#pragma once

#include <link.h>

#include <cstddef>

namespace tessera::guard {

// A loaded object: where it lies, and its dynamic section.
struct Object {
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    explicit operator bool() const { return dynamic != nullptr; }
    [[nodiscard]] void* at(ElfW(Addr) offset) const {
        return reinterpret_cast<void*>(base + offset);  // NOLINT(performance-no-int-to-ptr)
    }
};

// The first loaded one, in our own name space of dlmopen, that calls itself so (DT_SONAME) and
// defines the symbol.
Object find_loaded(const char* soname, const char* symbol);
// That holds the address, in whichever name space of dlmopen; nothing where none does.
Object object_at(const void* address);
// This library's own.
Object own_object();
// What dl_iterate_phdr tells of.
Object object_of(const dl_phdr_info& info);
// The symbol that the object itself defines, of whatever version; null where it does not.
const ElfW(Sym) * find_symbol(const Object& object, const char* name);
// The function of that name, likewise.
void* find_function(const Object& object, const char* symbol);
// Of whatever was loaded after this library, the first that defines it; null where none does.
void* find_next_function(const char* symbol);
// Its DT_SONAME; "" where it has none.
const char* soname(const Object& object);

// Where the loader puts addresses that an object's data wants (DT_RELA).
struct Relocations {
    const ElfW(Rela) * first;
    std::size_t count;
    std::size_t relative_count;  // these come first, and want no symbol
};
Relocations relocations_of(const Object& object);
// Whether this one puts the address of the object's own symbol.
bool is_place_of(const ElfW(Rela) & relocation, const Object& object, const ElfW(Sym) & symbol);

}  // namespace tessera::guard
