// Goal: programs are clients of the simulated MPS server as of a real one: the daemon's commands
// show and end them, users take turns, and a GPU's compute mode admits what NVML says. Method:
// processes with libcuda on a node with a control daemon. Sources: docs/research/mps-580.md and the
// man page of nvidia-cuda-mps-control.
#include "gpusim/mps/clients.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "api/nvidia/nvml.h"
#include "gpusim/test_support/mps_test.hpp"

namespace gpusim {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr char kGpus[] =
    "gpus:\n"
    "  - {model: A, memory: 4GiB, context_overhead: 300MiB}\n"
    "  - {model: B, memory: 1GiB}\n";

class MpsClients : public MpsTest {
  protected:
    MpsClients() : MpsTest(kGpus) {}
};

TEST_F(MpsClients, AreListedUntilTheyEnd) {
    const auto one = client();
    const std::string server = daemon_.server();
    const auto two = client();
    EXPECT_EQ(daemon_.command("get_client_list " + server), pid(*one) + "\n" + pid(*two) + "\n");
    EXPECT_EQ(daemon_.command("get_device_client_list " + server),
              "[0] 00:00.0, A\n" + pid(*one) + ".1\n" + pid(*two) + ".1\n");
    const std::string uuid = node_.gpus()[0].uuid.substr(0, 22);
    const std::string shown = daemon_.command("ps");
    EXPECT_THAT(shown, MatchesRegex("PID +ID +SERVER +DEVICE +NAMESPACE +COMMAND\n" + pid(*one) +
                                    " +1 +" + server + " +" + uuid + " +[1-9][0-9]+ +[^ ]+.*\n" +
                                    pid(*two) + " +1 +.*\n"));
    EXPECT_EQ(daemon_.command("ps -p " + server), shown);
    one->kill_hard();
    daemon_.wait_for("get_client_list " + server, pid(*two) + "\n");
    two->wire().send(0);
    EXPECT_EQ(two->join(), 0);
    daemon_.wait_for("get_client_list " + server, "");
    EXPECT_EQ(daemon_.command("ps"), "");
    EXPECT_EQ(daemon_.command("get_server_list"), server + "\n") << "it waits for more";
}

TEST_F(MpsClients, AForkedChildKeepsNoClient) {
    ChildProcess parent([this](Wire& wire) {
        const CudaProgram program(library());
        const pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        wire.send(static_cast<std::uint64_t>(child));
        wire.receive();
    });
    const auto child = static_cast<pid_t>(parent.wire().receive());
    const std::string server = daemon_.server();
    EXPECT_EQ(daemon_.command("get_client_list " + server), pid(parent) + "\n");
    parent.kill_hard();
    daemon_.wait_for("get_client_list " + server, "");
    kill(child, SIGKILL);
}

TEST_F(MpsClients, ATerminatedClientFails) {
    const auto one = client();
    const auto two = client();
    const std::string server = daemon_.server();
    EXPECT_EQ(daemon_.command("terminate_client " + server + " 1"), "Client 1 not found!\n1\n");
    EXPECT_EQ(daemon_.command("terminate_client " + server + " " + pid(*one)), "0\n");
    EXPECT_EQ(daemon_.command("get_client_list " + server), pid(*two) + "\n");
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(call(*one), CUDA_ERROR_MPS_CLIENT_TERMINATED) << "it stays";
    EXPECT_EQ(call(*two), CUDA_SUCCESS);
}

TEST_F(MpsClients, AProgramOfAnotherNodeIsNoClient) {
    const SimulatedNode other(kGpus);
    in_child([&other] {
        const Library cuda(other.library("libcuda.so.1"));
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_MPS_CONNECTION_FAILED);
    });
    EXPECT_EQ(try_context(), CUDA_SUCCESS);
}

