// The questions of docs/internals/guard.md that only a real GPU answers.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "api/nvidia/nvml.h"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/hardware/container.hpp"
#include "guard/hardware/figures.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::CudaProgram;
using gpusim::kMiB;
using gpusim::Library;
using gpusim::Wire;

// The used memory of device 0, as NVML reports it. Runs in a process of its own, because this one
// forks later.
std::optional<std::uint64_t> nvml_used() {
    constexpr std::uint64_t kNoNvml = UINT64_MAX;
    ChildProcess asker([uuid = device_uuid()](Wire& wire) {
        const Library nvml(nvml_path());
        nvmlDevice_t device = nullptr;
        nvmlMemory_t memory = {};
        const bool is_reported =
            CALL(nvml, nvmlInit_v2)() == NVML_SUCCESS &&
            CALL(nvml, nvmlDeviceGetHandleByUUID)(uuid.c_str(), &device) == NVML_SUCCESS &&
            CALL(nvml, nvmlDeviceGetMemoryInfo)(device, &memory) == NVML_SUCCESS;
        wire.send(is_reported ? memory.used : kNoNvml);
    });
    const std::uint64_t bytes = asker.wire().receive();
    asker.join();
    if (bytes == kNoNvml) return std::nullopt;
    return bytes;
}

std::string mib(std::uint64_t now, std::uint64_t before) {
    return Figures::number((static_cast<double>(now) - static_cast<double>(before)) / kMiB, "MiB");
}

void ask_what_a_context_costs(Figures& figures) {
    const auto by_nvml = nvml_used();
    const std::uint64_t before = taken_now();
    const auto idle = gpusim::start_holder(driver_path(), 2 * kMiB);
    figures.shown("a context and 2 MiB, by cuMemGetInfo", mib(taken_now(), before));
    figures.shown("a context and 2 MiB, by NVML",
                  by_nvml ? mib(nvml_used().value_or(0), *by_nvml) : "there is no NVML");
}

// Whether exported addresses identify a driver's functions, as the guard assumes.
void ask_for_addresses(Figures& figures) {
    ChildProcess asker([](Wire& wire) {
        const Library cuda(driver_path());
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        const struct {
            const char* symbol;
            const char* name;
            int since;
            bool is_per_thread;
        } rows[] = {
#define HOOK(symbol, name, since) {#symbol, #name, since, false},
#define PER_THREAD_HOOK(symbol, name, since) {#symbol, #name, since, true},
#include "guard/entrypoints.def"
#undef HOOK
        };
        const auto ask = CALL(cuda, cuGetProcAddress_v2);
        std::uint64_t same = 1;
        std::uint64_t there = 1;
        for (const auto& row : rows) {
            if (!cuda.has(row.symbol)) continue;
            there++;
            void* found = nullptr;
            ask(row.name, &found, row.since,
                row.is_per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                  : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                nullptr);
            if (found == cuda.find(row.symbol)) {
                same++;
            } else {
                std::fprintf(stderr, "hardware: another address: %s\n", row.symbol);
            }
        }
        wire.send(there);
        wire.send(same);
    });
    const std::uint64_t there = asker.wire().receive();
    const std::uint64_t same = asker.wire().receive();
    asker.join();
    figures.exactly("hooked functions that cuGetProcAddress gives by their exported address",
                    static_cast<double>(there) - 1, static_cast<double>(same) - 1, "functions");
}

// A forked child of a process that uses the GPU inherits its descriptors of the device.
void ask_what_children_keep(Figures& figures) {
    constexpr std::uint64_t kBytes = 512 * kMiB;
    const std::uint64_t before = taken_now();
    ChildProcess parent([](Wire& wire) {
        CudaProgram tenant(driver_path());
        EXPECT_EQ(tenant.allocate(kBytes), CUDA_SUCCESS);
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);  // in case this process does not end it
            pause();
            _exit(0);
        }
        wire.send(static_cast<std::uint64_t>(child));
        wire.receive();
    });
    const auto child = static_cast<pid_t>(parent.wire().receive());
    parent.kill_hard();
    std::this_thread::sleep_for(std::chrono::seconds(figures.is_quick() ? 0 : 3));
    const std::uint64_t after = taken_now();
    if (child > 0) kill(child, SIGKILL);
    figures.shown("memory of a killed process while its forked child lives",
                  after >= before + kBytes ? "stays taken" : "is given back");
}

}  // namespace

void answer_questions(Figures& figures) {
    ask_what_a_context_costs(figures);
    ask_for_addresses(figures);
    ask_what_children_keep(figures);
}

}  // namespace tessera::guard
