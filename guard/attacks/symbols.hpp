// Finds the functions of a loaded library in its own tables, without the loader.
#pragma once

#include <link.h>

#include <cstring>

namespace tessera::attacks {

// The symbol's address; nullptr if the library has none of that name.
inline void* walk(const link_map* map, const char* wanted) {
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    // The table of names follows the table of symbols.
    const auto* end = reinterpret_cast<const ElfW(Sym)*>(names);
    for (const ElfW(Sym)* each = symbols; each != nullptr && each < end; each++) {
        if (each->st_value != 0 && std::strcmp(names + each->st_name, wanted) == 0)
            return reinterpret_cast<void*>(map->l_addr + each->st_value);
    }
    return nullptr;
}

}  // namespace tessera::attacks
