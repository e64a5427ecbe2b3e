// What the guard finds in a container with a share, in a temporary folder, for tests on a real GPU:
// the guard's libraries, a region for device 0, and the links libtessera-real-cuda.so.1 and
// libtessera-real-nvml.so.1 to the driver and NVML. The program runs in the build folder, beside
// guard/lib.
#pragma once

#include <filesystem>
#include <string>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/hardware/machine.hpp"
#include "guard/region/limits.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {

struct ContainerShare {
    std::uint64_t memory_bytes = std::uint64_t{1} << 40;
    Millionths cores = 0;             // the guaranteed part of the GPU's time
    Millionths cores_limit = kWhole;  // the most that it gets
    bool is_timed = false;            // Limits: whether the GPU's time is shared
};

class HardwareContainer {
  public:
    // Throws std::exception if a file or the device is missing.
    explicit HardwareContainer(const ContainerShare& share)
        : region_(
              {{device_uuid().c_str(), share.memory_bytes, 0, share.cores, share.cores_limit}}) {
        namespace fs = std::filesystem;
        const fs::path& here = region_.directory();
        const fs::path built = fs::canonical("/proc/self/exe").parent_path() / "guard/lib";
        for (const char* library : {"libcuda.so.1", "libnvidia-ml.so.1", "libtessera-guard.so"})
            fs::copy_file(fs::canonical(built / library), here / library);
        for (const char* name : {"libcuda.so", "libnvidia-ml.so"})  // for linkers
            fs::create_symlink(std::string(name) + ".1", here / name);
        fs::create_symlink(driver_path(), here / "libtessera-real-cuda.so.1");
        fs::create_symlink(nvml_path(), here / "libtessera-real-nvml.so.1");
        limits_->gpus[0].is_timed.store(share.is_timed ? 1 : 0);
    }

    // The guard is loaded in the driver's place (the facade), or by LD_PRELOAD.
    [[nodiscard]] std::filesystem::path facade() const {
        return region_.directory() / "libcuda.so.1";
    }
    [[nodiscard]] std::filesystem::path guard() const {
        return region_.directory() / "libtessera-guard.so";
    }
    [[nodiscard]] const TestRegion& region() const { return region_; }
    [[nodiscard]] Limits& limits() const { return *limits_; }
    // The bytes that the first context without special flags took of the GPU; they count. 0: none
    // was measured.
    [[nodiscard]] std::uint64_t context_bytes() const {
        return std::uint64_t{region_.accounts().context_costs[0][0].units()} * kAllocationUnitBytes;
    }
    // Makes a context in a child process to measure it, and raises the memory limit by that amount.
    void raise_limit_by_a_context() const {
        std::atomic<AllocationUnits>& memory = limits_->gpus[0].memory;
        const AllocationUnits share = memory.exchange(kMaxAllocationUnits);
        gpusim::in_child([this] { const gpusim::CudaProgram tenant(facade()); });
        memory.store(share + units_of(context_bytes()));
    }

  private:
    TestRegion region_;
    Limits* limits_ = change_limits(region_.path(kLimitsName).c_str());
};

// Whether the guard of this tree hooks the driver's function with that exported name, such as
// cuMemAlloc_v2.
bool is_hooked(const std::string& symbol);

}  // namespace tessera::guard
