// Goal: whichever way a program looks up a hooked function, it gets the hook, and nothing else is
// changed. Method: a program that tries every way, under the facade and under the preload.
#include <gtest/gtest.h>

#include <sstream>

#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::output_of;
using gpusim::SimulatedNode;

constexpr char kGuard[] = "libtessera-guard.so";
constexpr int kHooks =
#define HOOK(symbol, name, since) +1
#include "guard/entrypoints.def"
#undef HOOK
    ;
constexpr int kNvmlHooks =
#define NVML_HOOK(symbol) +1
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    ;
constexpr int kWays = 11;     // and dlvsym
constexpr int kNvmlWays = 8;  // without cuGetProcAddress

class GuardLookup : public testing::Test {
  protected:
    SimulatedNode node_{gpusim::kTwoGpus};
    GuardedContainer container_{node_, {{0, kGiB, 0}, {1, kGiB, 0}}};

    // Runs a program with an environment of its own.
    static std::string run(const std::string& environment, const std::string& program) {
        return output_of("(env -i " + environment + " " TESSERA_BINARY_DIR "/bin/" + program +
                         ") 2>&1");
    }
    // Tries every way, with the driver's libraries in that folder.
    static std::string looked_up(const std::string& environment,
                                 const std::filesystem::path& folder) {
        return run(environment, "guard_lookups " + (folder / "libcuda.so.1").string() + " " +
                                    (folder / "libnvidia-ml.so.1").string());
    }
    [[nodiscard]] std::string facade() const {
        return "LD_LIBRARY_PATH=" + container_.facade().parent_path().string();
    }
    [[nodiscard]] std::string preload() const {
        return "LD_PRELOAD=" + container_.guard().string() +
               " LD_LIBRARY_PATH=" + node_.library("libcuda.so.1").parent_path().string();
    }

    static void expect_all_hooked(const std::string& lines) {
        std::istringstream in(lines);
        int hooked = 0;
        for (std::string symbol, way, library; in >> symbol >> way && symbol != "error";) {
            in >> library;
            if (symbol == "cuDriverGetVersion") {
                EXPECT_NE(library, kGuard) << "the driver's own";
            } else if (symbol == "cuNothing") {
                EXPECT_EQ(library, "nothing");
            } else if (way != "dlvsym") {
                EXPECT_EQ(library, kGuard) << symbol << " by " << way;
                hooked++;
            }
        }
        EXPECT_EQ(hooked, kHooks * kWays + kNvmlHooks * kNvmlWays) << lines;
        EXPECT_NE(lines.find("error said\n"), std::string::npos);
        EXPECT_NE(lines.find("malloc next libc.so.6\n"), std::string::npos);
    }
};

TEST_F(GuardLookup, EveryWayUnderTheFacade) {
    expect_all_hooked(looked_up(facade(), container_.facade().parent_path()));
}

TEST_F(GuardLookup, EveryWayUnderThePreload) {
    expect_all_hooked(looked_up(preload(), node_.library("")));
}

TEST_F(GuardLookup, EveryWayWithADriverThatIsNewer) {
    namespace fs = std::filesystem;
    fs::copy_file(fs::canonical(TESSERA_BINARY_DIR "/gpusim/newer/libcuda.so.1"),
                  node_.library("libcuda.so.1"), fs::copy_options::overwrite_existing);
    expect_all_hooked(looked_up(facade(), container_.facade().parent_path()));
    expect_all_hooked(looked_up(preload(), node_.library("")));
}

// The driver's functions have no versions, so dlvsym finds none of them. In a library with
// versions, the hook is found.
TEST_F(GuardLookup, ByVersion) {
    const std::string versioned = TESSERA_BINARY_DIR "/guard/versioned";
    const std::string lines = looked_up(
        "LD_PRELOAD=" + container_.guard().string() + " LD_LIBRARY_PATH=" + versioned, versioned);
#define EXPORT(symbol, library) \
    EXPECT_NE(lines.find(#symbol " dlvsym libtessera-guard.so\n"), std::string::npos) << lines;
#include "guard/exports.def"
#undef EXPORT
}

// The agent may choose both, and a program's children inherit its environment.
TEST_F(GuardLookup, EveryWayUnderBoth) {
    expect_all_hooked(looked_up("LD_PRELOAD=" + container_.guard().string() + " " + facade(),
                                container_.facade().parent_path()));
}

TEST_F(GuardLookup, AProgramIsHeldEitherWay) {
    for (const std::string& environment : {facade(), preload()}) {
        const std::string said = run(environment, "gpuhog --once 2GiB");
        EXPECT_NE(said.find("OUT_OF_MEMORY"), std::string::npos) << said;
        const std::string held = run(environment, "gpuhog --once 512MiB");
        EXPECT_NE(held.find("free 536870912 of 1073741824 bytes"), std::string::npos) << held;
    }
}

// A sanitizer intercepts functions that dlsym needs, and looks them up with dlsym before it can
// serve them.
TEST_F(GuardLookup, ASanitizedProgramRuns) {
    const std::string options = "ASAN_OPTIONS=verify_asan_link_order=0 ";
    EXPECT_EQ(run(options + preload(), "guard_nothing_address && echo -n ran"), "ran");
    EXPECT_EQ(run(options + preload(), "guard_nothing_thread && echo -n ran"), "ran");
}

// A shell must not pay for a driver that it never calls.
TEST_F(GuardLookup, WhoNeverCallsTheDriverDoesNotLoadIt) {
    const std::string maps = output_of("env -i " + preload() + " cat /proc/self/maps");
    EXPECT_NE(maps.find(kGuard), std::string::npos);
    EXPECT_EQ(maps.find("libcuda"), std::string::npos);
    EXPECT_EQ(maps.find(container_.region().path(kLimitsName)), std::string::npos);
}

}  // namespace
}  // namespace tessera::guard
