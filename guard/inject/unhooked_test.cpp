// Goal: there is a decision about each entry point of the driver: it is hooked, or is in
// unhooked.def with a reason. Method: both tables are compared with what the simulated driver
// exports. If TESSERA_CUDA_INCLUDE names a folder with the vendor's headers, they are compared with
// those, too. PyPI's nvidia-cuda-runtime has them; these headers are not ours to keep here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

namespace tessera::guard {
namespace {

struct EntryPoint {
    std::string symbol;
    std::string name;
    int since;

    bool operator<(const EntryPoint& other) const {
        return std::tie(symbol, name, since) < std::tie(other.symbol, other.name, other.since);
    }
};

std::set<EntryPoint> hooked() {
    return {
#define HOOK(symbol, name, since) {#symbol, #name, since},
#include "guard/entrypoints.def"
#undef HOOK
    };
}

// The reasons that the table explains; a row with another does not compile.
enum class Reason {
    not_enforced,
    no_effect,
    graph,
    code,
    order,
    host_memory,
    binding,
    external_memory,
    graphics,
    descriptor,
    tool,
    cuda2,
};

std::set<EntryPoint> unhooked() {
    std::set<EntryPoint> all;
#define UNHOOKED(symbol, name, since, reason)                                                \
    EXPECT_TRUE(all.insert({#symbol, #name, since}).second) << #symbol << " is there twice"; \
    static_assert(Reason::reason <= Reason::cuda2);
#include "guard/unhooked.def"
#undef UNHOOKED
    return all;
}

std::set<EntryPoint> decided() {
    std::set<EntryPoint> all = hooked();
    for (const EntryPoint& each : unhooked())
        EXPECT_TRUE(all.insert(each).second) << each.symbol << " is hooked";
    return all;
}

// The vendor's headers name a function PFN_NAME_vSINCE, and the twin's suffix.
std::string vendors_name_of(const EntryPoint& of) {
    std::string twin;
    for (const char* suffix : {"_ptsz", "_ptds"})
        if (of.symbol.ends_with(suffix)) twin = suffix;
    return of.name + "_v" + std::to_string(of.since) + twin;
}

TEST(GuardUnhooked, EachEntryPointOfTheSimulatedDriverIsDecidedUpon) {
    const std::set<EntryPoint> all = decided();
#define ENTRY_POINT(name, symbol, since) \
    EXPECT_TRUE(all.contains({#symbol, #name, since})) << #symbol << " " << (since);
#define PER_THREAD_ENTRY_POINT ENTRY_POINT
#include "gpusim/cuda/driver/entry_points.def"
#undef PER_THREAD_ENTRY_POINT
#undef ENTRY_POINT
}

// Each symbol has one name and version. Otherwise a program that is linked gets another function
// than one that looks it up.
TEST(GuardUnhooked, NoSymbolIsThereTwice) {
    std::set<std::string> symbols;
    for (const EntryPoint& each : decided())
        EXPECT_TRUE(symbols.insert(each.symbol).second) << each.symbol;
}

TEST(GuardUnhooked, EachEntryPointOfTheVendorsHeadersIsDecidedUpon) {
    const char* folder = std::getenv("TESSERA_CUDA_INCLUDE");
    if (folder == nullptr) GTEST_SKIP() << "TESSERA_CUDA_INCLUDE names no folder of CUDA's headers";
    std::set<std::string> names;
    for (const EntryPoint& each : decided())
        names.insert(vendors_name_of(each));
    std::size_t found = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        if (!file.path().filename().string().ends_with("Typedefs.h")) continue;
        std::stringstream text;
        text << std::ifstream(file.path()).rdbuf();
        const std::string all = text.str();
        const std::regex row(R"(\*\s*PFN_(cu[A-Z]\w*_v\d+\w*)\))");
        for (std::sregex_iterator at(all.begin(), all.end(), row), end; at != end; ++at, found++)
            EXPECT_TRUE(names.contains((*at)[1])) << (*at)[1] << " in " << file.path();
    }
    EXPECT_GT(found, 600U) << "no headers in " << folder;
}

}  // namespace
}  // namespace tessera::guard
