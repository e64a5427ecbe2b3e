// gpusimctl: makes a simulated node's driver root, shows it, and breaks its GPUs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "api/nvidia/nvml.h"
#include "gpusim/ctl/cdi.hpp"
#include "gpusim/ctl/driver_root.hpp"
#include "gpusim/ctl/report.hpp"
#include "gpusim/state/events.hpp"
#include "gpusim/state/timeline.hpp"

namespace fs = std::filesystem;
using gpusim::Access;
using gpusim::State;

namespace {

constexpr int kUsageStatus = 2;
constexpr char kDefaultRoot[] = "/run/nvidia/driver";
constexpr std::uint64_t kXidFallenOffTheBus = 79;
constexpr std::uint64_t kApplicationXids[] = {
#define APPLICATION_XID(code, meaning) code,
#include "api/nvidia/application_xids.def"
#undef APPLICATION_XID
};

struct Arguments {
    fs::path root;     // --root, else $GPUSIM_ROOT, else kDefaultRoot
    fs::path libs;     // --libs
    std::string seed;  // --seed
    std::vector<std::string> words;
};

using Done = tl::expected<void, std::string>;

struct Command {
    const char* name;
    const char* operands;
    std::size_t least;
    std::size_t most;
    const char* help;
    Done (*run)(const Arguments&);
};

// The directory of the built libraries: the directory of this program, or where the build tree has
// it.
tl::expected<fs::path, std::string> find_libraries(const Arguments& arguments) {
    if (!arguments.libs.empty()) return arguments.libs;
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& candidate : {here, here / "../gpusim/lib", here / "../lib"}) {
        if (fs::exists(candidate / gpusim::kLibraries[0]) &&
            fs::exists(candidate / gpusim::kLibraries[1])) {
            return candidate;
        }
    }
    return tl::unexpected(fmt::format(
        "libcuda.so.1 and libnvidia-ml.so.1 are not near {}; use --libs", here.string()));
}

Done create(const Arguments& arguments) {
    std::ifstream in(arguments.words[0]);
    if (!in) {
        return tl::unexpected(fmt::format("{}: {}", arguments.words[0], std::strerror(errno)));
    }
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto gpus = gpusim::parse_gpus({text, arguments.words[0], arguments.seed});
    if (!gpus) return tl::unexpected(gpus.error());
    auto libraries = find_libraries(arguments);
    if (!libraries) return tl::unexpected(libraries.error());
    return gpusim::create_root({std::move(*gpus), std::move(*libraries), arguments.words[1]});
}

fs::path root_of(const Arguments& arguments) {
    return arguments.words.empty() ? arguments.root : fs::path(arguments.words[0]);
}

Done cdi(const Arguments& arguments) {
    const fs::path root = root_of(arguments);
    const auto state = gpusim::open_root(root, Access::read_only);
    if (!state) return tl::unexpected(state.error());
    fmt::print("{}", gpusim::cdi_spec(*state->file, fs::canonical(root)));
    return {};
}

Done show(const Arguments& arguments) {
    const auto state = gpusim::open_root(root_of(arguments), Access::read_only);
    if (!state) return tl::unexpected(state.error());
    fmt::print("{}", gpusim::report(*state));
    return {};
}

template <class Number>
bool parse_number(const std::string& text, Number* number) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, *number);
    return error == std::errc{} && stop == end;
}

tl::expected<int, std::string> find_gpu(const State& state, const std::string& name) {
    const int count = static_cast<int>(state.file->gpu_count);
    int index = -1;
    if (parse_number(name, &index) && index >= 0 && index < count) return index;
    for (int i = 0; i < count; i++) {
        if (name == state.file->gpus[i].uuid) return i;
    }
    return tl::unexpected(
        fmt::format("no GPU {} (give its UUID, or an index below {})", name, count));
}

