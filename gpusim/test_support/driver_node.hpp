// A machine with a CUDA driver, for tests that apply to any driver: gpusim_test simulates one
// (simulated_driver_node.cpp), guard/hardware uses the real one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace gpusim {

// Throws if there is none.
class DriverNode {
  public:
    DriverNode();
    ~DriverNode();
    DriverNode(const DriverNode&) = delete;
    DriverNode& operator=(const DriverNode&) = delete;

    // The driver's libcuda.so.1.
    const std::filesystem::path& library() const { return library_; }
    // How large the error of a few milliseconds of its GPUs' time may be; a simulated clock is
    // exact.
    std::uint64_t clock_error_ns() const { return clock_error_ns_; }

  private:
    struct Behind;

    std::unique_ptr<Behind> behind_;
    std::filesystem::path library_;
    std::uint64_t clock_error_ns_ = 0;
};

}  // namespace gpusim
