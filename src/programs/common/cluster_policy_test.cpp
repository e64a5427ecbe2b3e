#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "adapters/kube/scripted_server_test.hpp"
#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

// Goal: the commands that predict the controller's placements read its policy from its namespace.
TEST(ClusterPolicy, IsReadInTheControllersNamespace) {
    const Folder folder;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"explain", "p"}, {"defrag", "--plan"}}) {
        for (const std::string ns : {"tessera-system", "gpu-system"}) {
            ScriptedServer server;
            std::ofstream(folder.file("kubeconfig"))
                << "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
                   "users: [{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: "
                   "\"http://127.0.0.1:"
                << server.endpoint().port << "\"}}]}";
            std::vector<std::string> words = command;
            words.push_back("--kubeconfig=" + folder.file("kubeconfig"));
            if (ns != "tessera-system") words.push_back("--tessera-namespace=" + ns);
            Program program("tessera", words, folder.file("log"));
            program.wait(std::chrono::seconds(60));
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

}  // namespace
}  // namespace tessera
