// A container as the guard expects it, for tests: GPUs of the simulated driver, and a directory
// with the guard's libraries, the container's region, and a link to the driver under its other
// name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpusim/test_support/simulated_node.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/limits.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {

class GuardedContainer {
  public:
    struct Share {
        int gpu = 0;
        std::uint64_t memory_bytes = 0;
        std::uint64_t context_bytes = 0;
        Millionths cores = 0;
        Millionths cores_limit = kWhole;
        std::uint32_t most_multiprocessors = 0;
    };

    GuardedContainer(const gpusim::SimulatedNode& node, const std::vector<Share>& shares)
        : region_(gpus_of(node, shares)) {
        namespace fs = std::filesystem;
        const fs::path built = fs::path(TESSERA_BINARY_DIR) / "guard/lib";
        for (const char* library : {"libcuda.so.1", "libnvidia-ml.so.1", "libtessera-guard.so"})
            fs::copy_file(fs::canonical(built / library), region_.directory() / library);
        for (const char* name : {"libcuda.so", "libnvidia-ml.so"})  // for linkers
            fs::create_symlink(std::string(name) + ".1", region_.directory() / name);
        fs::create_symlink(node.library("libcuda.so.1"),
                           region_.directory() / "libtessera-real-cuda.so.1");
        fs::create_symlink(node.library("libnvidia-ml.so.1"),
                           region_.directory() / "libtessera-real-nvml.so.1");
    }

    // The first way to load the guard: its libcuda.so.1 and libnvidia-ml.so.1 in the driver's
    // place.
    std::filesystem::path facade() const { return region_.directory() / "libcuda.so.1"; }
    std::filesystem::path nvml_facade() const { return region_.directory() / "libnvidia-ml.so.1"; }
    // The second way: the library to preload.
    std::filesystem::path guard() const { return region_.directory() / "libtessera-guard.so"; }
    const TestRegion& region() const { return region_; }
    Limits& limits() const { return *limits_; }
    // Writes one grant, as an arbiter does, with unlimited time on a GPU, for a test that is not
    // about launch permits.
    void grant_plenty(int gpu = 0) const {
        constexpr std::int64_t kPlenty = 1'000'000'000'000;
        write_grant(limits().gpus[gpu].grant,
                    {monotonic_ns(), kWhole, {{kPlenty, kWhole}, {kPlenty, kWhole}}});
    }

  private:
    static std::vector<RegionGpu> gpus_of(const gpusim::SimulatedNode& node,
                                          const std::vector<Share>& shares) {
        std::vector<RegionGpu> gpus;
        for (const Share& share : shares) {
            const char* uuid = node.state().file->gpus[share.gpu].uuid;
            gpus.push_back({uuid, share.memory_bytes, share.context_bytes, share.cores,
                            share.cores_limit, share.most_multiprocessors});
        }
        return gpus;
    }

    TestRegion region_;
    Limits* limits_ = change_limits(region_.path(kLimitsName).c_str());
};

}  // namespace tessera::guard
