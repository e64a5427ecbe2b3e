// The base of the tests of gpusim/conformance. They run on any driver, and expect what the
// documentation of the CUDA driver API says. They use device 0, and no other process may use it
// meanwhile. Nothing here or there knows of gpusim. Where real drivers differ from the
// documentation, a test expects what they do, and says on which driver that was seen. An argument
// `line` is the caller's, for messages.
#pragma once

#include "gpusim/test_support/driver_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {

// What is taken of the current context's device, by all processes.
inline std::uint64_t taken(const Library& cuda) {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    EXPECT_EQ(CALL(cuda, cuMemGetInfo_v2)(&free_bytes, &total), CUDA_SUCCESS);
    return total - free_bytes;
}

inline bool supports(const Library& cuda, CUdevice_attribute attribute) {
    int value = 0;
    EXPECT_EQ(CALL(cuda, cuDeviceGetAttribute)(&value, attribute, 0), CUDA_SUCCESS);
    return value != 0;
}

class Conformance : public testing::Test {
  protected:
    DriverNode node_;

    const std::filesystem::path& library() const { return node_.library(); }

    // Runs `body` in a process with libcuda initialized.
    template <class Body>
    void with_cuda(Body body, int line = __builtin_LINE()) const {
        in_child(
            [&] {
                const Library cuda(library());
                ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
                body(cuda);
            },
            line);
    }
    // The same with a context on device 0.
    template <class Body>
    void with_context(Body body, int line = __builtin_LINE()) const {
        in_child(
            [&] {
                const CudaProgram tenant(library());
                body(tenant.cuda);
            },
            line);
    }
    // The same with kernels.
    template <class Body>
    void in_worker(Body body, int line = __builtin_LINE()) const {
        in_child(
            [&] {
                const Worker worker(library());
                body(worker);
            },
            line);
    }
    // What is taken of device 0, including the context of the process that queries it.
    std::uint64_t taken_now() const {
        ChildProcess asker([this](Wire& wire) { wire.send(taken(CudaProgram(library()).cuda)); });
        const std::uint64_t bytes = asker.wire().receive();
        EXPECT_EQ(asker.join(), 0) << "a process that only asks what is taken: " << asker.ending();
        return bytes;
    }
    // Expects that work for which the GPU got `wanted` took that time.
    void expect_time(std::uint64_t ns, std::uint64_t wanted, int line = __builtin_LINE()) const {
        EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(wanted),
                    static_cast<double>(node_.clock_error_ns()))
            << "ns, line " << line;
    }
};

}  // namespace gpusim
