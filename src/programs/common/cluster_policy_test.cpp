#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "adapters/kube/scripted_server_test.hpp"
#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

void write_kubeconfig(const Folder& folder, const ScriptedServer& server) {
    std::ofstream(folder.file("kubeconfig"))
        << "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
           "users: [{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: "
           "\"http://127.0.0.1:"
        << server.endpoint().port << "\"}}]}";
}

// Goal: the commands that predict the controller's placements read its policy from its namespace.
TEST(ClusterPolicy, IsReadInTheControllersNamespace) {
    const Folder folder;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"explain", "p"}, {"defrag", "--plan"}}) {
        for (const std::string ns : {"tessera-system", "gpu-system"}) {
            ScriptedServer server;
            write_kubeconfig(folder, server);
            std::vector<std::string> words = command;
            words.push_back("--kubeconfig=" + folder.file("kubeconfig"));
            if (ns != "tessera-system") words.push_back("--tessera-namespace=" + ns);
            Program program("tessera", words, folder.file("log"));
            program.wait(kNotHanging);
            const auto asked = server.requests();
            EXPECT_TRUE(std::ranges::any_of(
                asked,
                [&](const std::string& path) {
                    return path.starts_with("/apis/apps/v1/namespaces/" + ns +
                                            "/deployments/tessera-controller");
                },
                &HttpRequest::path))
                << command[0] << " " << ns << ": " << program.output();
        }
    }
}

// Goal: explain compares the pod's scheduler with the one in the controller's Deployment, and finds
// resources of another product. A pod without Tessera's resources is a conflict.
TEST(ClusterPolicy, ExplainReadsTheScheduler) {
    const Folder folder;
    ScriptedServer server;
    write_kubeconfig(folder, server);
    server.answer("GET /apis/apps/v1/namespaces/tessera-system/deployments/tessera-controller", 200,
                  R"({"spec":{"template":{"spec":{"containers":[{"args":[)"
                  R"("--scheduler-lease=t/s","--webhook-scheduler=ours"]}]}}}})");
    server.answer("GET /api/v1/nodes", 200, R"({"metadata":{"resourceVersion":"1"},"items":[]})");
    server.answer(
        "GET /api/v1/pods", 200,
        R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"uid":"u","name":"p",)"
        R"("namespace":"default"},"spec":{"schedulerName":"default-scheduler","containers":[)"
        R"({"name":"c","resources":{"limits":{"tessera.dev/gpu":"1","nvidia.com/gpu":"1"}}}]}},)"
        R"({"metadata":{"uid":"w","name":"web","namespace":"default"},"spec":{"containers":[)"
        R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}]})");
    const std::string config = "--kubeconfig=" + folder.file("kubeconfig");
    Program program("tessera", {"explain", "p", config}, folder.file("log"));
    EXPECT_EQ(program.wait(kNotHanging), 0);
    for (const char* warning :
         {"\nWarning: spec.schedulerName is default-scheduler, and only ours ",
          "\nWarning: it also requests nvidia.com/gpu (NVIDIA's "})
        EXPECT_NE(program.output().find(warning), std::string::npos) << program.output();
    Program without("tessera", {"explain", "web", config}, folder.file("log"));
    EXPECT_EQ(without.wait(kNotHanging), 4);
    EXPECT_NE(without.output().find("pod default/web requests nvidia.com/gpu, which Tessera"),
              std::string::npos)
        << without.output();
}

}  // namespace
}  // namespace tessera
