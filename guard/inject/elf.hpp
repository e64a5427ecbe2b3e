// Looks up symbols, relocations and the DT_SONAME of loaded ELF objects in their dynamic sections.
// dlsym cannot be used: the guard hooks it. Results are valid while the object is loaded. Any
// thread.
#pragma once

#include <link.h>

#include <cstddef>

namespace tessera::guard {

// A loaded object: its base address and its dynamic section. False if it has none.
struct LoadedObject {
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    explicit operator bool() const { return dynamic != nullptr; }
    // `address`: as the object's tables have it, relative to its base.
    [[nodiscard]] void* at(ElfW(Addr) address) const {
        return reinterpret_cast<void*>(base + address);  // NOLINT(performance-no-int-to-ptr)
    }
};

// The first object in the guard's own link-map namespace (dlmopen(3)) that has this DT_SONAME and
// defines `symbol` as a function; empty if there is none.
LoadedObject find_loaded(const char* soname, const char* symbol);
// The object that contains the address, in any link-map namespace; empty if none does.
LoadedObject object_at(const void* address);
// The guard's own object; empty if the loader does not list it.
LoadedObject own_object();
// The object that dl_iterate_phdr describes; empty if it has no dynamic section.
LoadedObject object_of(const dl_phdr_info& info);
// The dynamic symbol of that name that the object defines; null if it defines none. Versions of
// symbols are ignored.
const ElfW(Sym) * find_symbol(const LoadedObject& object, const char* name);
// The address of that symbol, if it is a function; else null, also for an indirect function
// (STT_GNU_IFUNC).
void* find_function(const LoadedObject& object, const char* symbol);
// The address of that function in the first object after the guard, in the loader's order, that
// defines it, as with dlsym(RTLD_NEXT); null if none does. Takes no lock of the loader.
void* find_next_function(const char* symbol);
// The object's DT_SONAME; "" if it has none.
const char* soname(const LoadedObject& object);

// Where the loader writes addresses into an object's data: DT_RELA, without DT_JMPREL and DT_RELR.
struct Relocations {
    const ElfW(Rela) * first;
    std::size_t count;
    std::size_t relative_count;  // DT_RELACOUNT: the first ones, which name no symbol
};
Relocations relocations_of(const LoadedObject& object);
// Whether the loader stores the address of `symbol`, which is of this object, at this relocation's
// place.
bool stores_address_of(const ElfW(Rela) & relocation, const LoadedObject& object,
                       const ElfW(Sym) & symbol);

}  // namespace tessera::guard
