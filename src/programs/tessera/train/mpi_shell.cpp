#include "programs/tessera/train/mpi_shell.hpp"

#include <fmt/format.h>

#include "adapters/os/random_bytes.hpp"
#include "adapters/workload/public_config.hpp"
#include "programs/tessera/workload/flag_options.hpp"

namespace tessera {
namespace {

constexpr std::size_t kSecretBytes = 32;

std::string new_secret() {
    std::string out;
    for (const char byte : random_bytes(kSecretBytes))
        out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return out;
}

}  // namespace

void add_mpi(CLI::App& command, workload::MpiJobFlags& flags) {
    add_number(command, "--workers", flags.submit.workers, 1'000,
               "number of workers, without the launcher");
    add_number(command, "--slots-per-worker", flags.slots_per_worker, 1'024,
               "processes of each worker; 0: one for each whole GPU, or one");
    add_flag_value(command, "--launcher-cpu", flags.launcher_cpu, "CPU limit of the launcher");
    add_flag_value(command, "--launcher-memory", flags.launcher_memory,
                   "memory limit of the launcher");
    command.add_flag("--mounts-on-launcher", flags.mounts_on_launcher,
                     "mount the volumes of --data and --data-dir in the launcher, too");
    add_default(command, "--clean-task-policy", flags.clean_task_policy,
                "what happens to the workers at the end; Running: they are ended; None: they go "
                "on; All: their Job is deleted");
    add_flag_value(command, "--mpi-shell-image", flags.shell_image,
                   "image with tessera-mpi-shell; by default that of tessera-controller");
}

Result<> complete_shell(workload::Training& job, const KubeConnection& connection) {
    if (!job.roles.front().pod.shell) return {};
    job.shell_secret = new_secret();
    std::string image = job.roles.front().pod.shell->image;
    if (image.empty() && connection.endpoint.host.empty()) {
        return fail(Code::invalid_argument,
                    "--mpi-shell-image: is missing, and there is no cluster that names it; write "
                    "the image of tessera-controller");
    }
    if (image.empty()) {
        HttpClient api(connection.endpoint);
        TRY(image, read_tessera_image(api));
    }
    for (workload::Role& role : job.roles)
        role.pod.shell->image = image;
    return {};
}

}  // namespace tessera