TEST_F(MpsClients, ReportsWaitForADaemonThatDoesNotRead) {
    ChildProcess client([this](Wire& wire) {
        const CudaProgram program(library());
        const auto create = CALL(program.cuda, cuCtxCreate_v2);
        const auto destroy = CALL(program.cuda, cuCtxDestroy_v2);
        wire.send();
        wire.receive();
        CUcontext context = nullptr;
        for (int i = 0; i < 1000; i++) {  // more reports than the socket takes
            EXPECT_EQ(create(&context, 0, 1), CUDA_SUCCESS);
            EXPECT_EQ(destroy(context), CUDA_SUCCESS);
        }
        EXPECT_EQ(create(&context, 0, 1), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(client.wire().receive(), 1U);
    const std::string server = daemon_.server();
    kill(daemon_.process().pid(), SIGSTOP);
    client.wire().send();
    EXPECT_EQ(client.wire().receive(), 1U) << "it does not wait for the daemon";
    kill(daemon_.process().pid(), SIGCONT);
    daemon_.wait_for(
        "get_device_client_list " + server,
        "[0] 00:00.0, A\n" + pid(client) + ".1\n[1] 00:00.0, B\n" + pid(client) + ".1002\n");
}

TEST_F(MpsClients, UsersWaitForEachOther) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root for another user";
    constexpr uid_t kOther = 65534;
    const auto one = client();
    const std::string server = daemon_.server();
    const auto other = start_program(kOther);
    EXPECT_EQ(try_context(), CUDA_SUCCESS) << "clients of the active user are not held up";
    EXPECT_EQ(daemon_.command("get_client_list " + server), pid(*one) + "\n");
    one->kill_hard();
    EXPECT_EQ(other->wire().receive(), 1U);
    const std::string next = daemon_.server();
    EXPECT_EQ(next.find(server), std::string::npos) << "the server of the first user has ended";
    EXPECT_EQ(call(*other), CUDA_SUCCESS);
}

TEST_F(MpsClients, AnExclusiveGpuIsTheServers) {
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    daemon_.server();
    EXPECT_EQ(try_context_without_mps(), CUDA_ERROR_DEVICE_UNAVAILABLE) << "before any client";
    const auto one = client();
    const auto two = client();
    EXPECT_EQ(call(*two), CUDA_SUCCESS);
    EXPECT_EQ(try_context_without_mps(), CUDA_ERROR_DEVICE_UNAVAILABLE);
    ASSERT_EQ(node_.control("set 0 compute-mode prohibited"), 0);
    EXPECT_EQ(try_context(), CUDA_ERROR_DEVICE_UNAVAILABLE);
    EXPECT_EQ(call(*two), CUDA_SUCCESS) << "what has a context keeps it";
}

TEST_F(MpsClients, WithoutAServerOneProcessHasAnExclusiveGpu) {
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
    const auto one = client();
    EXPECT_EQ(try_context(), CUDA_ERROR_DEVICE_UNAVAILABLE);
    one->kill_hard();
    EXPECT_EQ(try_context(), CUDA_SUCCESS);
}

TEST_F(MpsClients, AGpuThatTheServerDoesNotHoldAdmitsNoClient) {
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    const auto other = program_without_mps();
    daemon_.server();
    other->kill_hard();
    EXPECT_EQ(try_context(), CUDA_ERROR_DEVICE_UNAVAILABLE) << "it would have no protection";
    EXPECT_EQ(try_context_without_mps(), CUDA_SUCCESS);
    const Variable second("CUDA_VISIBLE_DEVICES", "1");
    EXPECT_EQ(try_context(), CUDA_SUCCESS);
}

TEST_F(MpsClients, AServerThatHoldsNoGpuDoesNotStart) {
    const auto first = program_without_mps();
    const auto second = [this] {
        const Variable gpu("CUDA_VISIBLE_DEVICES", "1");
        return program_without_mps();
    }();
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    ASSERT_EQ(node_.control("set 1 compute-mode exclusive-process"), 0);
    EXPECT_EQ(daemon_.server(), "");
    EXPECT_EQ(try_context(), CUDA_ERROR_MPS_CONNECTION_FAILED);
    first->kill_hard();
    EXPECT_EQ(try_context(), CUDA_SUCCESS) << "the next client starts one";
}

TEST_F(MpsClients, AServerThatCannotWriteTheStateSaysSo) {
    constexpr uid_t kOther = 65534;
    std::filesystem::permissions(node_.state_directory() / "gpus",
                                 static_cast<std::filesystem::perms>(0444));
    const uid_t uid = geteuid() == 0 ? kOther : getuid();
    EXPECT_EQ(daemon_.command("start_server -uid " + std::to_string(uid)), "");
    EXPECT_EQ(daemon_.command("get_server_list"), "");
    const std::string log = output_of("cat " + (node_.root() / "mps/daemon.log").string());
    EXPECT_THAT(log, HasSubstr("Failed to start : the simulated driver's state is read-only"));
}

TEST_F(MpsClients, ACommandWithoutADaemonFails) {
    daemon_.process().kill_hard();
    EXPECT_THROW(daemon_.command("get_server_list"), std::runtime_error);
}

TEST_F(MpsClients, TheServerHoldsAContext) {
    daemon_.server();
    EXPECT_EQ(node_.used(0), 66 * kMiB);
    EXPECT_EQ(node_.used(1), 0U) << "contexts are free there";
    const auto one = client();
    EXPECT_EQ(node_.used(0), (66 + 300) * kMiB);
    in_child([this] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        nvmlDevice_t device = nullptr;
        nvmlProcessInfo_t infos[4] = {};
        unsigned count = 4;
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, infos),
                  NVML_SUCCESS);
        EXPECT_EQ(count, 2U);
        count = 4;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMPSComputeRunningProcesses_v3)(device, &count, infos),
                  NVML_SUCCESS);
        EXPECT_EQ(count, 1U) << "the client, which nvidia-smi marks M+C";
    });
}

TEST_F(MpsClients, QuitWaitsForThem) {
    const auto one = client();
    ChildProcess quitting([this](Wire&) { daemon_.command("quit"); });
    // Until the daemon has the command it still takes clients.
    CUresult next = CUDA_SUCCESS;
    while (next == CUDA_SUCCESS)
        next = try_context();
    EXPECT_EQ(next, CUDA_ERROR_MPS_CONNECTION_FAILED);
    EXPECT_EQ(call(*one), CUDA_SUCCESS);
    one->kill_hard();
    EXPECT_EQ(quitting.join(), 0);
    EXPECT_EQ(daemon_.process().join(), 0);
    EXPECT_EQ(try_context(), CUDA_SUCCESS) << "without MPS";
}

TEST_F(MpsClients, QuitWithATimeoutEndsThem) {
    const auto one = client();
    daemon_.command("quit -t 0");
    EXPECT_EQ(daemon_.process().join(), 0);
    EXPECT_EQ(call(*one), CUDA_ERROR_MPS_RPC_FAILURE);
}

}  // namespace
}  // namespace gpusim