// Runs `change(file, GPU)` on the GPU that the first word names, under the decision lock.
template <class Change>
Done change_gpu(const Arguments& arguments, Change change) {
    auto state = gpusim::open_root(arguments.root, Access::read_write);
    if (!state) return tl::unexpected(state.error());
    const auto gpu = find_gpu(*state, arguments.words[0]);
    if (!gpu) return tl::unexpected(gpu.error());
    if (!gpusim::lock_byte(state->locks_fd, gpusim::kDecisionLock)) {
        return tl::unexpected(fmt::format("cannot lock the state: {}", std::strerror(errno)));
    }
    change(*state->file, *gpu);
    gpusim::unlock_byte(state->locks_fd, gpusim::kDecisionLock);
    return {};
}

Done xid(const Arguments& arguments) {
    std::uint64_t code = 0;
    if (!parse_number(arguments.words[1], &code)) {
        return tl::unexpected(fmt::format("\"{}\" is no Xid", arguments.words[1]));
    }
    const bool wants_reset = std::find(std::begin(kApplicationXids), std::end(kApplicationXids),
                                       code) == std::end(kApplicationXids);
    return change_gpu(arguments, [code, wants_reset](gpusim::GpusFile& file, int gpu) {
        if (wants_reset) {
            file.gpus[gpu].recovery_action.store(NVML_GPU_RECOVERY_ACTION_GPU_RESET);
        }
        gpusim::append_event(file, {gpu, nvmlEventTypeXidCriticalError, code});
    });
}

Done ecc(const Arguments& arguments) {
    const std::string kind = arguments.words.size() > 1 ? arguments.words[1] : "double";
    if (kind != "double" && kind != "single") {
        return tl::unexpected(fmt::format("\"{}\" is neither single nor double", kind));
    }
    const std::uint64_t type =
        kind == "double" ? nvmlEventTypeDoubleBitEccError : nvmlEventTypeSingleBitEccError;
    return change_gpu(arguments, [type](gpusim::GpusFile& file, int gpu) {
        gpusim::append_event(file, {gpu, type, 0});
    });
}

Done lose(const Arguments& arguments) {
    return change_gpu(arguments, [](gpusim::GpusFile& file, int gpu) {
        file.gpus[gpu].lost.store(1);
        gpusim::append_event(file, {gpu, nvmlEventTypeXidCriticalError, kXidFallenOffTheBus});
    });
}

// A failure other than a lost GPU, and without an event.
Done fail(const Arguments& arguments) {
    return change_gpu(arguments, [](gpusim::GpusFile& file, int gpu) {
        file.gpus[gpu].nvml_error.store(NVML_ERROR_UNKNOWN);
    });
}

Done driver(const Arguments& arguments) {
    constexpr struct {
        const char* name;
        gpusim::NvmlKind kind;
    } kDrivers[] = {{"current", gpusim::NvmlKind::current},
                    {"old", gpusim::NvmlKind::old},
                    {"dead", gpusim::NvmlKind::dead}};
    const auto state = gpusim::open_root(arguments.root, Access::read_write);
    if (!state) return tl::unexpected(state.error());
    if (arguments.words[0] == "reload") {
        state->file->driver_loads.fetch_add(1);
        return {};
    }
    for (const auto& row : kDrivers) {
        if (arguments.words[0] != row.name) continue;
        state->file->nvml_kind.store(row.kind);
        return {};
    }
    return tl::unexpected(
        fmt::format("\"{}\" is neither current, old, dead nor reload", arguments.words[0]));
}

Done memory_limits(const Arguments& arguments) {
    constexpr struct {
        const char* name;
        gpusim::MemoryLimits limits;
    } kKinds[] = {{"off", gpusim::MemoryLimits::off},
                  {"misc", gpusim::MemoryLimits::misc},
                  {"dmem", gpusim::MemoryLimits::dmem}};
    const auto state = gpusim::open_root(arguments.root, Access::read_write);
    if (!state) return tl::unexpected(state.error());
    for (const auto& row : kKinds) {
        if (arguments.words[0] != row.name) continue;
        state->file->memory_limits.store(row.limits);
        return {};
    }
    return tl::unexpected(fmt::format("\"{}\" is neither off, misc nor dmem", arguments.words[0]));
}

