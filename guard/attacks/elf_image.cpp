#include "guard/attacks/elf_image.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "api/nvidia/cuda.h"
#include "guard/attacks/symbols.hpp"

namespace tessera::attacks {
namespace {

constexpr std::uintptr_t kPage = 4096;
constexpr int kMaxSegments = 32;
constexpr std::size_t kStep = std::size_t{512} << 20;

// This thread's copy of the library's thread-local variables. All of them are zero at first.
alignas(64) thread_local char variables[4096];

struct File {
    int fd = -1;
    Elf64_Ehdr header = {};
    Elf64_Phdr segments[kMaxSegments] = {};
};

bool read_headers(const char* path, File& file) {
    file.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file.fd < 0) return false;
    if (pread(file.fd, &file.header, sizeof file.header, 0) != sizeof file.header) return false;
    const std::size_t size = file.header.e_phnum * sizeof(Elf64_Phdr);
    return file.header.e_phnum <= kMaxSegments &&
           pread(file.fd, file.segments, size, static_cast<off_t>(file.header.e_phoff)) ==
               static_cast<ssize_t>(size);
}

std::uintptr_t page_of(std::uintptr_t address) {
    return address & ~(kPage - 1);
}

bool map_segment(const File& file, const Elf64_Phdr& segment, std::uintptr_t base) {
    constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
    const std::uintptr_t start = page_of(segment.p_vaddr);
    const std::uintptr_t file_end = segment.p_vaddr + segment.p_filesz;
    const std::uintptr_t end = segment.p_vaddr + segment.p_memsz;
    void* wanted = reinterpret_cast<void*>(base + start);
    if (mmap(wanted, file_end - start, kAll, MAP_PRIVATE | MAP_FIXED, file.fd,
             static_cast<off_t>(page_of(segment.p_offset))) == MAP_FAILED)
        return false;
    if (end == file_end) return true;
    const std::uintptr_t next = page_of(file_end + kPage - 1);
    std::memset(reinterpret_cast<void*>(base + file_end), 0, next - file_end);
    return end <= next || mmap(reinterpret_cast<void*>(base + next), end - next, kAll,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

struct Tables {
    const Elf64_Sym* symbols = nullptr;
    const char* names = nullptr;
    const Elf64_Rela* relocations[2] = {};
    std::size_t counts[2] = {};
    void (**begins)() = nullptr;
    std::size_t begin_count = 0;
};

// The library's dynamic section. Relocates its addresses to those of this process.
Tables tables_of(Elf64_Dyn* dynamic, std::uintptr_t base) {
    Tables out;
    for (Elf64_Dyn* entry = dynamic; entry->d_tag != DT_NULL; entry++) {
        const std::uintptr_t address = base + entry->d_un.d_ptr;
        const std::size_t count = entry->d_un.d_val / sizeof(Elf64_Rela);
        switch (entry->d_tag) {
            case DT_SYMTAB:
                out.symbols = reinterpret_cast<const Elf64_Sym*>(entry->d_un.d_ptr = address);
                break;
            case DT_STRTAB:
                out.names = reinterpret_cast<const char*>(entry->d_un.d_ptr = address);
                break;
            case DT_RELA:
                out.relocations[0] = reinterpret_cast<const Elf64_Rela*>(address);
                break;
            case DT_RELASZ:
                out.counts[0] = count;
                break;
            case DT_JMPREL:
                out.relocations[1] = reinterpret_cast<const Elf64_Rela*>(address);
                break;
            case DT_PLTRELSZ:
                out.counts[1] = count;
                break;
            case DT_INIT_ARRAY:
                out.begins = reinterpret_cast<void (**)()>(address);
                break;
            case DT_INIT_ARRAYSZ:
                out.begin_count = entry->d_un.d_val / sizeof(void*);
                break;
            default:
                break;
        }
    }
    return out;
}

const char* relocate(const Elf64_Rela& entry, const Tables& tables, std::uintptr_t base,
                     Import import) {
    const Elf64_Sym& symbol = tables.symbols[ELF64_R_SYM(entry.r_info)];
    const auto addend = static_cast<std::uintptr_t>(entry.r_addend);
    auto* place = reinterpret_cast<std::uintptr_t*>(base + entry.r_offset);
    const std::uint64_t type = ELF64_R_TYPE(entry.r_info);
    if (type == R_X86_64_RELATIVE) {
        *place = base + addend;
        return nullptr;
    }
    if (type == R_X86_64_TPOFF64) {
        const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
        *place = reinterpret_cast<std::uintptr_t>(variables) - thread + symbol.st_value + addend;
        return nullptr;
    }
    if (type != R_X86_64_64 && type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT)
        return "a relocation of another kind";
    std::uintptr_t value = base + symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF) {
        const char* name = tables.names + symbol.st_name;
        value = reinterpret_cast<std::uintptr_t>(import(name));
        if (value == 0 && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) return name;
    }
    *place = value + (type == R_X86_64_64 ? addend : 0);
    return nullptr;
}

const char* map_library(const char* path, Import import, link_map& map) {
    File file;
    if (!read_headers(path, file)) return "the driver's file cannot be read";
    std::uintptr_t span = 0;
    const Elf64_Phdr* dynamic = nullptr;
    for (const Elf64_Phdr& each : file.segments) {
        if (each.p_type == PT_LOAD) span = page_of(each.p_vaddr + each.p_memsz + kPage);
        if (each.p_type == PT_DYNAMIC) dynamic = &each;
        if (each.p_type == PT_TLS && (each.p_filesz != 0 || each.p_memsz > sizeof variables))
            return "the driver's variables of threads";
    }
    void* reserved = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED || dynamic == nullptr) return "no address space for the driver";
    const auto base = reinterpret_cast<std::uintptr_t>(reserved);
    for (const Elf64_Phdr& each : file.segments)
        if (each.p_type == PT_LOAD && !map_segment(file, each, base)) return "a segment";
    map.l_addr = base;
    map.l_ld = reinterpret_cast<Elf64_Dyn*>(base + dynamic->p_vaddr);
    const Tables tables = tables_of(map.l_ld, base);
    for (int i = 0; i < 2; i++) {
        for (std::size_t k = 0; k < tables.counts[i]; k++) {
            const char* missing = relocate(tables.relocations[i][k], tables, base, import);
            if (missing != nullptr) return missing;
        }
    }
    for (std::size_t i = 0; i < tables.begin_count; i++)
        tables.begins[i]();
    return nullptr;
}

}  // namespace

const char* take_by_own_loader(const char* path, Import import) {
    static link_map map = {};
    if (const char* error = map_library(path, import, map); error != nullptr) return error;
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    const auto init = reinterpret_cast<decltype(&cuInit)>(walk(&map, "cuInit"));
    const auto create = reinterpret_cast<decltype(&cuCtxCreate_v2)>(walk(&map, "cuCtxCreate_v2"));
    const auto alloc = reinterpret_cast<decltype(&cuMemAlloc_v2)>(walk(&map, "cuMemAlloc_v2"));
    if (init == nullptr || create == nullptr || alloc == nullptr) return "the driver's functions";
    if (init(0) != CUDA_SUCCESS || create(&context, 0, 0) != CUDA_SUCCESS) return "no context";
    for (int i = 0; i < 4; i++)
        alloc(&pointer, kStep);
    return nullptr;
}

}  // namespace tessera::attacks
