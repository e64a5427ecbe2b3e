#include "guard/inject/elf.hpp"

#include <dlfcn.h>

#include <cstdint>

#include "guard/inject/libc_floor.hpp"
#include "guard/inject/same_text.hpp"

namespace tessera::guard {
namespace {

using Address = ElfW(Addr);
using Symbol = ElfW(Sym);

// The types of relocations of a variable in a shared library: through its GOT, and as data.
#if defined(__x86_64__)
constexpr auto kAddressOfSymbol = R_X86_64_GLOB_DAT;
constexpr auto kSymbolAsData = R_X86_64_64;
#elif defined(__aarch64__)
constexpr auto kAddressOfSymbol = R_AARCH64_GLOB_DAT;
constexpr auto kSymbolAsData = R_AARCH64_ABS64;
#endif

void* pointer(Address address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// The entry in the object's dynamic section; null if there is none with that tag.
const ElfW(Dyn) * entry_of(const LoadedObject& object, ElfW(Sxword) tag) {
    for (const ElfW(Dyn)* entry = object.dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag) return entry;
    }
    return nullptr;
}

// The kernel's own object (vdso) keeps addresses relative to its base. For all other objects the
// loader makes them absolute.
template <typename T>
const T* table(const LoadedObject& object, ElfW(Sxword) tag) {
    const ElfW(Dyn)* entry = entry_of(object, tag);
    if (entry == nullptr) return nullptr;
    const Address at = entry->d_un.d_ptr;
    return static_cast<const T*>(pointer(at < object.base ? at + object.base : at));
}

std::uint32_t gnu_hash(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

struct Symbols {
    const Symbol* first;
    const char* names;
};

Symbols symbols_of(const LoadedObject& object) {
    return {table<Symbol>(object, DT_SYMTAB), table<char>(object, DT_STRTAB)};
}

bool defines(const Symbols& symbols, const Symbol& symbol, const char* wanted) {
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           same_text(symbols.names + symbol.st_name, wanted);
}

// Source of the layout: "GNU Hash ELF Sections", sourceware.org/legacy-ml/binutils/2006-10.
struct GnuHash {
    std::uint32_t buckets;
    std::uint32_t first_symbol;
    std::uint32_t bloom_words;
    std::uint32_t bloom_shift;
};

const Symbol* find_by_gnu_hash(const GnuHash& head, const Symbols& symbols, const char* wanted) {
    const auto* bloom = reinterpret_cast<const Address*>(&head + 1);
    const auto* buckets = reinterpret_cast<const std::uint32_t*>(bloom + head.bloom_words);
    const std::uint32_t* chain = buckets + head.buckets;
    if (head.buckets == 0) return nullptr;
    const std::uint32_t hash = gnu_hash(wanted);
    std::uint32_t index = buckets[hash % head.buckets];
    if (index < head.first_symbol) return nullptr;
    for (;; index++) {
        const std::uint32_t of_symbol = chain[index - head.first_symbol];
        const Symbol& symbol = symbols.first[index];
        if ((of_symbol | 1U) == (hash | 1U) && defines(symbols, symbol, wanted)) return &symbol;
        if ((of_symbol & 1U) != 0) return nullptr;
    }
}

// System V's table says how many symbols there are.
const Symbol* find_by_sysv_hash(const std::uint32_t* head, const Symbols& symbols,
                                const char* wanted) {
    for (std::uint32_t index = 0; index < head[1]; index++) {
        if (defines(symbols, symbols.first[index], wanted)) return &symbols.first[index];
    }
    return nullptr;
}

LoadedObject object_of(const link_map& map) {
    return {map.l_addr, map.l_ld};
}

const link_map* map_at(const void* address) {
    Dl_info about = {};
    void* map = nullptr;
    if (dladdr1 == nullptr || dladdr1(address, &about, &map, RTLD_DL_LINKMAP) == 0) return nullptr;
    return static_cast<const link_map*>(map);
}

// This library's entry: from the loader's list, or, in a namespace of dlmopen, by an address.
const link_map* own_map() {
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
        if (map->l_ld == _DYNAMIC) return map;
    }
    static const char us = 0;
    return map_at(&us);
}

}  // namespace

LoadedObject object_of(const dl_phdr_info& info) {
    LoadedObject object{info.dlpi_addr, nullptr};
    for (ElfW(Half) i = 0; i < info.dlpi_phnum; i++) {
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            object.dynamic = static_cast<const ElfW(Dyn)*>(object.at(info.dlpi_phdr[i].p_vaddr));
    }
    return object;
}

LoadedObject own_object() {
    const link_map* map = own_map();
    return map != nullptr ? object_of(*map) : LoadedObject{};
}

LoadedObject object_at(const void* address) {
    const link_map* map = map_at(address);
    return map != nullptr ? object_of(*map) : LoadedObject{};
}

// This takes no lock of the loader. A library that comes after us and defines dlsym stays loaded as
// long as we do. dl_iterate_phdr takes the lock, and may be a sanitizer's (same_text.hpp).
void* find_next_function(const char* symbol) {
    const link_map* map = own_map();
    if (map == nullptr) return nullptr;
    for (map = map->l_next; map != nullptr; map = map->l_next) {
        if (void* found = find_function(object_of(*map), symbol); found != nullptr) return found;
    }
    return nullptr;
}

LoadedObject find_loaded(const char* name, const char* symbol) {
    struct Search {
        const char* name;
        const char* symbol;
        LoadedObject found;
    } search{name, symbol, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            const LoadedObject object = object_of(*info);
            if (!object || !same_text(soname(object), wanted.name)) return 0;
            if (find_function(object, wanted.symbol) == nullptr) return 0;
            wanted.found = object;
            return 1;
        },
        &search);
    return search.found;
}

const ElfW(Sym) * find_symbol(const LoadedObject& object, const char* name) {
    if (!object) return nullptr;
    const Symbols symbols = symbols_of(object);
    if (symbols.first == nullptr || symbols.names == nullptr) return nullptr;
    if (const auto* head = table<GnuHash>(object, DT_GNU_HASH); head != nullptr)
        return find_by_gnu_hash(*head, symbols, name);
    if (const auto* head = table<std::uint32_t>(object, DT_HASH); head != nullptr)
        return find_by_sysv_hash(head, symbols, name);
    return nullptr;
}

void* find_function(const LoadedObject& object, const char* name) {
    const Symbol* symbol = find_symbol(object, name);
    if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return nullptr;
    return object.at(symbol->st_value);
}

Relocations relocations_of(const LoadedObject& object) {
    const auto value_of = [&object](ElfW(Sxword) tag) {
        const ElfW(Dyn)* entry = entry_of(object, tag);
        return entry != nullptr ? entry->d_un.d_val : 0;
    };
    return {table<ElfW(Rela)>(object, DT_RELA), value_of(DT_RELASZ) / sizeof(ElfW(Rela)),
            value_of(DT_RELACOUNT)};
}

bool stores_address_of(const ElfW(Rela) & relocation, const LoadedObject& object,
                       const ElfW(Sym) & symbol) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
    return (type == kAddressOfSymbol || type == kSymbolAsData) &&
           &symbols_of(object).first[ELF64_R_SYM(relocation.r_info)] == &symbol;
}

const char* soname(const LoadedObject& object) {
    const auto* names = table<char>(object, DT_STRTAB);
    const ElfW(Dyn)* entry = entry_of(object, DT_SONAME);
    return names != nullptr && entry != nullptr ? names + entry->d_un.d_val : "";
}

}  // namespace tessera::guard
