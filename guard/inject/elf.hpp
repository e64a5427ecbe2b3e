// What a loaded object declares, read from its tables in memory. dlsym cannot be used: the guard
// hooks it.
#pragma once

#include <link.h>

#include <cstddef>

namespace tessera::guard {

// A loaded object: its base address and its dynamic section.
struct Object {
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    explicit operator bool() const { return dynamic != nullptr; }
    [[nodiscard]] void* at(ElfW(Addr) offset) const {
        return reinterpret_cast<void*>(base + offset);  // NOLINT(performance-no-int-to-ptr)
    }
};

// The first loaded object, in our own namespace of dlmopen, that has this DT_SONAME and defines the
// symbol.
Object find_loaded(const char* soname, const char* symbol);
// The object that contains the address, in any namespace of dlmopen; empty if none does.
Object object_at(const void* address);
// This library's own object.
Object own_object();
// The object that dl_iterate_phdr describes.
Object object_of(const dl_phdr_info& info);
// The symbol that the object itself defines, of any version; null if it does not define it.
const ElfW(Sym) * find_symbol(const Object& object, const char* name);
// The function of that name, likewise.
void* find_function(const Object& object, const char* symbol);
// The function in the first object, of those loaded after this library, that defines it; null if
// none does.
void* find_next_function(const char* symbol);
// Its DT_SONAME; "" if it has none.
const char* soname(const Object& object);

// Where the loader writes addresses into an object's data (DT_RELA).
struct Relocations {
    const ElfW(Rela) * first;
    std::size_t count;
    std::size_t relative_count;  // these come first, and have no symbol
};
Relocations relocations_of(const Object& object);
// Whether this relocation writes the address of the object's own symbol.
bool is_place_of(const ElfW(Rela) & relocation, const Object& object, const ElfW(Sym) & symbol);

}  // namespace tessera::guard
