// Starts another program, and returns at once.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Values of SpawnedProgram::input beside descriptors.
inline constexpr int kOwnInput = -1;  // it reads our standard input
inline constexpr int kNoInput = -2;   // it reads /dev/null

struct SpawnedProgram {
    std::string path;  // or a name that is looked for in our PATH
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;  // the whole one
    int input = kNoInput;
    int output = -1;           // a descriptor; -1: our standard output
    int errors = -1;           // likewise
    bool new_session = false;  // it gets no signal of our terminal
};

std::map<std::string, std::string> own_environment();

// The caller reaps the process with waitpid(). It has no signal blocked. Errors: not_found if there
// is no such program, unavailable otherwise.
Result<pid_t> spawn_program(const SpawnedProgram& program);

}  // namespace tessera