// One state of a GPU that an administrator or a fault sets, and that NVML then reports.
struct Setting {
    const char* name;
    const char* value;
    void (*set)(gpusim::Gpu&);
};

constexpr std::uint32_t kAllOfMemory =
    gpusim::kHidesMemory | gpusim::kHidesSizeAlone | gpusim::kFailsMemory;

template <std::uint32_t What, bool IsHidden>
void set_hidden(gpusim::Gpu& gpu) {
    if (IsHidden) {
        gpu.hidden.fetch_or(What);
    } else {
        gpu.hidden.fetch_and(~What);
    }
}

constexpr Setting kSettings[] = {
    {"mig", "on", [](gpusim::Gpu& gpu) { gpu.mig_mode.store(NVML_DEVICE_MIG_ENABLE); }},
    {"mig", "off", [](gpusim::Gpu& gpu) { gpu.mig_mode.store(NVML_DEVICE_MIG_DISABLE); }},
    {"compute-mode", "default",
     [](gpusim::Gpu& gpu) { gpu.compute_mode.store(NVML_COMPUTEMODE_DEFAULT); }},
    {"compute-mode", "prohibited",
     [](gpusim::Gpu& gpu) { gpu.compute_mode.store(NVML_COMPUTEMODE_PROHIBITED); }},
    {"compute-mode", "exclusive-process",
     [](gpusim::Gpu& gpu) { gpu.compute_mode.store(NVML_COMPUTEMODE_EXCLUSIVE_PROCESS); }},
    {"rows", "good", [](gpusim::Gpu& gpu) { gpu.remapped_rows.store(gpusim::Rows::good); }},
    {"rows", "pending", [](gpusim::Gpu& gpu) { gpu.remapped_rows.store(gpusim::Rows::pending); }},
    {"rows", "failed", [](gpusim::Gpu& gpu) { gpu.remapped_rows.store(gpusim::Rows::failed); }},
    {"retired-pages", "none", [](gpusim::Gpu& gpu) { gpu.retired_pages.store(0); }},
    {"retired-pages", "pending", [](gpusim::Gpu& gpu) { gpu.retired_pages.store(1); }},
    {"memory-errors", "none", [](gpusim::Gpu& gpu) { gpu.uncorrected_errors.store(0); }},
    {"memory-errors", "some", [](gpusim::Gpu& gpu) { gpu.uncorrected_errors.store(1); }},
    {"memory", "known", set_hidden<kAllOfMemory, false>},
    {"memory", "hidden", set_hidden<gpusim::kHidesMemory, true>},
    {"memory", "zero", set_hidden<gpusim::kHidesSizeAlone, true>},
    {"memory", "fails", set_hidden<gpusim::kFailsMemory, true>},
    {"process-memory", "known", set_hidden<gpusim::kHidesProcessMemory, false>},
    {"process-memory", "hidden", set_hidden<gpusim::kHidesProcessMemory, true>},
    {"reserve", "known", set_hidden<gpusim::kHidesReserve, false>},
    {"reserve", "hidden", set_hidden<gpusim::kHidesReserve, true>},
    {"minor", "known", set_hidden<gpusim::kHidesMinor, false>},
    {"minor", "hidden", set_hidden<gpusim::kHidesMinor, true>},
    {"name", "known", set_hidden<gpusim::kHidesName, false>},
    {"name", "hidden", set_hidden<gpusim::kHidesName, true>},
    {"topology", "known", set_hidden<gpusim::kHidesTopology, false>},
    {"topology", "hidden", set_hidden<gpusim::kHidesTopology, true>},
};

Done set(const Arguments& arguments) {
    std::string known;
    for (const Setting& row : kSettings) {
        known += fmt::format(" {}={}", row.name, row.value);
        if (arguments.words[1] != row.name || arguments.words[2] != row.value) continue;
        return change_gpu(arguments,
                          [&row](gpusim::GpusFile& file, int gpu) { row.set(file.gpus[gpu]); });
    }
    return tl::unexpected(
        fmt::format("\"{} {}\" is none of{}", arguments.words[1], arguments.words[2], known));
}

