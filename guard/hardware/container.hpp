// A container as the guard expects it, on device 0 of this machine: a directory with the guard's
// libraries, a region, and a link to the driver under its other name.
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
    Millionths cores = 0;
    Millionths cores_limit = kWhole;
    bool is_timed = false;
};

class Container {
  public:
    explicit Container(const ContainerShare& share)
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

    // There are two ways to load the guard: the facade in the driver's place, and the library to
    // preload.
    [[nodiscard]] std::filesystem::path facade() const {
        return region_.directory() / "libcuda.so.1";
    }
    [[nodiscard]] std::filesystem::path guard() const {
        return region_.directory() / "libtessera-guard.so";
    }
    [[nodiscard]] const TestRegion& region() const { return region_; }
    [[nodiscard]] Limits& limits() const { return *limits_; }
    // The memory that the container's last context took of the GPU, which counts; 0: none was
    // measured.
    [[nodiscard]] std::uint64_t context_bytes() const {
        return std::uint64_t{region_.accounts().context_costs[0][0].units()} * kAllocationUnitBytes;
    }
    // Raises the limit, so that there is room for a context beside the container's memory.
    void make_room_for_a_context() const {
        std::atomic<AllocationUnits>& memory = limits_->gpus[0].memory;
        const AllocationUnits share = memory.exchange(kMaxAllocationUnits);
        gpusim::in_child([this] { const gpusim::CudaProgram tenant(facade()); });
        memory.store(share + units_of(context_bytes()));
    }

  private:
    TestRegion region_;
    Limits* limits_ = change_limits(region_.path(kLimitsName).c_str());
};

// Whether the guard of this tree hooks that function of the driver.
bool is_hooked(const std::string& symbol);

}  // namespace tessera::guard
