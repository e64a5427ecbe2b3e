// Where the API server is and who we are there: a kubeconfig file, or the service account of the
// pod.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct KubeConfigOptions {
    std::string path;     // empty: $KUBECONFIG (first entry), then in-cluster, then ~/.kube/config
    std::string context;  // empty: current-context
};

struct KubeConnection {
    HttpEndpoint endpoint;
    std::string space;  // the context's namespace, "default" when it names none
};

// Errors name the file, the field and the fix.
Result<KubeConnection> connect_info(const KubeConfigOptions& options);

// The text of a kubeconfig. `directory` is where its relative file names start.
Result<KubeConnection> read_kubeconfig(const std::string& text, const std::string& context,
                                       const std::string& directory);

}  // namespace tessera
