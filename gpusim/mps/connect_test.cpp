// Goal: a program runs without MPS only where there is no daemon, and its cuInit harms no other
// program. Method: programs on a node, with a socket of the test in the place of the daemon's.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpusim/mps/wire.hpp"
#include "gpusim/test_support/mps_test.hpp"

namespace gpusim {
namespace {

constexpr int kBacklog = 4;

int listener = -1;

// What connects gets no answer.
void close_all_that_connect(int /*signal*/) {
    for (int fd = accept(listener, nullptr, nullptr); fd >= 0;
         fd = accept(listener, nullptr, nullptr))
        close(fd);
}

class MpsConnect : public testing::Test {
  protected:
    MpsConnect() {
        address_.sun_family = AF_UNIX;
        const std::string path = (node_.root() / mps::kControl).string();
        path.copy(address_.sun_path, sizeof address_.sun_path - 1);
        const auto* name = reinterpret_cast<const sockaddr*>(&address_);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (listener < 0) throw std::runtime_error("socket");
        EXPECT_EQ(bind(listener, name, sizeof address_), 0);
        EXPECT_EQ(listen(listener, kBacklog), 0);
    }
    ~MpsConnect() override { close(listener); }

    std::filesystem::path library() const { return node_.library("libcuda.so.1"); }

    // Connections that wait for the listener, until it has no place for one more.
    void fill_backlog() const {
        const auto* name = reinterpret_cast<const sockaddr*>(&address_);
        int fd = -1;
        do {
            fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        } while (fd >= 0 && connect(fd, name, sizeof address_) == 0);
    }

    // Waits for a client, and reads what it says first.
    static int next_client() {
        pollfd polled = {listener, POLLIN, 0};
        poll(&polled, 1, -1);
        const int fd = accept(listener, nullptr, nullptr);
        if (fd < 0) throw std::runtime_error("accept");
        char greeting = 0;
        EXPECT_EQ(recv(fd, &greeting, 1, 0), 1);
        EXPECT_EQ(greeting, mps::kClient);
        return fd;
    }

    SimulatedNode node_{kTwoGpus};
    sockaddr_un address_ = {};
    Variable pipes_{"CUDA_MPS_PIPE_DIRECTORY", node_.root().c_str()};
};

TEST_F(MpsConnect, WithoutADescriptorItFails) {
    in_child([this] {
        const Library cuda(library());
        std::vector<int> taken = {dup(STDOUT_FILENO)};
        const rlim_t few = static_cast<rlim_t>(taken[0]) + 64;
        const rlimit limit = {few, few};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        for (int fd = dup(STDOUT_FILENO); fd >= 0; fd = dup(STDOUT_FILENO))
            taken.push_back(fd);
        ASSERT_GE(taken.size(), 2U);
        for (int left = 0; left < 2; left++) {  // for the files `locks` and `memory`
            close(taken.back());
            taken.pop_back();
        }
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_MPS_CONNECTION_FAILED);
    });
}

TEST_F(MpsConnect, ASignalDoesNotEndIt) {
    in_child([this] {
        const Library cuda(library());
        fill_backlog();
        struct sigaction action = {};
        action.sa_handler = close_all_that_connect;  // without SA_RESTART
        ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
        const itimerval often = {{0, 20'000}, {0, 20'000}};
        ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_MPS_CONNECTION_FAILED);
    });
}

TEST_F(MpsConnect, ADaemonOfAnotherBuildIsRefused) {
    ChildProcess child([this](Wire& wire) {
        const Library cuda(library());
        wire.send(static_cast<std::uint64_t>(CALL(cuda, cuInit)(0)));
    });
    const int connection = next_client();
    const mps::WelcomeHead head = {.version = mps::kWireVersion + 1};
    EXPECT_EQ(send(connection, &head, sizeof head, 0), ssize_t{sizeof head}) << "a shorter one";
    EXPECT_EQ(child.wire().receive(), std::uint64_t{CUDA_ERROR_MPS_CONNECTION_FAILED});
    close(connection);
}

// A program may call cuInit again.
TEST_F(MpsConnect, NothingIsLeftOfAGreetingThatFails) {
    ChildProcess child([this](Wire&) {
        const Library cuda(library());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_MPS_CONNECTION_FAILED);
        const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        int count = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceGetCount)(&count), CUDA_SUCCESS);
        EXPECT_EQ(count, 2);
    });
    const int connection = next_client();
    mps::Welcome welcome;
    welcome.state_id = node_.state().file->id;
    welcome.server = 1;
    welcome.gpus = {.count = 1, .gpus = {2}};
    EXPECT_EQ(send(connection, &welcome, sizeof welcome, 0), ssize_t{sizeof welcome});
    EXPECT_EQ(child.join(), 0);
    close(connection);
}

// One thread waits in cuInit while another one forks.
TEST_F(MpsConnect, AForkChildKeepsNeitherTheConnectionNorTheMutex) {
    ChildProcess parent([this](Wire& wire) {
        const Library cuda(library());
        const auto init = CALL(cuda, cuInit);
        std::thread waits([init] { init(0); });
        waits.detach();
        wire.receive();
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);  // ends it if it waits for the mutex
            setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
            wire.send(1000 + static_cast<unsigned>(init(0)));
            while (wire.receive() != 0)
                wire.send(7);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
        _exit(0);
    });
    const int connection = next_client();
    parent.wire().send();
    ASSERT_EQ(parent.wire().receive(), 1000U + CUDA_SUCCESS);
    parent.kill_hard();
    char byte = 0;
    EXPECT_EQ(recv(connection, &byte, 1, 0), 0) << "the daemon sees the end of the parent";
    parent.wire().send();
    EXPECT_EQ(parent.wire().receive(), 7U) << "the child has not ended yet";
    close(connection);
}

TEST_F(MpsConnect, WhereNoDaemonListensItRunsWithoutMps) {
    close(listener);
    in_child([this] {
        const Library cuda(library());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace gpusim
