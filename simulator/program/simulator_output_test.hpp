// The simulator's output, reduced to what must not depend on the machine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "programs/common/started_program_test.hpp"

namespace tessera {

// Decisions per second depend on the clock: a whole number at the end of a line.
inline std::string without_speed(const std::string& text) {
    return std::regex_replace(text, std::regex(" +[0-9]+\n"), "\n");
}

// The program's output, which must be the same with one job and with three.
inline std::string same_with_any_jobs(const Folder& folder, std::vector<std::string> arguments) {
    std::set<std::string> outputs;
    arguments.emplace_back();
    for (const char* jobs : {"-j1", "-j3"}) {
        arguments.back() = jobs;
        Program good("tessera-sim", arguments, folder.file(jobs));
        EXPECT_EQ(good.wait(kNotHanging), 0) << good.output();
        outputs.insert(without_speed(good.output()));
    }
    EXPECT_EQ(outputs.size(), 1U);
    return *outputs.begin();
}

}  // namespace tessera
