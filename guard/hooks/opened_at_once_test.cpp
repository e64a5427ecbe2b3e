// Goal: memory that threads open and close at once counts while the process has it. The driver may
// use addresses again before the guard has recorded every close. Method: the facade in front of the
// simulated driver, whose own count is compared when the maker has released its memory.
#include <fstream>
#include <thread>
#include <vector>

#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::CudaProgram;
using gpusim::kMiB;
using gpusim::Wire;

constexpr int kHandles = 8;

class GuardOpenedAtOnce : public HeldMemory {
  protected:
    void SetUp() override { container_.limits().gpus[0].memory = units_of(4 * gpusim::kGiB); }

    // Exports handles of all its memory, and releases it on a command.
    void make(Wire& wire) const {
        CudaProgram tenant(container_.facade());
        std::ofstream out(path_, std::ios::binary);
        for (int i = 0; i < kHandles; i++) {
            CUipcMemHandle handle = {};
            EXPECT_EQ(tenant.allocate(10 * kMiB), CUDA_SUCCESS);
            CALL(tenant.cuda, cuIpcGetMemHandle)(&handle, tenant.pointers.back());
            out.write(handle.reserved, sizeof handle);
        }
        out.close();
        wire.send();
        wire.receive();
        while (!tenant.pointers.empty())
            EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    }
    // A process in which `body` is run by a thread for each handle, in a context that `body`
    // chooses.
    template <typename Body>
    void use(Wire& wire, const Body& body) const {
        CudaProgram tenant(container_.facade());
        std::ifstream in(path_, std::ios::binary);
        std::vector<CUipcMemHandle> handles(kHandles);
        for (CUipcMemHandle& handle : handles)
            in.read(handle.reserved, sizeof handle.reserved);
        std::vector<std::thread> threads;
        for (const CUipcMemHandle& handle : handles)
            threads.emplace_back([&] { body(tenant, handle); });
        for (std::thread& thread : threads)
            thread.join();
        wire.send();
        wire.receive();
    }
    static CUdeviceptr open(const CudaProgram& tenant, const CUipcMemHandle& handle) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuIpcOpenMemHandle_v2)(&pointer, handle,
                                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                  CUDA_SUCCESS);
        return pointer;
    }

    template <typename Body>
    void round(const Body& body) {
        ChildProcess maker([this](Wire& wire) { make(wire); });
        EXPECT_EQ(maker.wire().receive(), 1U);
        ChildProcess user([&](Wire& wire) { use(wire, body); });
        EXPECT_EQ(user.wire().receive(), 1U);
        maker.wire().send();
        EXPECT_EQ(maker.wire().receive(), 1U);
        EXPECT_EQ(held_bytes(), node_.used(0)) << "as the driver says";
        user.kill_hard();
        maker.kill_hard();
        container_.region().reap();
    }

  private:
    std::filesystem::path path_ = node_.root() / "handles";
};

TEST_F(GuardOpenedAtOnce, CountsWhileItIsOpen) {
    for (int i = 0; i < 20; i++)
        round([](const CudaProgram& tenant, const CUipcMemHandle& handle) {
            CALL(tenant.cuda, cuCtxSetCurrent)(tenant.context);
            for (int n = 0; n < 3000; n++)
                EXPECT_EQ(CALL(tenant.cuda, cuIpcCloseMemHandle)(open(tenant, handle)),
                          CUDA_SUCCESS);
            open(tenant, handle);
        });
}

TEST_F(GuardOpenedAtOnce, CountsWhileItIsOpenThoughContextsEnd) {
    for (int i = 0; i < 10; i++)
        round([](const CudaProgram& tenant, const CUipcMemHandle& handle) {
            CUcontext context = nullptr;
            for (int n = 0; n < 200; n++) {
                EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
                open(tenant, handle);
                EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
            }
            CALL(tenant.cuda, cuCtxSetCurrent)(tenant.context);
            open(tenant, handle);
        });
}

}  // namespace
}  // namespace tessera::guard
