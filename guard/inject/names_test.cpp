// Goal: a name of the driver is the guard's function for code that calls a function of that name.
// It is left alone for a library that has a variable of that name. This holds whenever they are
// loaded, alone and beside one another. Method: libraries of each kind, each of which tries to take
// more than the container's share.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "guard/inject/pages.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::output_of;
using gpusim::SimulatedNode;

class GuardNames : public testing::Test {
  protected:
    SimulatedNode node_{gpusim::kTwoGpus};
    GuardedContainer container_{node_, {{0, kGiB, 0}}};
    std::string takers_ = TESSERA_BINARY_DIR "/guard/takers";

    // What a program prints about itself and the libraries that it loads, preloaded and with the
    // facade.
    void expect(const std::string& said, const std::string& program,
                const std::vector<std::string>& libraries = {}) const {
        const std::string driver = node_.library("libcuda.so.1").parent_path().string();
        const std::string facade = container_.facade().parent_path().string();
        std::string command = TESSERA_BINARY_DIR "/bin/" + program;
        for (const std::string& library : libraries)
            command += " " + takers_ + "/guard_" + library + ".so";
        for (const std::string& environment :
             {fmt::format("LD_PRELOAD={} LD_LIBRARY_PATH={}", container_.guard().string(), driver),
              fmt::format("LD_LIBRARY_PATH={}", facade)}) {
            EXPECT_EQ(
                output_of(fmt::format("(env -i {}:{} {}) 2>&1", environment, takers_, command)),
                said)
                << environment;
        }
    }
};

TEST_F(GuardNames, OfAProgramsVariables) {
    expect("linked 2\n", "guard_takers_variables");
}

TEST_F(GuardNames, OfALibrarysVariables) {
    expect("guard_variables.so 2\nguard_variables_again.so 2\n", "guard_takers",
           {"variables", "variables_again"});
}

TEST_F(GuardNames, OfVariablesOfALibraryThatTheProgramNeeds) {
    expect("linked 2\n", "guard_takers_needing_variables");
}

TEST_F(GuardNames, OfFunctions) {
    expect("linked 2\n", "guard_takers_needing_linked_now");
    expect("guard_linked_now.so 2\nguard_linked_lazy.so 2\n", "guard_takers",
           {"linked_now", "linked_lazy"});
}

// What was linked against the facade finds the guard, under the facade and under the preload.
TEST_F(GuardNames, OfFunctionsLinkedAgainstTheFacade) {
    expect("linked 2\n", "guard_takers_facade");
    expect("guard_linked_facade.so 2\n", "guard_takers", {"linked_facade"});
    expect("guard_variables.so 2\nguard_linked_facade.so 2\n", "guard_takers",
           {"variables", "linked_facade"});
}

TEST_F(GuardNames, OfBothInOneProgram) {
    expect(
        "guard_variables.so 2\nguard_linked_now.so 2\nguard_variables_again.so 2\n"
        "guard_linked_lazy.so 2\n",
        "guard_takers", {"variables", "linked_now", "variables_again", "linked_lazy"});
    expect("guard_linked_lazy.so 2\nguard_variables.so 2\nguard_linked_now.so 2\n", "guard_takers",
           {"linked_lazy", "variables", "linked_now"});
}

// mprotect takes whole pages of the machine's size: 64 KiB on some arm64 kernels (Grace).
TEST(GuardPages, AreOfTheSizeOfTheMachine) {
    struct Case {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint64_t size;
        PageRange pages;
        PageRange sealed;
    };
    const Case cases[] = {
        {0x5008, 0x5010, 0x1000, {0x5000, 0x6000}, {0x5000, 0x5000}},
        {0x5000, 0x6000, 0x1000, {0x5000, 0x6000}, {0x5000, 0x6000}},
        {0x5ff8, 0x6001, 0x1000, {0x5000, 0x7000}, {0x5000, 0x6000}},
        {0x5008, 0x5010, 0x10000, {0x0, 0x10000}, {0x0, 0x0}},
        {0x1f000, 0x20000, 0x10000, {0x10000, 0x20000}, {0x10000, 0x20000}},
        {0x1f000, 0x20001, 0x10000, {0x10000, 0x30000}, {0x10000, 0x20000}},
    };
    for (const Case& each : cases) {
        const PageRange pages = pages_of(each.begin, each.end, each.size);
        const PageRange sealed = sealed_of(each.begin, each.end - each.begin, each.size);
        EXPECT_EQ(pages.begin, each.pages.begin) << each.begin << " of " << each.size;
        EXPECT_EQ(pages.end, each.pages.end) << each.begin << " of " << each.size;
        EXPECT_EQ(sealed.begin, each.sealed.begin) << each.begin << " of " << each.size;
        EXPECT_EQ(sealed.end, each.sealed.end) << each.begin << " of " << each.size;
    }
    EXPECT_EQ(page_size(), static_cast<std::uint64_t>(getpagesize()));
}

}  // namespace
}  // namespace tessera::guard
