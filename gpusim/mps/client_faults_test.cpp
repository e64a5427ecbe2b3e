// Goal: clients of MPS fail together, and only those that must. Method: programs on a node with a
// control daemon, kernel faults by order, and kills. Sources: NVIDIA's MPS manual (error
// containment), docs/research/mps-580.md.
#include <gtest/gtest.h>

#include <csignal>

#include "gpusim/test_support/mps_test.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

constexpr std::uint64_t kForeverNs = 1'000'000 * kMillisecond;

class MpsClientFaults : public MpsTest {
  protected:
    MpsClientFaults() : MpsTest(kTwoGpus) {}

    // A client on the GPUs; the first one is its device 0.
    std::unique_ptr<ChildProcess> client_on(const char* gpus) const {
        const Variable visible("CUDA_VISIBLE_DEVICES", gpus);
        return client();
    }
    // A client on GPU 0 that launches a kernel when it receives a number, and sends what a wait for
    // it returns.
    std::unique_ptr<ChildProcess> launcher(std::uint64_t kernel_ns) const {
        auto child = std::make_unique<ChildProcess>([this, kernel_ns](Wire& wire) {
            const Worker worker(library());
            wire.send();
            while (wire.receive() != 0) {
                CUresult result = worker.launch(kernel_ns);
                wire.send();
                if (result == CUDA_SUCCESS) result = worker.wait();
                wire.send(1000 + static_cast<unsigned>(result));
            }
        });
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
    }
    // A client with a kernel that does not end, and that makes no more calls.
    std::unique_ptr<ChildProcess> busy_client() const {
        auto child = std::make_unique<ChildProcess>([this](Wire& wire) {
            const Worker worker(library());
            EXPECT_EQ(worker.launch(kForeverNs), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(child->wire().receive(), 1U);
        return child;
    }
    static CUresult launch(ChildProcess& program) {
        program.wire().send();
        program.wire().receive();
        return result(program);
    }
    static CUresult result(ChildProcess& program) {
        return static_cast<CUresult>(program.wire().receive() - 1000);
    }
    void kill_server(const std::string& server) const {
        kill(std::stoi(server), SIGKILL);
        daemon_.wait_for("get_server_list", "");
    }
};

TEST_F(MpsClientFaults, AKilledServerTakesItsClientsAndItsLimits) {
    const auto one = client();
    const std::string server = daemon_.server();
    daemon_.command("set_default_active_thread_percentage 80");
    daemon_.command("set_active_thread_percentage " + server + " 25");
    kill_server(server);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(call(*one), CUDA_ERROR_MPS_RPC_FAILURE) << "it stays";
    const auto two = client();
    EXPECT_EQ(call(*two), CUDA_SUCCESS);
    const std::string next = daemon_.server();
    EXPECT_NE(next, server);
    EXPECT_EQ(daemon_.command("get_client_list " + next), pid(*two) + "\n");
    EXPECT_EQ(daemon_.command("get_active_thread_percentage " + next), "80.0\n")
        << "the defaults of the daemon";
    EXPECT_EQ(call(*one), CUDA_ERROR_MPS_RPC_FAILURE);
}

TEST_F(MpsClientFaults, AnExclusiveGpuIsTheNextServers) {
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    const auto one = client();
    kill_server(daemon_.server());
    EXPECT_EQ(try_context(), CUDA_SUCCESS) << "the client of the dead server does not count";
}

TEST_F(MpsClientFaults, TheWorkOfAClientWithoutItsServerEnds) {
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    const auto lost = busy_client();
    daemon_.process().kill_hard();
    const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
    while (try_context() != CUDA_SUCCESS)
        continue;  // until the server has ended
    in_child([this] {
        const Worker worker(library());
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(kernel_us(worker), 1000U) << "it has the whole GPU";
    });
}

TEST_F(MpsClientFaults, TheWorkOfATerminatedClientEnds) {
    const auto ended = busy_client();
    ChildProcess neighbour([this](Wire& wire) {
        const Worker worker(library());
        EXPECT_EQ(kernel_us(worker), 2000U) << "they share the GPU";
        wire.send();
        wire.receive();
        while (kernel_us(worker) != 1000U)
            continue;  // until the server has heard of it
        wire.send();
    });
    EXPECT_EQ(neighbour.wire().receive(), 1U);
    EXPECT_EQ(daemon_.command("terminate_client " + daemon_.server() + " " + pid(*ended)), "0\n");
    neighbour.wire().send();
    EXPECT_EQ(neighbour.wire().receive(), 1U);
    EXPECT_EQ(neighbour.join(), 0);
}

TEST_F(MpsClientFaults, AFaultEndsTheClientsOfTheGpu) {
    const auto faulty = launcher(kMillisecond);
    const auto neighbour = client_on("0");
    const auto elsewhere = client_on("1");
    const std::string server = daemon_.server();
    ASSERT_EQ(node_.control("fault 0 kernel illegal-address"), 0);
    EXPECT_EQ(launch(*faulty), CUDA_ERROR_ILLEGAL_ADDRESS);
    daemon_.wait_for("get_server_status " + server, "FAULT\n");
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(call(*neighbour), CUDA_ERROR_ILLEGAL_ADDRESS) << "it stays";
    EXPECT_EQ(call(*elsewhere), CUDA_SUCCESS);
    EXPECT_EQ(try_context(), CUDA_ERROR_MPS_SERVER_NOT_READY);
    faulty->kill_hard();
    EXPECT_EQ(daemon_.command("get_server_status " + server), "FAULT\n") << "one is left";
    neighbour->kill_hard();
    daemon_.wait_for("get_server_status " + server, "ACTIVE\n");
    EXPECT_EQ(try_context(), CUDA_SUCCESS);
    EXPECT_EQ(call(*elsewhere), CUDA_SUCCESS);
}

TEST_F(MpsClientFaults, AFaultReachesTheOtherGpusOfThoseClients) {
    const auto faulty = launcher(kMillisecond);
    ChildProcess both([this](Wire& wire) {
        CudaProgram program(library());
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(program.cuda, cuCtxCreate_v2)(&second, 0, 1), CUDA_SUCCESS);
        wire.send();
        while (wire.receive() != 0)
            wire.send(1000 + static_cast<unsigned>(program.allocate(kMiB)));
    });
    EXPECT_EQ(both.wire().receive(), 1U);
    const auto elsewhere = client_on("1");
    ASSERT_EQ(node_.control("fault 0 kernel ecc"), 0);
    EXPECT_EQ(launch(*faulty), CUDA_ERROR_ECC_UNCORRECTABLE);
    daemon_.wait_for("get_server_status " + daemon_.server(), "FAULT\n");
    EXPECT_EQ(call(both), CUDA_ERROR_ECC_UNCORRECTABLE);
    EXPECT_EQ(call(*elsewhere), CUDA_ERROR_ECC_UNCORRECTABLE);
}

TEST_F(MpsClientFaults, AClientThatWaitsIsWoken) {
    const auto waiting = launcher(kForeverNs);
    waiting->wire().send();
    EXPECT_EQ(waiting->wire().receive(), 1U) << "it has launched";
    const std::string server = daemon_.server();
    EXPECT_EQ(daemon_.command("terminate_client " + server + " " + pid(*waiting)), "0\n");
    EXPECT_EQ(result(*waiting), CUDA_ERROR_MPS_CLIENT_TERMINATED);
    const auto next = launcher(kMillisecond);
    EXPECT_EQ(launch(*next), CUDA_SUCCESS);
}

TEST_F(MpsClientFaults, AFaultDoesNotReplaceTheErrorOfATerminatedClient) {
    const auto faulty = launcher(kForeverNs);
    ASSERT_EQ(node_.control("fault 0 kernel illegal-address"), 0);
    faulty->wire().send();
    EXPECT_EQ(faulty->wire().receive(), 1U) << "it has launched";
    EXPECT_EQ(daemon_.command("terminate_client " + daemon_.server() + " " + pid(*faulty)), "0\n");
    EXPECT_EQ(result(*faulty), CUDA_ERROR_MPS_CLIENT_TERMINATED);
    EXPECT_EQ(launch(*faulty), CUDA_ERROR_MPS_CLIENT_TERMINATED);
}

TEST_F(MpsClientFaults, ATerminatedClientGetsNoGreenContext) {
    ChildProcess child([this](Wire& wire) {
        const CudaProgram program(library());
        CUcontext primary = nullptr;
        CUdevResource resource = {};
        CUdevResourceDesc description = nullptr;
        EXPECT_EQ(CALL(program.cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(program.cuda, cuDeviceGetDevResource)(0, &resource, CU_DEV_RESOURCE_TYPE_SM),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(program.cuda, cuDevResourceGenerateDesc)(&description, &resource, 1),
                  CUDA_SUCCESS);
        wire.send();
        wire.receive();
        CUgreenCtx green = nullptr;
        EXPECT_EQ(CALL(program.cuda, cuGreenCtxCreate)(&green, description, 0,
                                                       CU_GREEN_CTX_DEFAULT_STREAM),
                  CUDA_ERROR_MPS_CLIENT_TERMINATED);
    });
    EXPECT_EQ(child.wire().receive(), 1U);
    EXPECT_EQ(daemon_.command("terminate_client " + daemon_.server() + " " + pid(child)), "0\n");
    child.wire().send();
    EXPECT_EQ(child.join(), 0);
}

TEST_F(MpsClientFaults, AKilledDaemonTakesItsClients) {
    const auto one = client();
    daemon_.process().kill_hard();
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(call(*one), CUDA_ERROR_MPS_RPC_FAILURE);
    EXPECT_EQ(try_context(), CUDA_SUCCESS) << "without MPS";
}

TEST_F(MpsClientFaults, AServerThatCannotStartRefusesItsClients) {
    std::filesystem::remove(node_.root() / kProgramDir / "nvidia-cuda-mps-server");
    EXPECT_EQ(try_context(), CUDA_ERROR_MPS_CONNECTION_FAILED);
    EXPECT_EQ(daemon_.command("get_server_list"), "");
}

}  // namespace
}  // namespace gpusim
