// Jobs of MPI: what their launcher and their workers run, and how they find each other.
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/training/mpi_paths.hpp"
#include "domain/training/submit_flags.hpp"

namespace tessera::workload {
namespace {

MpiJobFlags flags_of(int workers = 2) {
    MpiJobFlags out;
    out.submit.name = "ring";
    out.submit.workers = workers;
    out.submit.pod.image = "image:1";
    out.submit.pod.gpu.gpumemory = "4";
    out.submit.words = {"mpirun", "./ring", "$X"};
    out.shell_image = "tessera:1";
    return out;
}

std::string value(const Role& role, const std::string& name) {
    const auto at = std::ranges::find(role.pod.env, name, &EnvVar::name);
    return at == role.pod.env.end() ? "" : at->value;
}

std::string file(const Role& role, std::string_view path) {
    const auto at = std::ranges::find(role.pod.files, path, &File::path);
    return at == role.pod.files.end() ? "" : at->content;
}

TEST(MpiJob, LauncherAndWorkers) {
    const Training job = mpi_job(flags_of()).value();
    ASSERT_EQ(job.roles.size(), 2U);
    const Role& launcher = job.roles[0];
    const Role& worker = job.roles[1];
    EXPECT_EQ(job.object(launcher), "ring-launcher");
    EXPECT_EQ(launcher.replicas, 1);
    EXPECT_EQ(launcher.pod.command,
              (std::vector<std::string>{"/tessera-mpi/tessera-mpi-shell", "launch", "--", "sh",
                                        "-c", "mpirun ./ring $$X"}));
    EXPECT_EQ(worker.pod.command,
              (std::vector<std::string>{"/tessera-mpi/tessera-mpi-shell", "serve"}));
    EXPECT_EQ(worker.replicas, 2);
    EXPECT_TRUE(job.has_service);
    EXPECT_EQ(job.clean, CleanPolicy::running);
    for (const Role& role : job.roles) {
        EXPECT_EQ(role.pod.container, "mpi");
        EXPECT_EQ(role.pod.subdomain, "ring");
        EXPECT_EQ(role.pod.shell, (MpiShell{.image = "tessera:1", .secret = "ring-mpi"}));
        EXPECT_EQ(file(role, kOpenMpiHosts),
                  "ring-worker-0.ring slots=1\nring-worker-1.ring slots=1\n");
        EXPECT_EQ(file(role, kHydraHosts), "ring-worker-0.ring:1\nring-worker-1.ring:1\n");
    }
}

// Goal: the launcher has no GPU, and all workers get theirs together, each on another GPU.
TEST(MpiJob, Gpus) {
    const Training job = mpi_job(flags_of(3)).value();
    const PodTemplate& launcher = job.roles[0].pod;
    const PodTemplate& worker = job.roles[1].pod;
    EXPECT_EQ(launcher.gpus, Gpus{});
    EXPECT_EQ(value(job.roles[0], "NVIDIA_VISIBLE_DEVICES"), "void");
    EXPECT_FALSE(launcher.annotations.contains("tessera.dev/gang"));
    EXPECT_TRUE(worker.gpus.is_share());
    EXPECT_EQ(worker.annotations.at("tessera.dev/gang"), "ring");
    EXPECT_EQ(worker.annotations.at("tessera.dev/gang-size"), "3");
    EXPECT_EQ(worker.labels.at("tessera.dev/gpu-anti-affinity"), "ring");
    EXPECT_FALSE(mpi_job(flags_of(1))->roles[1].pod.annotations.contains("tessera.dev/gang"));
    MpiJobFlags without = flags_of(3);
    without.submit.pod.gpu = {};
    EXPECT_FALSE(mpi_job(without)->roles[1].pod.annotations.contains("tessera.dev/gang"));
}

TEST(MpiJob, Slots) {
    MpiJobFlags flags = flags_of(1);
    flags.submit.pod.gpu = {.gpus = 4};
    EXPECT_EQ(file(mpi_job(flags)->roles[0], kHydraHosts), "ring-worker-0.ring:4\n");
    flags.slots_per_worker = 8;
    EXPECT_EQ(file(mpi_job(flags)->roles[0], kOpenMpiHosts), "ring-worker-0.ring slots=8\n");
}

// Goal: each implementation of MPI finds the hosts and our remote shell, unless the user says
// otherwise.
TEST(MpiJob, Variables) {
    MpiJobFlags flags = flags_of();
    flags.submit.pod.env = {"HYDRA_IFACE=net1"};
    const Training job = mpi_job(flags).value();
    const Role& launcher = job.roles[0];
    for (const char* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent",
                             "HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"})
        EXPECT_EQ(value(launcher, name), kShellAgent) << name;
    for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"})
        EXPECT_EQ(value(launcher, name), kOpenMpiHosts) << name;
    for (const char* name : {"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"})
        EXPECT_EQ(value(launcher, name), kHydraHosts) << name;
    EXPECT_EQ(value(launcher, "HYDRA_IFACE"), "net1");
    EXPECT_EQ(value(job.roles[1], "OMPI_MCA_plm_rsh_agent"), "");
}

TEST(MpiJob, Launcher) {
    MpiJobFlags flags = flags_of();
    flags.submit.pod.cpu = "8";
    flags.submit.pod.devices = {"example.com/nic=1"};
    flags.submit.rdma = true;
    flags.submit.pod.data = {"claim:/data"};
    flags.submit.pod.temp_dir = {"scratch:/scratch"};
    flags.submit.pod.files = {{"/etc/x", "text"}};
    flags.launcher_memory = "1Gi";
    const Training job = mpi_job(flags).value();
    const PodTemplate& launcher = job.roles[0].pod;
    EXPECT_EQ(launcher.limits, (StringMap{{"memory", "1Gi"}}));
    EXPECT_EQ(job.roles[1].pod.limits,
              (StringMap{{"cpu", "8"}, {"example.com/nic", "1"}, {"rdma/hca", "1"}}));
    EXPECT_TRUE(job.roles[1].pod.rdma && !launcher.rdma);
    EXPECT_TRUE(job.roles[1].pod.ports.empty());
    EXPECT_EQ(launcher.mounts.size(), 1U);
    EXPECT_EQ(job.roles[1].pod.mounts.size(), 2U);
    EXPECT_EQ(launcher.files, job.roles[1].pod.files);
    EXPECT_EQ(launcher.files.front().path, "/etc/x");
    flags.mounts_on_launcher = true;
    EXPECT_EQ(mpi_job(flags)->roles[0].pod.mounts.size(), 2U);
}

// Goal: workers that use the network of their nodes are on different ones, as their port is.
TEST(MpiJob, NetworkOfTheNode) {
    MpiJobFlags flags = flags_of();
    flags.submit.host.network = true;
    const Training job = mpi_job(flags).value();
    EXPECT_EQ(job.roles[1].pod.ports, (std::vector<Port>{{"mpi-shell", kShellPort}}));
    EXPECT_TRUE(job.roles[0].pod.ports.empty());
}

TEST(MpiJob, Mistakes) {
    struct Row {
        void (*change)(MpiJobFlags&);
        const char* error;
    };
    const std::vector<Row> rows = {
        {[](MpiJobFlags& f) { f.submit.words.clear(); }, "command: is missing"},
        {[](MpiJobFlags& f) { f.submit.workers = 0; }, "--workers: 0 is not a number from 1"},
        {[](MpiJobFlags& f) { f.slots_per_worker = 2'000; }, "--slots-per-worker: 2000 is not"},
        {[](MpiJobFlags& f) { f.clean_task_policy = "Some"; },
         "--clean-task-policy: \"Some\" is not Running, None or All"},
        {[](MpiJobFlags& f) { f.submit.queue = "gpus"; }, "--queue: cannot be used with mpi"},
        {[](MpiJobFlags& f) { f.submit.pod.labels = {"kueue.x-k8s.io/queue-name=gpus"}; },
         "--label: kueue.x-k8s.io/queue-name cannot be used with mpi"},
        {[](MpiJobFlags& f) {
             f.submit.tensorboard.wanted = true;
             f.submit.pod.data = {"logs:/training_logs"};
         },
         "--tensorboard: needs --mounts-on-launcher"},
        {[](MpiJobFlags& f) { f.launcher_cpu = "many"; }, "--launcher-cpu: "},
        {[](MpiJobFlags& f) { f.launcher_memory = "1 GB"; }, "--launcher-memory: "},
    };
    for (const Row& row : rows) {
        MpiJobFlags flags = flags_of();
        row.change(flags);
        const auto job = mpi_job(flags);
        ASSERT_FALSE(job) << row.error;
        EXPECT_EQ(job.error().text.substr(0, std::string(row.error).size()), row.error);
    }
}

}  // namespace
}  // namespace tessera::workload