Done fault_allocation(const Arguments& arguments) {
    std::uint64_t count = 0;
    if (!parse_number(arguments.words[2], &count) || count == 0) {
        return tl::unexpected(fmt::format("\"{}\" is no number from 1", arguments.words[2]));
    }
    return change_gpu(arguments, [count](gpusim::GpusFile& file, int gpu) {
        file.gpus[gpu].failing_allocation.store(count);
    });
}

Done fault(const Arguments& arguments) {
    constexpr struct {
        const char* name;
        gpusim::KernelFault fault;
    } kFaults[] = {{"illegal-address", gpusim::KernelFault::illegal_address},
                   {"ecc", gpusim::KernelFault::uncorrectable_ecc},
                   {"hang", gpusim::KernelFault::hang}};
    if (arguments.words[1] == "allocation") return fault_allocation(arguments);
    if (arguments.words[1] != "kernel") {
        return tl::unexpected(
            fmt::format("\"{}\" is neither kernel nor allocation", arguments.words[1]));
    }
    for (const auto& row : kFaults) {
        if (arguments.words[2] != row.name) continue;
        return change_gpu(arguments, [&row](gpusim::GpusFile& file, int gpu) {
            file.gpus[gpu].next_kernel.store(row.fault);
        });
    }
    return tl::unexpected(
        fmt::format("\"{}\" is neither illegal-address, ecc nor hang", arguments.words[2]));
}

Done sharing(const Arguments& arguments) {
    const bool by_turns = arguments.words[1] == "turns";
    if (!by_turns && arguments.words[1] != "side-by-side") {
        return tl::unexpected(
            fmt::format("\"{}\" is neither turns nor side-by-side", arguments.words[1]));
    }
    auto state = gpusim::open_root(arguments.root, Access::read_write);
    if (!state) return tl::unexpected(state.error());
    const auto gpu = find_gpu(*state, arguments.words[0]);
    if (!gpu) return tl::unexpected(gpu.error());
    const auto how = by_turns ? gpusim::Sharing::turns : gpusim::Sharing::side_by_side;
    if (!gpusim::set_sharing(*state, *gpu, how)) {
        return tl::unexpected(
            fmt::format("GPU {} has time_slice and work: wait until its processes have none",
                        arguments.words[0]));
    }
    return {};
}

Done recover(const Arguments& arguments) {
    return change_gpu(arguments, [](gpusim::GpusFile& file, int gpu) {
        file.gpus[gpu].nvml_error.store(NVML_SUCCESS);
        file.gpus[gpu].recovery_action.store(NVML_GPU_RECOVERY_ACTION_NONE);
        file.gpus[gpu].lost.store(0);
        file.gpus[gpu].failing_allocation.store(0);
        file.gpus[gpu].hidden.store(0);
        file.gpus[gpu].mig_mode.store(NVML_DEVICE_MIG_DISABLE);
        file.gpus[gpu].compute_mode.store(NVML_COMPUTEMODE_DEFAULT);
        file.gpus[gpu].remapped_rows.store(gpusim::Rows::good);
        file.gpus[gpu].retired_pages.store(0);
        file.gpus[gpu].uncorrected_errors.store(0);
    });
}

