// How the objects of an MPI job bring tessera-mpi-shell and its secret into the pods.
#include "wire/workload/mpi_shell_json.hpp"

#include <gtest/gtest.h>

#include "domain/training/submit_flags.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/training_json.hpp"

namespace tessera::workload {
namespace {

Training job() {
    MpiJobFlags flags;
    flags.submit.name = "ring";
    flags.submit.workers = 2;
    flags.submit.pod.image = "image:1";
    flags.submit.pod.gpu.gpumemory = "4";
    flags.submit.pod.cpu = "2";
    flags.submit.words = {"mpirun", "./ring"};
    flags.shell_image = "tessera:1";
    Training out = mpi_job(flags).value();
    out.ns = "team";
    out.shell_secret = "0123456789abcdef0123456789abcdef";
    return out;
}

JsonDocument parsed(const std::string& text) {
    return JsonDocument::parse(text).value();
}

// Goal: the init container shares one folder with the main container, which cannot change it, and
// has neither a GPU nor rights nor the secret.
TEST(MpiShellJson, Container) {
    const Training made = job();
    const JsonDocument worker = parsed(write_training_role(made, made.roles[1], "uid-1"));
    const JsonValue spec = worker.root()["spec"]["template"]["spec"];
    ASSERT_EQ(spec["initContainers"].elements().size(), 1U);
    const JsonValue init = spec["initContainers"].elements().at(0);
    EXPECT_EQ(init["name"].text(), "init-mpi-shell");
    EXPECT_EQ(init["image"].text(), "tessera:1");
    EXPECT_EQ(init["command"].elements().at(1).text(), "install");
    EXPECT_EQ(init["resources"]["limits"]["cpu"].text(), "2");
    EXPECT_FALSE(init["resources"]["limits"]["tessera.dev/gpu-share"].present());
    EXPECT_TRUE(init["securityContext"]["runAsNonRoot"].is_true());
    ASSERT_EQ(init["volumeMounts"].elements().size(), 1U);
    const JsonValue main = spec["containers"].elements().at(0);
    const auto mounts = main["volumeMounts"].elements();
    EXPECT_EQ(mounts.at(0)["name"].text(), init["volumeMounts"].elements().at(0)["name"].text());
    EXPECT_EQ(mounts.at(0)["mountPath"].text(), "/tessera-mpi");
    EXPECT_TRUE(mounts.at(0)["readOnly"].is_true());
    EXPECT_EQ(mounts.at(1)["mountPath"].text(), "/etc/tessera-mpi-secret");
    EXPECT_EQ(spec["volumes"].elements().at(1)["secret"]["secretName"].text(), "ring-mpi");
}

TEST(MpiShellJson, Secret) {
    const JsonDocument secret = parsed(write_training_secret(job(), "uid-1"));
    EXPECT_EQ(secret.root()["kind"].text(), "Secret");
    EXPECT_EQ(secret.root()["metadata"]["name"].text(), "ring-mpi");
    EXPECT_EQ(secret.root()["metadata"]["labels"][kJobNameLabel].text(), "ring");
    EXPECT_TRUE(is_owned_by(secret.root(), "uid-1"));
    EXPECT_EQ(secret.root()["stringData"]["key"].text(), "0123456789abcdef0123456789abcdef");
}

}  // namespace
}  // namespace tessera::workload
