#include "programs/run/local_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "adapters/nvml/nvml_inventory.hpp"
#include "adapters/os/proc_table.hpp"
#include "adapters/os/system_clock.hpp"
#include "adapters/run/run_folder.hpp"
#include "adapters/run/run_processes.hpp"
#include "app/run/run_gpus.hpp"
#include "app/run/run_text.hpp"
#include "domain/run/run_environment.hpp"
#include "domain/workload/shell_text.hpp"
#include "programs/common/command_line.hpp"
#include "programs/common/commands.hpp"
#include "programs/common/installed_file.hpp"
#include "programs/common/run_options.hpp"
#include "programs/common/version.hpp"
#include "wire/tessera/run_lease_json.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "tessera run";
constexpr const char* kLibrary = "libtessera-guard.so";
constexpr auto kWaitPause = 500ms;
// A process that ends gives its memory back a moment after it has left the accounts. So memory that
// belongs to no run is looked at again before it is a reason to fail.
constexpr int kLooksAtOutside = 5;
constexpr auto kOutsidePause = 200ms;
constexpr int kNotFoundStatus = 127;
constexpr int kNotExecutableStatus = 126;

Result<std::string> guard_library(const RunOptions& options) {
    if (!options.guard_library.empty()) return options.guard_library;
    const fs::path own = program_folder();
    const FoundFile found =
        find_file(release_folders({own, own.parent_path() / "guard/lib"}), kLibrary);
    if (!found.path.empty()) return found.path.string();
    return fail(Code::not_found,
                fmt::format("{} is not in {}; put it beside tessera-run, or name it with "
                            "--guard-library",
                            kLibrary, found.searched));
}

// What a decision needs, as of one moment.
struct Situation {
    std::vector<RunGpu> gpus;
    std::vector<LiveRun> runs;
};

// Memory that runs took or released meanwhile belongs to them, not to other processes. Needs the
// folder's lock.
Result<Situation> look(const RunFolder& folder, GpuInventory& driver) {
    TRY(const auto before, folder.live_runs());
    TRY(const auto readings, driver.read());
    TRY(auto runs, folder.live_runs());
    RunMemory used = memory_of_runs(before);
    for (const auto& [gpu, bytes] : memory_of_runs(runs))
        used[gpu] = std::max(used[gpu], bytes);
    return Situation{run_gpus(readings, used), std::move(runs)};
}

std::vector<std::string> own_environment() {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; entry++)
        out.emplace_back(*entry);
    return out;
}

// A run whose program waits for RunProcesses::begin().
struct Started {
    RunLease lease;
    RunProcesses processes;
};

// Needs the folder's lock.
Result<Started> add_run(const RunFolder& folder, const OwnedDescriptor& lock, RunLease lease,
                        const RunOptions& options, const std::string& library) {
    TRY(NewRun run, folder.prepare({.gpu = lease.gpu,
                                    .memory = lease.memory,
                                    .cores = lease.cores,
                                    .cores_limit = lease.cores_limit,
                                    .library = library}));
    const RunProgram program{
        options.words, run_environment(own_environment(), run.id(), lease, run.library().string())};
    TRY(RunProcesses processes, RunProcesses::start(program, folder, std::move(run), lock));
    lease.pid = processes.program();
    lease.start_ticks = ProcTable().started_at(lease.pid).value_or(0);
    TRY_VOID(processes.run().publish(lease));
    return Started{std::move(lease), std::move(processes)};
}

Error refusal(const RunChoice& choice) {
    if (!choice.may_fit_later) return {Code::invalid_argument, choice.reason};
    return {Code::conflict,
            choice.reason + "; wait for it with --wait, or see the runs: tessera run --list"};
}

// Waits for the share if the options say so.
Result<Started> start_when_it_fits(const RunFolder& folder, GpuInventory& driver,
                                   const RunOptions& options, const std::string& library) {
    TRY(const Bytes memory, run_memory(options));
    const RunRequest request{.memory = memory, .cores = {options.cores}, .gpu = options.gpu};
    SystemClock clock;
    std::string reported;
    for (int looks = 1;; looks++) {
        RunChoice choice;
        {
            TRY(const OwnedDescriptor lock, folder.lock());
            TRY(const Situation now, look(folder, driver));
            choice = choose_run_gpu(now.gpus, now.runs, request);
            if (choice.gpu) {
                const RunGpu& gpu = now.gpus[*choice.gpu];
                driver.close();  // the run's processes must not have its files
                return add_run(folder, lock,
                               {.gpu = gpu.uuid,
                                .gpu_index = gpu.index,
                                .memory = memory,
                                .cores = {options.cores},
                                .cores_limit = {options.cores_limit},
                                .started_unix_ns = clock.unix_ns(),
                                .command = command_text(workload::shell_line(options.words))},
                               options, library);
            }
        }
        if (choice.fits_without_outside && looks < kLooksAtOutside) {
            clock.sleep_for(kOutsidePause);
            continue;
        }
        if (!options.waits || !choice.may_fit_later) return fail(refusal(choice));
        if (choice.reason != reported && !options.is_quiet)
            std::cerr << kName << ": waiting: " << choice.reason << "\n" << std::flush;
        reported = choice.reason;
        clock.sleep_for(kWaitPause);
    }
}

Result<int> start_run(const RunOptions& options) {
    if (const char* run = std::getenv(std::string(kRunVariable).c_str()); run != nullptr) {
        return fail(Code::conflict,
                    fmt::format("this is inside of the run {}, whose programs share one GPU share "
                                "already; start the program without tessera run",
                                run));
    }
    TRY(const std::string library, guard_library(options));
    TRY(const RunFolder folder, RunFolder::open(options.state));
    TRY(const auto driver,
        open_nvml(options.driver_root,
                  "install NVIDIA's driver, or name the root of its files with --driver-root"));
    TRY(Started started, start_when_it_fits(folder, *driver, options, library));
    if (const auto begun = started.processes.begin(); !begun) {
        print_error(kName, begun.error());
        return begun.error().code == Code::not_found ? kNotFoundStatus : kNotExecutableStatus;
    }
    TRY(const RunEnd end, started.processes.wait());
    if (!options.is_quiet)
        std::cerr << kName << ": " << run_end_text(started.lease, end) << "\n" << std::flush;
    return end.exit_status;
}

Result<int> list_runs(const RunOptions& options) {
    std::vector<LiveRun> runs;
    if (RunFolder::exists(options.state)) {
        TRY(const RunFolder folder, RunFolder::open(options.state));
        TRY(const OwnedDescriptor lock, folder.lock());
        TRY(runs, folder.live_runs());
    }
    std::cout << (options.output == "json" ? write_run_list(runs) : run_table(runs));
    if (std::cout.flush()) return 0;
    return fail(Code::unavailable, "the output cannot be written");
}

}  // namespace

int run_locally(int argc, char** argv) {
    CLI::App app{"Runs a program on this machine with a GPU share, without Kubernetes.",
                 "tessera-run"};
    app.set_version_flag("--version", version_text("tessera-run"));
    app.failure_message(failure_message_of(kName));
    app.footer("Example: tessera-run --memory 4Gi --cores 30 -- python train.py");
    RunOptions options;
    add_run_options(app, options);
    try {
        app.parse(command_line(app, argc, argv));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_status(Code::invalid_argument);
    }
    if (const auto checked = check_run_options(options); !checked)
        return print_error(kName, checked.error());
    const Result<int> status = options.lists ? list_runs(options) : start_run(options);
    return status ? *status : print_error(kName, status.error());
}

}  // namespace tessera
