// Where the API server is and who we are there: a kubeconfig file, or the service account of the
// pod.
#pragma once

#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct KubeConfigOptions {
    // Empty: the files of $KUBECONFIG, those that exist; else in-cluster, else ~/.kube/config.
    std::string path;
    std::string context;  // empty: current-context
};

struct KubeConnection {
    HttpEndpoint endpoint;
    std::string space;  // the context's namespace, "default" when it names none
};

// Errors name the file, the field and the fix.
Result<KubeConnection> connect_info(const KubeConfigOptions& options);

struct KubeconfigText {
    std::string text;
    std::string directory;  // where its relative file names start
    std::string name;       // in errors, where there are several
};

// Several are one, as for kubectl: the first that names a context, cluster, user or the current
// context is asked.
Result<KubeConnection> read_kubeconfig(const std::vector<KubeconfigText>& files,
                                       const std::string& context);

}  // namespace tessera
