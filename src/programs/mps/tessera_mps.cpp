// tessera-mps: supervises the control daemons of NVIDIA MPS on one node.
#include <sys/stat.h>

#include "adapters/mps/mps_folder.hpp"
#include "adapters/mps/vendor_control_daemon.hpp"
#include "adapters/nvml/nvml_compute_modes.hpp"
#include "adapters/os/kept_process.hpp"
#include "adapters/os/system_clock.hpp"
#include "base/log.hpp"
#include "programs/common/run_program.hpp"
#include "programs/mps/mps_node.hpp"

namespace tessera {
namespace {

#define CONFIG_TABLE "programs/mps/mps.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

constexpr mode_t kUmask = 022;

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    // Servers of other users than root go through our folders.
    ::umask(kUmask);
    MpsFolder folder(config.mps_folder);
    TRY_VOID(folder.take());
    TRY(auto programs, find_mps_programs(config.driver_root, folder.libraries()));
    const auto modes = [&config] {
        return nvml_compute_modes(config.driver_root,
                                  "is NVIDIA's driver installed, and is driver_root right?");
    };
    SystemClock clock;
    log_event(Event::started, {{"version", TESSERA_VERSION}, {"mps_folder", config.mps_folder}});
    MpsNode(folder, std::move(programs), modes, clock).run(stop);
    return {};
}

int run(int argc, char** argv) {
    return run_program(
        {"tessera-mps",
         "Supervises the control daemons of NVIDIA MPS on this node. It ends them on "
         "SIGTERM; they outlive it when it is killed.",
         kRows},
        argc, argv, [](const ConfigValues&) { return Result<>(); }, serve);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    // Flags or values that are wrong stay wrong.
    constexpr int kUsage = 2;
    constexpr int kConfig = 78;
    return tessera::keep_process([&] { return tessera::run(argc, argv); }, {0, kUsage, kConfig});
}
