#include "guard/hardware/machine.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gpusim/test_support/driver_node.hpp"
#include "gpusim/test_support/worker.hpp"
#include "guard/hardware/container.hpp"

namespace tessera::guard {
namespace {

std::filesystem::path& path() {
    static std::filesystem::path path;
    return path;
}

}  // namespace

void set_driver(const std::filesystem::path& library) {
    path() = std::filesystem::absolute(library);
}

const std::filesystem::path& driver_path() {
    return path();
}

std::filesystem::path nvml_path() {
    return path().parent_path() / "libnvidia-ml.so.1";
}

std::string device_uuid() {
    CUuuid uuid = {};
    gpusim::ChildProcess asker([](gpusim::Wire& wire) {
        const gpusim::Library cuda(driver_path());
        CUuuid found = {};
        if (CALL(cuda, cuInit)(0) != CUDA_SUCCESS) throw std::runtime_error("cuInit fails");
        if (CALL(cuda, cuDeviceGetUuid)(&found, 0) != CUDA_SUCCESS)
            throw std::runtime_error("cuDeviceGetUuid fails");
        std::uint64_t halves[2];
        std::memcpy(halves, found.bytes, sizeof halves);
        wire.send(halves[0]);
        wire.send(halves[1]);
    });
    const std::uint64_t halves[2] = {asker.wire().receive(), asker.wire().receive()};
    if (asker.join() != 0) throw std::runtime_error("no device 0");
    std::memcpy(uuid.bytes, halves, sizeof halves);
    std::string text = "GPU-";
    for (int i = 0; i < 16; i++) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += hex;
    }
    return text;
}

std::uint64_t taken_now() {
    gpusim::ChildProcess asker([](gpusim::Wire& wire) {
        const gpusim::CudaProgram tenant(driver_path());
        wire.send(tenant.total_bytes() - tenant.free_bytes());
    });
    const std::uint64_t bytes = asker.wire().receive();
    asker.join();
    return bytes;
}

bool is_hooked(const std::string& symbol) {
    static const char* const hooked[] = {
#define HOOK(symbol, name, since) #symbol,
#include "guard/entrypoints.def"
#undef HOOK
    };
    for (const char* each : hooked)
        if (symbol == each) return true;
    return false;
}

}  // namespace tessera::guard

namespace gpusim {

struct DriverNode::Behind {};

// On some GPUs, %globaltimer ticks once per millisecond, and a launch takes some microseconds.
DriverNode::DriverNode()
    : library_(tessera::guard::driver_path()), clock_error_ns_(2 * kMillisecond) {}

DriverNode::~DriverNode() = default;

}  // namespace gpusim
