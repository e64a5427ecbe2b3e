// The address of the API server and our credentials there: from a kubeconfig file, or from the
// service account of the pod.
#pragma once

#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct KubeConfigOptions {
    // Empty: the existing files of $KUBECONFIG; else in-cluster; else ~/.kube/config.
    std::string path;
    std::string context;  // empty: current-context
};

struct KubeConnection {
    HttpEndpoint endpoint;
    std::string ns;  // the context's namespace; "default" if it names none
};

// Errors name the file, the field and the fix.
Result<KubeConnection> connect_info(const KubeConfigOptions& options);

struct KubeconfigText {
    std::string text;
    std::string directory;  // the folder for its relative file names
    std::string name;       // for errors, if there are several files
};

// Several files are merged as kubectl does: the first file that names a context, cluster, user or
// the current context wins.
Result<KubeConnection> read_kubeconfig(const std::vector<KubeconfigText>& files,
                                       const std::string& context);

}  // namespace tessera
