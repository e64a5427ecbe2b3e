// dlsym and dlvsym, found before libc's when the guard is preloaded. A program that looks up one of
// the driver's functions that the guard hooks gets the guard's. All else goes to libc by a jump, as
// if it had been called there: RTLD_NEXT means "after my caller", and libc finds the caller by the
// return address.
#include <dlfcn.h>

#include <atomic>

#include "guard/inject/elf.hpp"
#include "guard/inject/lookup.hpp"
#include "guard/inject/same_text.hpp"

namespace tessera::guard {
namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);

// Every loader has these functions. If one is hidden from us, lookups through it find nothing.
void* nothing(void*, const char*, const char*) {
    return nullptr;
}

// The function of libc, or of another library in front of it: the next one after us.
void* next(std::atomic<void*>& kept, const char* name) {
    void* function = kept.load(std::memory_order_relaxed);
    if (function == nullptr) {
        function = find_next_function(name);
        if (function == nullptr) function = reinterpret_cast<void*>(&nothing);
        kept.store(function, std::memory_order_relaxed);
    }
    return function;
}

constinit std::atomic<void*> kept_dlsym = nullptr;
constinit std::atomic<void*> kept_dlvsym = nullptr;

bool is_of(const char* library, const void* function) {
    const LoadedObject object = function != nullptr ? object_at(function) : LoadedObject{};
    return object && same_text(soname(object), library);
}

// A program that looks up libc's own dlsym would bypass us with it, so it gets ours. The exception
// is another library between us and libc that looks up the real one: then the next function is that
// library's own.
template <typename Lookup>
void* answer_with_lookup(void* ours, const void* next, Lookup lookup) {
    const bool is_libcs = is_of("libc.so.6", next) || is_of("libdl.so.2", next);
    return is_libcs && lookup() == next ? ours : nullptr;
}

// What the caller gets; null: whatever libc returns.
template <typename Lookup>
void* answer(void* handle, const char* symbol, Lookup lookup) {
    if (symbol == nullptr) return nullptr;
    if (same_text(symbol, "dlsym")) {
        return answer_with_lookup(reinterpret_cast<void*>(&::dlsym), next(kept_dlsym, "dlsym"),
                                  lookup);
    }
    if (same_text(symbol, "dlvsym")) {
        return answer_with_lookup(reinterpret_cast<void*>(&::dlvsym), next(kept_dlvsym, "dlvsym"),
                                  lookup);
    }
    const Hook hook = hook_named(symbol);
    if (!hook) return nullptr;
    // In a lookup in the whole program our function is found first, with or without the driver. A
    // caller that looks up the next one after itself must find us on the way there.
    const bool is_for_all = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
    const bool is_meant = is_for_all ? static_cast<bool>(find_loaded(hook.library, symbol))
                                     : is_of(hook.library, lookup());
    return is_meant ? hook.function : nullptr;
}

}  // namespace
}  // namespace tessera::guard

using tessera::guard::answer;
using tessera::guard::Dlsym;
using tessera::guard::Dlvsym;

// Called by the trampolines below.
extern "C" {
void* tessera_dlsym_answer(void* handle, const char* symbol);
void* tessera_dlvsym_answer(void* handle, const char* symbol, const char* version);
void* tessera_next_dlsym();
void* tessera_next_dlvsym();
}

void* tessera_next_dlsym() {
    return tessera::guard::next(tessera::guard::kept_dlsym, "dlsym");
}

void* tessera_next_dlvsym() {
    return tessera::guard::next(tessera::guard::kept_dlvsym, "dlvsym");
}

void* tessera_dlsym_answer(void* handle, const char* symbol) {
    return answer(handle, symbol,
                  [=] { return reinterpret_cast<Dlsym>(tessera_next_dlsym())(handle, symbol); });
}

void* tessera_dlvsym_answer(void* handle, const char* symbol, const char* version) {
    return answer(handle, symbol, [=] {
        return reinterpret_cast<Dlvsym>(tessera_next_dlvsym())(handle, symbol, version);
    });
}

#if defined(__x86_64__)
// rdi, rsi and rdx are the arguments. Three pushes keep the stack aligned for the calls.
#define TRAMPOLINE(name, answer, next)     \
    __asm__(                               \
        ".text\n"                          \
        ".globl " name                     \
        "\n"                               \
        ".type " name ", @function\n" name \
        ":\n"                              \
        "  .cfi_startproc\n"               \
        "  endbr64\n"                      \
        "  push %rdi\n"                    \
        "  push %rsi\n"                    \
        "  push %rdx\n"                    \
        "  .cfi_adjust_cfa_offset 24\n"    \
        "  call " answer                   \
        "\n"                               \
        "  test %rax, %rax\n"              \
        "  jz 1f\n"                        \
        "  add $24, %rsp\n"                \
        "  .cfi_adjust_cfa_offset -24\n"   \
        "  ret\n"                          \
        "1:\n"                             \
        "  .cfi_adjust_cfa_offset 24\n"    \
        "  call " next                     \
        "\n"                               \
        "  pop %rdx\n"                     \
        "  pop %rsi\n"                     \
        "  pop %rdi\n"                     \
        "  .cfi_adjust_cfa_offset -24\n"   \
        "  jmp *%rax\n"                    \
        "  .cfi_endproc\n"                 \
        ".size " name ", .-" name "\n")
#else
#error "the preloaded guard needs a trampoline for this architecture"
#endif

TRAMPOLINE("dlsym", "tessera_dlsym_answer", "tessera_next_dlsym");
TRAMPOLINE("dlvsym", "tessera_dlvsym_answer", "tessera_next_dlvsym");
