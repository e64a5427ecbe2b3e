// A driver root on disk: what the GPU operator's driver container leaves at /run/nvidia/driver,
// with the simulated driver in it. Every path that the simulator writes is here:
//
//     ROOT/usr/bin/nvidia-cuda-mps-control
//                  nvidia-cuda-mps-server
//     ROOT/usr/lib/x86_64-linux-gnu/libcuda.so.1
//                                   libnvidia-ml.so.1
//                                   libcuda.so, libnvidia-ml.so   Links to these, for linkers.
//                                   gpusim/gpus           Shared state, see state/layout.hpp.
//                                   gpusim/locks          Empty; processes lock its bytes.
//                                   gpusim/memory         What they share, see state/shared.hpp.
//                                   gpusim/dev/nvidia<N>  One marker per GPU, N its minor number.
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gpusim/ctl/gpus_file.hpp"
#include "gpusim/state/state.hpp"

namespace gpusim {

// The directory of the libraries in a root, and in a container.
inline constexpr char kLibraryDir[] = "usr/lib/x86_64-linux-gnu";
inline constexpr const char* kLibraries[] = {"libcuda.so.1", "libnvidia-ml.so.1"};

inline constexpr char kProgramDir[] = "usr/bin";
inline constexpr const char* kPrograms[] = {"nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};

struct RootPlan {
    std::vector<GpuSpec> gpus;
    std::filesystem::path libraries;  // has kLibraries; kPrograms are in it, or in ../bin
    std::filesystem::path root;
};

// Builds the root in another directory and renames it: it is complete or absent. An existing root
// is an error, because processes may be using it.
tl::expected<void, std::string> create_root(const RootPlan& plan);

// Opens the state of a root.
tl::expected<State, std::string> open_root(const std::filesystem::path& root, Access access);

}  // namespace gpusim
