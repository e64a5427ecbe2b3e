// The driver's names, as the loader finds them in this library before all others. A program that
// calls a function of such a name must get the guard's function. A library that has a variable of
// that name (loaders in the style of cuew) must get its own variable. The loader looks up only the
// name, and does not say for which object.
//
// So an exported name is a function until our constructor has run, for the objects that were loaded
// with us. From then on it is an indirect function (STT_GNU_IFUNC): the loader calls it for the
// address while it binds the one object that needs it. The constructor repairs libraries that have
// variables and were loaded with us.
//
// For the alternatives see docs/internals/guard.md.
#include <link.h>
#include <sys/mman.h>

#include "api/nvidia/cuda.h"
#include "api/nvidia/nvml.h"
#include "guard/inject/elf.hpp"
#include "guard/inject/pages.hpp"

namespace tessera::guard {
namespace {

using Address = ElfW(Addr);
using Symbol = ElfW(Sym);

Address& word_at(const LoadedObject& object, const ElfW(Rela) & relocation) {
    return *static_cast<Address*>(object.at(relocation.r_offset));
}

const Symbol* find_variable(const LoadedObject& object, const char* name) {
    const Symbol* symbol = find_symbol(object, name);
    return symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT ? symbol : nullptr;
}

// The object's own variable of the name, if the loader is binding the object now. That is so if a
// place for its address is still empty. No object that means the function can be bound at the same
// time. An object that can see both the variable and the driver's function would find only one of
// them without us, too, so one of the two was always wrong.
void* variable_being_bound(const LoadedObject& object, const char* name) {
    const Symbol* variable = find_variable(object, name);
    if (variable == nullptr) return nullptr;
    const Relocations relocations = relocations_of(object);
    for (std::size_t i = relocations.relative_count; i < relocations.count; i++) {
        const ElfW(Rela)& relocation = relocations.first[i];
        if (stores_address_of(relocation, object, *variable) && word_at(object, relocation) == 0)
            return object.at(variable->st_value);
    }
    return nullptr;
}

// Called by the loader, while it binds an object or a call.
void* answer(const char* name, void* hook) {
    struct Search {
        const char* name;
        void* found;
    } search{name, nullptr};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            const LoadedObject object = object_of(*info);
            if (object) wanted.found = variable_being_bound(object, wanted.name);
            return wanted.found != nullptr ? 1 : 0;
        },
        &search);
    return search.found != nullptr ? search.found : hook;
}

#define EXPORT(symbol, library)                                     \
    void* answer_##symbol() {                                       \
        return answer(#symbol, reinterpret_cast<void*>(&::symbol)); \
    }
#include "guard/exports.def"
#undef EXPORT

// Makes memory writable that the loader has made read-only, while this is in scope.
class Writable {
  public:
    Writable(Address begin, Address end)
        : pages_(pages_of(begin, end, page_size())), is_(protect(PROT_READ | PROT_WRITE)) {}
    ~Writable() { protect(PROT_READ); }
    Writable(const Writable&) = delete;
    Writable& operator=(const Writable&) = delete;

    explicit operator bool() const { return is_; }

  private:
    bool protect(int protection) const {
        return mprotect(LoadedObject{pages_.begin}.at(0), pages_.end - pages_.begin, protection) ==
               0;
    }

    PageRange pages_;
    bool is_;
};

// Whether the loader has made the address read-only after it bound the object (PT_GNU_RELRO).
bool is_sealed(const dl_phdr_info& info, Address address) {
    for (ElfW(Half) i = 0; i < info.dlpi_phnum; i++) {
        const ElfW(Phdr)& part = info.dlpi_phdr[i];
        if (part.p_type != PT_GNU_RELRO) continue;
        const PageRange sealed =
            sealed_of(info.dlpi_addr + part.p_vaddr, part.p_memsz, page_size());
        if (address >= sealed.begin && address < sealed.end) return true;
    }
    return false;
}

void write(const dl_phdr_info& info, Address& word, Address value) {
    const auto address = reinterpret_cast<Address>(&word);
    if (!is_sealed(info, address)) {
        word = value;
        return;
    }
    if (const Writable page(address, address + sizeof word); page) word = value;
}

// Binds the object to its own variable of the name, if it was bound to our function.
void rebind(const dl_phdr_info& info, const LoadedObject& object, const char* name,
            const void* hook) {
    const Symbol* variable = find_variable(object, name);
    if (variable == nullptr) return;
    const Relocations relocations = relocations_of(object);
    for (std::size_t i = relocations.relative_count; i < relocations.count; i++) {
        const ElfW(Rela)& relocation = relocations.first[i];
        const auto addend = static_cast<Address>(relocation.r_addend);
        Address& word = word_at(object, relocation);
        if (stores_address_of(relocation, object, *variable) &&
            word == reinterpret_cast<Address>(hook) + addend)
            write(info, word, object.base + variable->st_value + addend);
    }
}

// Repairs objects that were bound before the indirect functions were in place.
void rebind_all() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void*) {
            const LoadedObject object = object_of(*info);
            if (!object) return 0;
#define EXPORT(symbol, library) rebind(*info, object, #symbol, reinterpret_cast<void*>(&::symbol));
#include "guard/exports.def"
#undef EXPORT
            return 0;
        },
        nullptr);
}

// Changes the symbol in our own symbol table.
void answer_by(const LoadedObject& us, const char* name, void* (*answer)()) {
    auto* symbol = const_cast<Symbol*>(find_symbol(us, name));
    symbol->st_value = reinterpret_cast<Address>(answer) - us.base;
    symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
}

__attribute__((constructor)) void begin_to_answer() {
    const LoadedObject us = own_object();
    if (!us) return;
    rebind_all();
    const Symbol* first = nullptr;
    const Symbol* last = nullptr;
#define EXPORT(symbol, library)                                    \
    if (const Symbol* found = find_symbol(us, #symbol); true) {    \
        if (found == nullptr) return;                              \
        first = first == nullptr || found < first ? found : first; \
        last = last == nullptr || found > last ? found : last;     \
    }
#include "guard/exports.def"
#undef EXPORT
    const Writable symbols(reinterpret_cast<Address>(first), reinterpret_cast<Address>(last + 1));
    if (!symbols) return;
#define EXPORT(symbol, library) answer_by(us, #symbol, answer_##symbol);
#include "guard/exports.def"
#undef EXPORT
}

}  // namespace
}  // namespace tessera::guard