constexpr Command kCommands[] = {
    {"create", "gpus.yaml ROOT", 2, 2, "make a driver root (options: --libs DIR, --seed TEXT)",
     create},
    {"cdi", "[ROOT]", 0, 1, "print the CDI specification of a root", cdi},
    {"show", "[ROOT]", 0, 1, "print GPUs, memory in use and live processes", show},
    {"xid", "GPU CODE", 2, 2,
     "report an Xid; unless applications cause it, the GPU needs a reset until `recover`", xid},
    {"ecc", "GPU [single|double]", 1, 2, "report an ECC error (double)", ecc},
    {"lose", "GPU", 1, 1, "the GPU falls off the bus (Xid 79) until `recover`", lose},
    {"fail", "GPU", 1, 1, "NVML answers Unknown Error for the GPU until `recover`", fail},
    {"recover", "GPU", 1, 1, "the GPU is back and needs nothing", recover},
    {"fault", "GPU WHAT HOW", 3, 3,
     "kernel KIND: the next one ends in an error (illegal-address, ecc) or never ends (hang); "
     "allocation N: the N-th from now fails although there is room",
     fault},
    {"sharing", "GPU HOW", 2, 2,
     "processes have the GPU by turns (turns, the default) or, as under MPS, side-by-side",
     sharing},
    {"driver", "current|old|dead|reload", 1, 1,
     "NVML of an old driver cannot report what a GPU needs; a dead one fails every call; after a "
     "reload every call fails in an NVML that was initialized before",
     driver},
    {"memory-limits", "off|misc|dmem", 1, 1,
     "how NVML's memory limits of cgroups are enforced: not (off), or as drivers from r615 on do, "
     "without or with the kernel's controller dmem; processes that started while it was off are "
     "not "
     "limited",
     memory_limits},
    {"set", "GPU WHAT VALUE", 3, 3,
     "mig on|off; compute-mode default|prohibited|exclusive-process; rows good|pending|failed; "
     "retired-pages none|pending; memory-errors none|some; and what NVML says of the GPU: memory "
     "known|hidden|zero|fails; process-memory, reserve, minor, name, topology: known|hidden",
     set},
};

void print_help(std::FILE* out) {
    fmt::print(out, "usage: gpusimctl [--root ROOT] COMMAND ...\n\n");
    for (const Command& command : kCommands) {
        fmt::print(out, "  {:8}{:25}{}\n", command.name, command.operands, command.help);
    }
    fmt::print(out,
               "\nGPU is a UUID or an index. ROOT is --root, else $GPUSIM_ROOT, else {}.\n"
               "The form of gpus.yaml is in gpusim/README.md.\n",
               kDefaultRoot);
}

// Separates options from words. False if an option has no value or is unknown.
bool parse(int argc, char** argv, Arguments* arguments) {
    const char* root = std::getenv("GPUSIM_ROOT");
    arguments->root = root != nullptr && *root != '\0' ? root : kDefaultRoot;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const bool is_option = word.starts_with("--");
        if (!is_option) {
            arguments->words.push_back(word);
            continue;
        }
        if (i + 1 == argc) return false;
        const char* value = argv[++i];
        if (word == "--root") {
            arguments->root = value;
        } else if (word == "--libs") {
            arguments->libs = value;
        } else if (word == "--seed") {
            arguments->seed = value;
        } else {
            return false;
        }
    }
    return true;
}

bool wants_help(int argc, char** argv) {
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

int run(Arguments arguments) {
    const std::string name = arguments.words.front();
    arguments.words.erase(arguments.words.begin());
    for (const Command& command : kCommands) {
        if (name != command.name) continue;
        if (arguments.words.size() < command.least || arguments.words.size() > command.most) {
            fmt::print(stderr, "usage: gpusimctl {} {}\n", command.name, command.operands);
            return kUsageStatus;
        }
        const Done done = command.run(arguments);
        if (done) return 0;
        fmt::print(stderr, "gpusimctl: {}\n", done.error());
        return 1;
    }
    fmt::print(stderr, "gpusimctl: no command \"{}\" (see gpusimctl --help)\n", name);
    return kUsageStatus;
}

}  // namespace

int main(int argc, char** argv) {
    if (wants_help(argc, argv)) {
        print_help(stdout);
        return 0;
    }
    Arguments arguments;
    if (!parse(argc, argv, &arguments) || arguments.words.empty()) {
        print_help(stderr);
        return kUsageStatus;
    }
    try {
        return run(std::move(arguments));
    } catch (const std::exception& error) {
        fmt::print(stderr, "gpusimctl: {}\n", error.what());
        return 1;
    }
}
