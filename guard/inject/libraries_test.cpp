// Goal: the libraries run in any container with glibc 2.17 or later, add nothing of ours or of
// libstdc++'s to a program's namespace, and cannot end it. Method: nm and readelf.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "gpusim/test_support/simulated_node.hpp"

namespace tessera::guard {
namespace {

using gpusim::output_of;

constexpr char kGuard[] = TESSERA_BINARY_DIR "/guard/lib/libtessera-guard.so";
constexpr char kFacade[] = TESSERA_BINARY_DIR "/guard/lib/libcuda.so.1";
constexpr char kProbe[] = TESSERA_BINARY_DIR "/guard/lib/tessera-mps-probe";
constexpr char kNvmlFacade[] = TESSERA_BINARY_DIR "/guard/lib/libnvidia-ml.so.1";

struct Symbols {
    std::set<std::string> defined;
    std::set<std::string> wanted;  // NAME@VERSION
};

Symbols symbols_of(const std::string& library) {
    const std::set<std::string> compilers = {"_ITM_deregisterTMCloneTable",
                                             "_ITM_registerTMCloneTable", "__gmon_start__"};
    Symbols symbols;
    std::istringstream in(output_of("nm --dynamic --portability " + library));
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        std::string kind;
        words >> name >> kind;
        if (compilers.contains(name)) continue;
        (kind == "U" || kind == "w" ? symbols.wanted : symbols.defined).insert(name);
    }
    return symbols;
}

std::set<std::string> needs_of(const std::string& library) {
    std::set<std::string> needs;
    std::istringstream in(output_of("readelf --dynamic " + library));
    for (std::string line; std::getline(in, line);) {
        if (line.find("(NEEDED)") == std::string::npos) continue;
        const std::size_t open = line.find('[');
        needs.insert(line.substr(open + 1, line.find(']') - open - 1));
    }
    return needs;
}

TEST(GuardLibraries, BringTheHooksAndNothingElse) {
    std::set<std::string> expected = {"dlsym", "dlvsym"};
#define EXPORT(symbol, library) expected.insert(#symbol);
#include "guard/exports.def"
#undef EXPORT
    EXPECT_EQ(symbols_of(kGuard).defined, expected);
}

// For linkers: all functions of the driver. A loader finds none of them there, because none has a
// value.
TEST(GuardLibraries, TheFacadesHaveNamesAlone) {
    std::set<std::string> cuda = {"tessera_facade"};
#define HOOK(symbol, name, since) cuda.insert(#symbol);
#define UNHOOKED(symbol, name, since, reason) cuda.insert(#symbol);
#include "guard/entrypoints.def"
#include "guard/unhooked.def"
#undef UNHOOKED
#undef HOOK
    std::set<std::string> nvml = {"tessera_facade"};
#define NVML_HOOK(symbol) nvml.insert(#symbol);
#define NVML_UNHOOKED(symbol) nvml.insert(#symbol);
#include "guard/nvml_entrypoints.def"
#include "guard/nvml_unhooked.def"
#undef NVML_UNHOOKED
#undef NVML_HOOK
    EXPECT_EQ(symbols_of(kFacade).defined, cuda);
    EXPECT_EQ(symbols_of(kNvmlFacade).defined, nvml);
    for (const char* facade : {kFacade, kNvmlFacade}) {
        std::istringstream in(output_of(std::string("nm --dynamic --portability ") + facade));
        for (std::string line; std::getline(in, line);) {
            std::istringstream words(line);
            std::string name;
            std::string kind;
            std::string value;
            words >> name >> kind >> value;
            EXPECT_TRUE(kind != "T" || value.find_first_not_of('0') == std::string::npos) << name;
        }
    }
}

TEST(GuardLibraries, NeedLibcAlone) {
    EXPECT_EQ(needs_of(kGuard), (std::set<std::string>{"ld-linux-x86-64.so.2", "libc.so.6"}));
    EXPECT_EQ(needs_of(kFacade),
              (std::set<std::string>{"libtessera-guard.so", "libtessera-real-cuda.so.1"}));
    EXPECT_EQ(needs_of(kNvmlFacade),
              (std::set<std::string>{"libtessera-guard.so", "libtessera-real-nvml.so.1"}));
    EXPECT_EQ(needs_of(kProbe), (std::set<std::string>{"libcuda.so.1", "libc.so.6"}));
    for (const char* facade : {kFacade, kNvmlFacade})
        EXPECT_EQ(symbols_of(facade).wanted, std::set<std::string>{});
}

TEST(GuardLibraries, RunOnGlibc217) {
    const std::set<std::string> old = {"GLIBC_2.2.5", "GLIBC_2.3",  "GLIBC_2.3.3",
                                       "GLIBC_2.3.4", "GLIBC_2.14", "GLIBC_2.17"};
    for (const char* built : {kGuard, kProbe}) {
        for (const std::string& wanted : symbols_of(built).wanted) {
            const std::size_t at = wanted.find('@');
            if (at == std::string::npos && wanted.starts_with("cu")) continue;  // the driver's
            ASSERT_NE(at, std::string::npos) << wanted << " has no version";
            EXPECT_TRUE(old.contains(wanted.substr(at + 1))) << wanted;
        }
    }
}

TEST(GuardLibraries, CannotEndAProgramNorAskItsEnvironment) {
    for (const std::string& wanted : symbols_of(kGuard).wanted) {
        const std::string name = wanted.substr(0, wanted.find('@'));
        for (const char* no : {"exit", "_exit", "abort", "raise", "kill", "getenv", "system",
                               "__assert_fail", "__stack_chk_fail", "umask", "signal", "sigaction"})
            EXPECT_NE(name, no);
    }
}

}  // namespace
}  // namespace tessera::guard
