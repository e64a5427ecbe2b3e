// A driver root on disk: what the GPU operator's driver container leaves at /run/nvidia/driver,
// with the simulated driver in it. Every path that the simulator writes is here:
//
//     ROOT/usr/lib/x86_64-linux-gnu/libcuda.so.1
//                                   libnvidia-ml.so.1
//                                   libcuda.so, libnvidia-ml.so   links to these, for linkers
//                                   gpusim/cards          shared state, see state/layout.hpp
//                                   gpusim/locks          empty; processes lock its bytes
//                                   gpusim/memory         what they share, see state/shared.hpp
//                                   gpusim/dev/nvidia<N>  one marker per card, N its minor number
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpusim/ctl/cards_file.hpp"
#include "gpusim/state/state.hpp"

namespace gpusim {

// Where the libraries lie in a root, and where they go in a container.
inline constexpr char kLibraryDir[] = "usr/lib/x86_64-linux-gnu";
inline constexpr const char* kLibraries[] = {"libcuda.so.1", "libnvidia-ml.so.1"};

struct RootPlan {
    std::vector<CardSpec> cards;
    std::filesystem::path libraries;  // the directory that has kLibraries
    std::filesystem::path root;
};

// Builds the root beside its place and renames it there: it is whole or absent. A root that is
// there already is an error, for processes may be living in it.
tl::expected<void, std::string> create_root(const RootPlan& plan);

// Opens the state of a root.
tl::expected<State, std::string> open_root(const std::filesystem::path& root, Access access);

}  // namespace gpusim
