// Where a client's credentials come from, other than from a program (exec_plugin.hpp).
#pragma once

#include <memory>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera {

// Always the same header.
std::shared_ptr<HttpCredentialSource> fixed_authorization(std::string authorization);

// A token that kubelet replaces about every hour; the file is read again once a minute. If it
// cannot be read, the last token stays in use.
std::shared_ptr<HttpCredentialSource> token_from_file(std::string path);

}  // namespace tessera
